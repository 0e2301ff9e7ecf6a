"""The changes between two readings of the locks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.inspect import LockInfo

__all__ = ["Change", "Changes"]

#: Seconds over which hand-overs are counted.
WINDOW: Final = 10.0


@dataclass(frozen=True)
class Change:
    """``lock``: it is held, or its hold has changed; ``gone``: it is no longer held."""

    event: str
    info: LockInfo


class Changes:
    """Compares readings, and counts how often locks pass from owner to owner."""

    def __init__(self) -> None:
        self._known: dict[str, LockInfo] = {}
        self._since: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._passed: dict[str, deque[float]] = {}

    def update(self, found: Iterable[LockInfo], now: float) -> list[Change]:
        """The changes since the last reading; ``now`` in seconds of a steady clock."""
        current = {info.key: info for info in found}
        changes = [
            Change("lock", info)
            for key, info in current.items()
            if key not in self._known or _differ(self._known[key], info)
        ]
        changes += [Change("gone", info) for key, info in self._known.items() if key not in current]
        for key, info in current.items():
            self._count(key, info, now)
        self._since = {key: at for key, at in self._since.items() if key in current}
        self._known = current
        self._forget(now)
        return changes

    def held_for(self, key: str, now: float) -> float:
        """Seconds since its present owner was first seen."""
        return now - self._since.get(key, now)

    def handovers(self, key: str, now: float) -> float:
        """Recent hand-overs between owners, per second."""
        return sum(at > now - WINDOW for at in self._passed.get(key, ())) / WINDOW

    def _count(self, key: str, info: LockInfo, now: float) -> None:
        known = self._known.get(key)
        if known is None or _owners(known) != _owners(info):
            self._since[key] = now
            passed = self._passed.setdefault(key, deque())
            if key in self._seen:
                passed.append(now)
        self._seen[key] = now

    def _forget(self, now: float) -> None:
        """Drop old entries, so that neither names nor times accumulate."""
        for key, seen in list(self._seen.items()):
            passed = self._passed[key]
            while passed and passed[0] <= now - WINDOW:
                passed.popleft()
            if seen <= now - WINDOW:
                del self._seen[key], self._passed[key]


def _owners(info: LockInfo) -> frozenset[tuple[str, str | None]]:
    return frozenset((owner.id, owner.mode) for owner in info.owners)


def _differ(one: LockInfo, other: LockInfo) -> bool:
    """Whether more has changed than time has passed: a renewal is a change, too."""
    renewed = one.ttl is None or other.ttl is None or other.ttl > one.ttl
    if renewed and one.ttl != other.ttl:
        return True
    return _lasting(one) != _lasting(other)


def _lasting(info: LockInfo) -> LockInfo:
    owners = tuple(replace(owner, renewed=None) for owner in info.owners)
    return replace(info, ttl=None, owners=owners)
