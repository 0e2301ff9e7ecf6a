"""The figures of locks by their names, as far as names can be labels."""

# pyright: basic, reportMissingModuleSource=false
from __future__ import annotations

import os
import threading
from bisect import bisect_left
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakSet

from holdfast import Histogram
from holdfast.integration import encoded_text, matcher, shown
from holdfast.observe import BOUNDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.integration import BaseClient

    Naming = Callable[[str], str | None] | Iterable[str]

__all__ = ["COUNTS", "NAMED_HELP", "OTHER", "NamedFigures"]

#: The most labels of one collector; further names count as ``OTHER``.
MOST_LABELS: Final = 100
OTHER: Final = "other"

#: By the fields of ``Figures``, in their order.
NAMED_HELP: Final = {
    "acquired": "Grants of the locks of a name, nested ones included",
    "timed_out": "Acquisitions that ended because another held the lock",
    "cancelled": "Acquisitions that their caller gave up",
    "failed": "Acquisitions that ended with an error",
    "lost": "Holds lost",
    "held": "Locks held now",
    "wait_seconds": "Time from the beginning of an acquisition to its grant",
    "hold_seconds": "Time from a grant to its last release, or its loss",
}
COUNTS: Final = ("acquired", "timed_out", "cancelled", "failed", "lost")


class _Times:
    """A histogram that grows."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def read(self) -> Histogram:
        return Histogram(BOUNDS, tuple(self._counts), self._sum, sum(self._counts))


@dataclass
class _Figures:
    """What is counted under one label of one client."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    held: int = 0
    wait_seconds: _Times = field(default_factory=_Times)
    hold_seconds: _Times = field(default_factory=_Times)

    def read(self, name: str) -> Any:
        if name in COUNTS:
            return self.counts[name]
        return self.held if name == "held" else getattr(self, name).read()


def _naming(names: Any) -> Callable[[str], str | None]:
    """The function that gives a name its label; ``None``: it has none."""
    if callable(names):
        return cast("Callable[[str], str | None]", names)
    if isinstance(names, (str, bytes)):
        msg = "names must be a function, or several patterns: names=['order:*']"
        raise TypeError(msg)
    try:
        patterns = [(one, matcher(encoded_text("names", one)).fullmatch) for one in names]
    except TypeError:
        msg = f"names must be a function or patterns, not {names!r}"
        raise TypeError(msg) from None

    def label(name: str) -> str | None:
        encoded = name.encode(errors="surrogateescape")
        return next((one for one, matches in patterns if matches(encoded)), None)

    return label


class NamedFigures:
    """Counts, as an observer, what the locks of some clients do, by the labels of their names."""

    def __init__(self, clients: Sequence[BaseClient], names: Naming) -> None:
        self._clients = clients
        self._prefixes = [client.name_prefix for client in clients]
        self._label = _naming(names)
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._mutex = threading.Lock()
        self._labels: set[str] = set()
        self._figures: dict[tuple[int, str], _Figures] = {}
        self._holds: dict[tuple[bytes, str, int], tuple[_Figures, float]] = {}

    def read(self) -> list[tuple[BaseClient, str, dict[str, Any]]]:
        """The client, the label and the figures of each."""
        with self._mutex:
            return [
                (self._clients[at], label, {name: figures.read(name) for name in NAMED_HELP})
                for (at, label), figures in self._figures.items()
            ]

    # ---- as holdfast.observe.Observer

    def begun(self, _kind: str, name: bytes) -> tuple[bytes, float]:
        return name, perf_counter()

    def ended(self, begun: tuple[bytes, float], outcome: str, client: str, owner: int) -> None:
        name, since = begun
        now = perf_counter()
        figures = self._figures_of(name, client)
        if figures is None:
            return
        with self._mutex:
            figures.counts[outcome] += 1
            if outcome != "acquired":
                return
            figures.wait_seconds.add(now - since)
            if owner and (name, client, owner) not in self._holds:  # permits have no owner
                self._holds[name, client, owner] = figures, now
                figures.held += 1

    def released(self, name: bytes, client: str, owner: int) -> None:
        with self._mutex:
            self._end(name, client, owner)

    def lost(self, name: bytes, client: str, owner: int, _reason: str) -> None:
        with self._mutex:
            figures = self._end(name, client, owner)
            if figures is not None:
                figures.counts["lost"] += 1

    def _end(self, name: bytes, client: str, owner: int) -> _Figures | None:
        hold = self._holds.pop((name, client, owner), None)
        if hold is None:  # of another client, or reported before
            return None
        figures, since = hold
        figures.held -= 1
        figures.hold_seconds.add(perf_counter() - since)
        return figures

    def _figures_of(self, name: bytes, client: str) -> _Figures | None:
        """Those of the name's label; ``None`` for a client that is not collected."""
        at = next((at for at, each in enumerate(self._clients) if each.id == client), None)
        if at is None:
            return None
        plain = name.removeprefix(self._prefixes[at])
        label = self._label(plain.decode(errors="surrogateescape"))
        with self._mutex:
            admitted = self._admitted(label)
            return self._figures.setdefault((at, admitted), _Figures())

    def _admitted(self, label: str | None) -> str:
        if label is None:
            return OTHER
        text = shown(label)
        if text not in self._labels and len(self._labels) >= MOST_LABELS:
            return OTHER
        self._labels.add(text)
        return text

    def after_fork_in_child(self) -> None:
        """A forked child starts at zero."""
        self._begin()


_all: WeakSet[NamedFigures] = WeakSet()


def _after_fork_in_child() -> None:
    for each in _all:
        each.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
