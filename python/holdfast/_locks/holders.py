"""Who holds a lock: the owners in its hash, and what their clients say of themselves.

What is to be asked is a generator of questions, which a caller sends as threads or tasks do: each
question is a client, a key whose server answers, and commands; the replies are sent back to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Final, TypeVar

from holdfast import _core
from holdfast._engine.errors import ConnectionError, HoldfastError, shown
from holdfast._locks.force import Command, listed
from holdfast._locks.kinds import key_beside

__all__ = [
    "Asking",
    "Holder",
    "Question",
    "answer",
    "client_key",
    "holders",
    "named",
    "of_several",
    "purpose_field",
]

T = TypeVar("T")
#: A client, the key whose server answers, and the commands.
Question = tuple[_core.Client, bytes, Sequence[Command]]
Asking = Generator[Question, list[Any], T]

#: An owner's field: the client's UUID and a number; a writer's has a word more.
OWNER: Final = re.compile(r"([0-9a-f-]{36}):(-?\d{1,20})(:write)?(:[0-9a-z-]+)?")
WRITE: Final = ":write"
#: The most clients that are asked who they are.
MOST_NAMED: Final = 100
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
    #: Since when it holds, in seconds since 1970 by its client's clock; known with a ``purpose``.
    since: float | None = None


def client_key(client_id: str) -> bytes:
    """The key in which a client says who it is; it is no part of a lock."""
    return b"holdfast:client:" + client_id.encode()


def answer(asking: Asking[T], within: float | None = None) -> T:
    """Send the questions from the calling thread, and return the result.

    ``within``: how many seconds all of them may take; ``None``: the command time-out for each.
    """
    until = None if within is None else monotonic() + within
    resume: Callable[[], Question] = partial(next, asking)
    while True:
        try:
            core, key, commands = resume()
        except StopIteration as end:
            result: T = end.value
            return result
        left = None if until is None else max(0.0, until - monotonic())
        try:
            resume = partial(asking.send, _core.send_commands(core, key, commands, left))
        except HoldfastError as error:
            resume = partial(asking.throw, error)


def holders(core: _core.Client, key: bytes) -> Asking[list[Holder]]:
    """The holders of the lock whose hash is at the key, with what their clients say."""
    found = yield from _owners(core, key)
    return (yield from named(core, key, found))


def _owners(core: _core.Client, key: bytes) -> Asking[list[Holder]]:
    content, pttl = yield core, key, [(b"HGETALL", key), (b"PTTL", key)]
    for reply in (content, pttl):
        if isinstance(reply, Exception):
            raise reply
    pairs = listed(content)
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if not fields or pttl == -2:
        return []
    sided = fields.pop(b"mode", None) is not None
    found = [_holder(field.decode(), count, sided, pttl) for field, count in fields.items()]
    known = [one for one in found if one is not None]
    return (yield from _readers(core, key, known)) if sided else known


def _holder(field: str, count: bytes, sided: bool, pttl: int) -> Holder | None:
    """``None``: the field is no owner's."""
    if not OWNER.fullmatch(field) or not count.isdigit():
        return None
    mode = ("write" if field.endswith(WRITE) else "read") if sided else None
    return Holder(field.removesuffix(WRITE), mode, int(count), _seconds(pttl))


def _seconds(pttl: int) -> float:
    return math.inf if pttl < 0 else pttl / 1000


def _readers(core: _core.Client, key: bytes, found: list[Holder]) -> Asking[list[Holder]]:
    """Each reader has a key for its lease; one without has died, and holds nothing."""
    readers = [one for one in found if one.mode == "read"]
    replies: list[Any] = []
    if readers:
        replies = yield core, key, [(b"PTTL", _timeout(key, one)) for one in readers]
    alive = [one for one in found if one.mode == "write"]
    for one, pttl in zip(readers, replies, strict=True):
        if isinstance(pttl, int) and pttl != -2:
            alive.append(replace(one, ttl=min(one.ttl, _seconds(pttl))))
    return alive


def _timeout(key: bytes, reader: Holder) -> bytes:
    return key_beside("read_timeout", key) + reader.owner.encode() + b":rwlock_timeout:1"


def named(core: _core.Client, key: bytes, found: list[Holder]) -> Asking[list[Holder]]:
    """These owners of the key with what their clients say of themselves, where they say something.

    A client that this user may not ask about says nothing.
    """
    fields: dict[str, list[bytes]] = {}
    for one in found:
        client, _, number = one.owner.partition(":")
        if client in fields or len(fields) < MOST_NAMED:
            fields.setdefault(client, []).append(purpose_field(number, key))
    said: dict[str, Any] = {}
    for some in _batches(core, list(fields)):
        commands = [(b"HMGET", client_key(one), *ABOUT, *fields[one]) for one in some]
        replies = yield core, client_key(some[0]), commands
        said.update(zip(some, map(listed, replies), strict=True))
    return [_named(one, key, said, fields) for one in found]


def _batches(core: _core.Client, clients: list[str]) -> list[list[str]]:
    """The clients whose keys one server has for certain."""
    if not clients:
        return []
    clustered = _core.options_of(core).endpoint.deployment == "cluster"
    return [[one] for one in clients] if clustered else [clients]


def _named(
    one: Holder, key: bytes, said: dict[str, list[Any]], fields: dict[str, list[bytes]]
) -> Holder:
    client, _, number = one.owner.partition(":")
    reply = said.get(client)
    if not reply:
        return one
    label, host, pid = reply[: len(ABOUT)]
    at = fields[client].index(purpose_field(number, key))
    since, purpose = _purpose(reply[len(ABOUT) + at])
    return replace(
        one,
        label=_text(label),
        purpose=purpose,
        host=_text(host),
        pid=int(pid) if pid is not None and pid.isdigit() else None,
        since=since,
    )


def _text(value: bytes | None) -> str | None:
    """For people, as another program may have written it; ``None`` for an empty one."""
    return shown(value) if value else None


def purpose_field(number: str, key: bytes) -> bytes:
    """The field of a client's key that says what an owner holds a lock for."""
    return number.encode() + b":" + key


def _purpose(value: bytes | None) -> tuple[float | None, str | None]:
    since, _, purpose = (value or b"").partition(b" ")
    return (int(since) / 1000, _text(purpose)) if since.isdigit() else (None, None)


def of_several(askings: Sequence[Asking[list[Holder]]], may_fail: int) -> Asking[list[Holder]]:
    """The holders of a lock made of locks: each owner once, with the fewest holds and least time.

    ``may_fail``: how many members may be out of reach.
    """
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
