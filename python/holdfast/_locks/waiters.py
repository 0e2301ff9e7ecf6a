"""Who waits for a fair lock, in order: its queue on the server. See ``holders``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast._locks.holders import Holder, named
from holdfast._locks.kinds import key_beside
from holdfast._locks.steps import commands, raised

if TYPE_CHECKING:
    from holdfast import _core
    from holdfast._core import CallersTime
    from holdfast._locks.steps import Steps


def queue(core: _core.Client, key: bytes, time: CallersTime) -> Steps[list[Holder]]:
    """The waiters of the fair lock at the key, the next one first, without those that have died."""
    left = yield from _places(core, key, time)
    found = [Holder(owner, None, 0, seconds) for owner, seconds in left.items()]
    about = yield from named(core, key, found, time)
    return [replace(one, within=None) for one in about]  # waits are not noted once they last


def position(core: _core.Client, key: bytes, owner: str, time: CallersTime) -> Steps[int | None]:
    """The place of an owner in that queue, 0 for the next one; ``None``: it has no place."""
    left = yield from _places(core, key, time)
    return list(left).index(owner) if owner in left else None


def _places(core: _core.Client, key: bytes, time: CallersTime) -> Steps[dict[str, float]]:
    """The owners in the order of the queue, and the seconds for which each counts as alive."""
    asked = [
        (b"LRANGE", key_beside("fair_queue", key), b"0", b"-1"),
        (b"ZRANGE", key_beside("fair_timeouts", key), b"0", b"-1", b"WITHSCORES"),
        (b"TIME",),
    ]
    waiting, alive, clock = raised((yield commands(core, key, asked, time)))
    now = int(clock[0]) * 1000 + int(clock[1]) / 1000
    until = dict(zip(alive[::2], map(float, alive[1::2]), strict=True))
    return {
        owner.decode(errors="backslashreplace"): (until[owner] - now) / 1000
        for owner in waiting
        if until.get(owner, now) > now
    }
