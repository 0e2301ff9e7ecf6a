"""Who holds a lock: the owners in its hash, and what their clients say of themselves.

Each question is a part of a call, as ``steps`` describes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast import _core
from holdfast._engine.errors import ConnectionError, quoted, shown
from holdfast._locks.fields import number
from holdfast._locks.force import listed
from holdfast._locks.kinds import key_beside
from holdfast._locks.steps import Command, Steps, commands, raised

if TYPE_CHECKING:
    from holdfast._core import CallersTime

__all__ = [
    "Holder",
    "Owned",
    "Said",
    "client_key",
    "holders",
    "named",
    "of_several",
    "purpose_field",
    "said",
    "words",
]

#: An owner, ``<client id>:<number>``, and the key of the lock that it holds.
Owned = tuple[str, bytes]

#: An owner's field: the client's UUID and a number; a writer's has a word more.
OWNER: Final = re.compile(r"([0-9a-f-]{36}):(-?\d{1,20})(:write)?(:[0-9a-z-]+)?")
WRITE: Final = ":write"
#: The most clients that are asked who they are.
MOST_NAMED: Final = 100
#: The most purposes that one client is asked for.
MOST_PURPOSES: Final = 50
UUID_LENGTH: Final = 36
#: Digits of a time.
LONGEST_TIME: Final = 14
#: How many holders a message names.
MOST_WORDS: Final = 3
#: The fields of a client's key.
ABOUT: Final = (b"label", b"host", b"pid")


@dataclass(frozen=True)
class Holder:
    """An owner that holds a lock, as the server has it; ``None`` for what is not known."""

    #: ``<client id>:<number>``.
    owner: str
    #: ``read`` or ``write``; ``None`` for other locks.
    mode: str | None
    #: The hold count.
    holds: int
    #: Seconds until the hold ends if nothing renews it; infinite if it does not expire.
    ttl: float
    #: What its client is: the ``label`` of ``Client()``.
    label: str | None = None
    #: What the hold is for: the ``label`` of the lock or of ``acquire()``.
    purpose: str | None = None
    #: The host of its client.
    host: str | None = None
    #: The process of its client.
    pid: int | None = None
    #: Since when it holds, or waits for it, in seconds since 1970 by the server's clock. Known of
    #: a hold with a ``purpose``; of one that has lasted for 2 s, where its client has a ``label``.
    since: float | None = None


def client_key(client_id: str) -> bytes:
    """The key in which a client says who it is; it is no part of a lock."""
    return b"holdfast:client:" + client_id.encode()


def holders(core: _core.Client, key: bytes, time: CallersTime) -> Steps[list[Holder]]:
    """The holders of the lock whose hash is at the key, with what their clients say."""
    found = yield from _owners(core, key, time)
    return (yield from named(core, key, found, time))


def _owners(core: _core.Client, key: bytes, time: CallersTime) -> Steps[list[Holder]]:
    asked = [(b"HGETALL", key), (b"PTTL", key)]
    content, pttl = raised((yield commands(core, key, asked, time)))
    pairs = listed(content)
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if not fields or pttl == -2:
        return []
    sided = fields.pop(b"mode", None) is not None
    found = [_holder(shown(field), count, sided, pttl) for field, count in fields.items()]
    known = [one for one in found if one is not None]
    return (yield from _readers(core, key, known, time)) if sided else known


def _holder(field: str, count: bytes, sided: bool, pttl: int) -> Holder | None:
    """``None``: the field is no owner's."""
    holds = number(count)
    if not OWNER.fullmatch(field) or holds is None:
        return None
    mode = ("write" if field.endswith(WRITE) else "read") if sided else None
    return Holder(field.removesuffix(WRITE), mode, holds, _seconds(pttl))


def _seconds(pttl: int) -> float:
    return math.inf if pttl < 0 else pttl / 1000


def _readers(
    core: _core.Client, key: bytes, found: list[Holder], time: CallersTime
) -> Steps[list[Holder]]:
    """Each reader has a key for its lease; one without has died, and holds nothing."""
    readers = [one for one in found if one.mode == "read"]
    replies: list[Any] = []
    if readers:
        asked = [(b"PTTL", _timeout(key, one)) for one in readers]
        replies = yield commands(core, key, asked, time)
    alive = [one for one in found if one.mode == "write"]
    for one, pttl in zip(readers, replies, strict=True):
        if isinstance(pttl, int) and pttl != -2:
            alive.append(replace(one, ttl=min(one.ttl, _seconds(pttl))))
    return alive


