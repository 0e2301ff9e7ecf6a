"""Observes the locks of a process: what the modules for monitoring are built on.

While there is an observer, acquisitions and releases take a longer way through Python.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core
from holdfast._clients.base import all_clients as clients
from holdfast._engine import events as _events
from holdfast._engine.stats import Observer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BOUNDS", "Observer", "add_observer", "clients", "remove_observer"]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


#: The bounds of the histograms in ``Client.stats()``, in seconds.
BOUNDS: Final[tuple[float, ...]] = _core.histogram_bounds()

_observers: tuple[Observer, ...] = ()
_changing = threading.Lock()


def add_observer(observer: Observer) -> None:
    """From now on it observes all locks of this process, of all its clients.

    Raises ``ConnectionError`` where the system has no thread left for its calls.
    """
    with _changing:
        _set((*_observers, observer))


def remove_observer(observer: Observer) -> None:
    """No effect for one that was not added."""
    with _changing:
        _set(tuple(one for one in _observers if one is not observer))


def _set(observers: tuple[Observer, ...]) -> None:
    global _observers  # noqa: PLW0603
    chosen: Observer | None = None
    if observers:
        chosen = observers[0] if len(observers) == 1 else _Several(observers)
    _events.observe_by(chosen)
    _observers = observers
    _core.set_observer(chosen)


class _Several:
    """Passes each event to several observers: the engine knows one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def begun(self, kind: str, name: bytes) -> list[tuple[Observer, Any]]:
        return [(each, each.begun(kind, name)) for each in self._observers]

    def ended(
        self, begun: list[tuple[Observer, Any]], outcome: str, client: str, owner: int
    ) -> None:
        for each, its in begun:
            each.ended(its, outcome, client, owner)

    def released(self, name: bytes, client: str, owner: int) -> None:
        for each in self._observers:
            each.released(name, client, owner)

    def lost(self, name: bytes, client: str, owner: int, reason: str) -> None:
        for each in self._observers:
            each.lost(name, client, owner, reason)
