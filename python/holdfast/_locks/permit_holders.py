"""Who has permits: of a permit semaphore, a slot, or who waits at a barrier. See ``holders``.

A permit's id does not say whose it is. What is built on permits keeps that beside them; of others
only those of the asking client are known.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from holdfast._engine.errors import shown
from holdfast._locks.fields import number
from holdfast._locks.force import listed
from holdfast._locks.holders import Holder as Holder  # noqa: PLC0414 - for annotations
from holdfast._locks.holders import named, said, with_said
from holdfast._locks.kinds import key_beside
from holdfast._locks.steps import commands, raised

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast import _core
    from holdfast._core import CallersTime
    from holdfast._locks.steps import Steps

#: The most permits that are read, those that last longest.
MOST_PERMITS: Final = 4096
#: The expiry of a permit that never expires, in Redisson.
NEVER: Final = 922337203685477
#: How the fields of a party begin: what has become of its wait, and who it is.
PARTY: Final = b"party:"
WHO: Final = b"who:"
WAITS: Final = b"w"


def of_permits(
    core: _core.Client, key: bytes, own: Callable[[str], str], time: CallersTime
) -> Steps[list[Holder]]:
    """The permits in use of a semaphore, the next to expire first.

    ``own``: the owner of a permit of this client, ``<client id>:<number>``, or empty.
    """
    left = yield from _permits(core, key, time)
    found = [Holder(permit.hex(), None, 1, seconds) for permit, seconds in left.items()]
    owners = [(own(one.owner), key) for one in found]
    about = yield from said(core, [owned for owned in owners if owned[0]], time)
    return [
        with_said(one, about[owned]) if owned in about else one
        for one, owned in zip(found, owners, strict=True)
    ]


def of_barrier(
    core: _core.Client, key: bytes, state: bytes, time: CallersTime
) -> Steps[list[Holder]]:
    """The parties that wait, the first to arrive first."""
    [content] = raised((yield commands(core, key, [(b"HGETALL", state)], time)))
    pairs = listed(content)
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    left = yield from _permits(core, key, time)
    waiting = [
        (number(said[1:]) or 0, field.removeprefix(PARTY))
        for field, said in fields.items()
        if field.startswith(PARTY) and said.startswith(WAITS)
    ]
    found = [
        read_holder(fields.get(WHO + permit, b""), left[permit])
        for _, permit in sorted(waiting)
        if permit in left
    ]
    return (yield from named_here(core, key, found, time))


def _permits(core: _core.Client, key: bytes, time: CallersTime) -> Steps[dict[bytes, float]]:
    """The permits in use, and the seconds that each has left."""
    timeouts = key_beside("permit_timeouts", key)
    asked = [(b"ZRANGE", timeouts, b"%d" % -MOST_PERMITS, b"-1", b"WITHSCORES"), (b"TIME",)]
    out, clock = raised((yield commands(core, key, asked, time)))
    now = int(clock[0]) * 1000 + int(clock[1]) / 1000
    until = dict(zip(out[::2], map(float, out[1::2]), strict=True))
    return {
        permit: math.inf if at >= NEVER else (at - now) / 1000
        for permit, at in until.items()
        if at > now
    }


def read_holder(said: bytes, ttl: float) -> Holder:
    """The holder of a slot, or a party, as the taking client has described it."""
    owner, pid, host = [*said.split(b" ", 2), b"", b""][:3]
    return Holder(shown(owner), None, 1, ttl, host=shown(host) or None, pid=number(pid))


def named_here(
    core: _core.Client, key: bytes, found: list[Holder], time: CallersTime
) -> Steps[list[Holder]]:
    """These with what their clients say; host and process as they were where these say nothing."""
    about = yield from named(core, key, found, time)
    return [
        one if one.host else replace(one, host=here.host, pid=here.pid)
        for one, here in zip(about, found, strict=True)
    ]