def _timeout(key: bytes, reader: Holder) -> bytes:
    return key_beside("read_timeout", key) + reader.owner.encode() + b":rwlock_timeout:1"


class Said(NamedTuple):
    """What a client says of itself and of a hold; ``None``: nothing."""

    label: str | None = None
    purpose: str | None = None
    host: str | None = None
    pid: int | None = None
    since: float | None = None


def named(
    core: _core.Client, key: bytes, found: list[Holder], time: CallersTime
) -> Steps[list[Holder]]:
    """These owners of the key with what their clients say of themselves."""
    about = yield from said(core, [(one.owner, key) for one in found], time)
    return [replace(one, **about[one.owner, key]._asdict()) for one in found]


def said(
    core: _core.Client, owners: Sequence[Owned], time: CallersTime
) -> Steps[dict[Owned, Said]]:
    """What their clients say of owners of keys; one that this user may not ask says nothing.

    Of many owners of one client only the first have their purposes.
    """
    theirs: dict[str, list[Owned]] = {}
    for owned in owners:
        client = owned[0].partition(":")[0]
        if len(client) == UUID_LENGTH and (client in theirs or len(theirs) < MOST_NAMED):
            theirs.setdefault(client, []).append(owned)
    about = dict.fromkeys(owners, Said())
    for some in _batches(core, list(theirs)):
        asked = [_question(one, theirs[one][:MOST_PURPOSES]) for one in some]
        replies = yield commands(core, client_key(some[0]), asked, time)
        for one, reply in zip(some, map(listed, replies), strict=True):
            if reply:
                purposes = chain(reply[len(ABOUT) :], repeat(None))
                about.update((owned, _said(reply, next(purposes))) for owned in theirs[one])
    return about


def _question(client: str, owners: Sequence[Owned]) -> Command:
    fields = [purpose_field(owner.partition(":")[2], key) for owner, key in owners]
    return b"HMGET", client_key(client), *ABOUT, *fields


def _batches(core: _core.Client, clients: list[str]) -> list[list[str]]:
    """The clients whose keys one server has for certain."""
    if not clients:
        return []
    clustered = _core.options_of(core).endpoint.deployment == "cluster"
    return [[one] for one in clients] if clustered else [clients]


def _said(reply: list[Any], value: bytes | None) -> Said:
    label, host, pid = reply[: len(ABOUT)]
    began, _, purpose = (value or b"").partition(b" ")
    since = number(began, LONGEST_TIME)
    return Said(
        _text(label),
        _text(purpose) if since is not None else None,
        _text(host),
        number(pid),
        since / 1000 if since is not None else None,
    )


def _text(value: bytes | None) -> str | None:
    """For people, as another program may have written it; ``None`` for an empty one."""
    return shown(value) if value else None


def purpose_field(number: str, key: bytes) -> bytes:
    """The field of a client's key that says what an owner holds a lock for."""
    return number.encode() + b":" + key


def of_several(askings: Sequence[Steps[list[Holder]]], *, majority: bool) -> Steps[list[Holder]]:
    """The holders of a lock made of locks: each owner once, with the fewest holds and least time.

    ``majority``: the other members may be out of reach.
    """
    may_fail = (len(askings) - 1) // 2 if majority else 0
    found: dict[tuple[str, str | None], Holder] = {}
    for asking in askings:
        try:
            members = yield from asking
        except ConnectionError:
            may_fail -= 1
            if may_fail < 0:
                raise
            continue
        for one in members:
            other = found.setdefault((one.owner, one.mode), one)
            least = min(one.holds, other.holds), min(one.ttl, other.ttl)
            found[one.owner, one.mode] = replace(other, holds=least[0], ttl=least[1])
    return list(found.values())


def words(found: Sequence[Holder]) -> str:
    """Who holds it, for the message of a time-out."""
    said = [_who(one) for one in found[:MOST_WORDS]]
    more = len(found) - len(said)
    return ", ".join(said) + (f", and {more} more" if more else "")


def _who(one: Holder) -> str:
    who = f"owner {one.owner}"
    if one.host and one.pid:
        who = (
            f"{quoted(one.label.encode())} on {one.host}:{one.pid}"
            if one.label
            else f"{one.host}:{one.pid}"
        )
    if one.mode:
        who += f" ({one.mode})"
    if one.purpose:
        who += f" for {quoted(one.purpose.encode())}"
    if one.since:
        who += f" since {datetime.fromtimestamp(one.since, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    left = "without an expiry" if math.isinf(one.ttl) else f"{one.ttl:.1f} s of its lease left"
    return f"{who}, {left}"
