"""Several observers of the locks of one process: the engine knows one.

While there is any, acquisitions and releases take a longer way through Python.
"""

# pyright: basic, reportMissingModuleSource=false
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from holdfast import _core, _events

if TYPE_CHECKING:
    from holdfast._core import _Observer

__all__ = ["add_observer", "remove_observer"]

_observers: tuple[_Observer, ...] = ()
_changing = threading.Lock()


def add_observer(observer: _Observer) -> None:
    """From now on it observes all locks of this process, as ``_core._Observer``."""
    with _changing:
        _set((*_observers, observer))


def remove_observer(observer: _Observer) -> None:
    """No effect for one that was not added."""
    with _changing:
        _set(tuple(one for one in _observers if one is not observer))


def _set(observers: tuple[_Observer, ...]) -> None:
    global _observers  # noqa: PLW0603
    _observers = observers
    chosen: _Observer | None = None
    if observers:
        chosen = observers[0] if len(observers) == 1 else _Several(observers)
    _events.observer = chosen
    _core.set_observer(chosen)


class _Several:
    """Passes each event to several observers."""

    def __init__(self, observers: tuple[_Observer, ...]) -> None:
        self._observers = observers

    def begun(self, kind: str, name: bytes) -> list[tuple[_Observer, Any]]:
        return [(each, each.begun(kind, name)) for each in self._observers]

    def ended(
        self, begun: list[tuple[_Observer, Any]], outcome: str, client: str, owner: int
    ) -> None:
        for each, its in begun:
            each.ended(its, outcome, client, owner)

    def released(self, name: bytes, client: str, owner: int) -> None:
        for each in self._observers:
            each.released(name, client, owner)

    def lost(self, name: bytes, client: str, owner: int, reason: str) -> None:
        for each in self._observers:
            each.lost(name, client, owner, reason)
