"""One lock, semaphore or latch, with all its data on the server."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast import servers
from holdfast._engine.errors import LockError
from holdfast.servers import forced_releases, key_beside

from . import _names as names
from ._connections import Clients
from ._held import Held
from ._model import KINDS, LockDetail, LockInfo, QueuedOwner
from ._people import Around, info_of, known, said_of
from ._read import COUNTER_BYTES, checked, is_number, read_locks, read_permits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.servers import Deployment

    from ._model import Owner
    from ._read import Ask

__all__ = ["lookup"]

#: The most of a queue that is shown.
MOST_QUEUED: Final = 1000
#: The most connections that may be an owner's.
MOST_UNNAMED: Final = 100
HASHES: Final = tuple(word for word in KINDS if servers.kind_of(word).type == b"hash")


def lookup(deployment: Deployment, name: bytes, kind: str | None) -> LockDetail | None:
    """The lock of this name; ``LockError`` if the key is something else."""
    key = deployment.prefix + name
    ask = partial(deployment.ask, key)
    [reply] = ask([(b"TYPE", key)])
    found = checked(reply)
    if found == b"none":
        return None
    if found == b"hash" and kind in {None, *HASHES}:
        return _lock(deployment, ask, key, kind)
    if found == b"string" and kind not in HASHES:
        return _counter(deployment, ask, key, kind)
    wanted = "a lock, semaphore or latch" if kind is None else f"a {kind}"
    raise _refusal(name, f"its key holds a {found.decode()}, not {wanted}")


def _refusal(name: bytes, why: str) -> LockError:
    return LockError(f"{names.quoted(name)} is not a lock: {why}; use its right name or kind")


def _lock(deployment: Deployment, ask: Ask, key: bytes, kind: str | None) -> LockDetail | None:
    name = key.removeprefix(deployment.prefix)
    held, _ = read_locks(ask, [key])
    if not held:
        if not checked(ask([(b"EXISTS", key)])[0]):
            return None
        raise _refusal(name, "its key holds a hash with other fields than owners")
    [lock] = held
    if kind == "fair_lock" and lock.kind == "lock":
        lock.kind = kind
    elif kind not in {None, "lock", lock.kind}:
        raise _refusal(name, f"it is a {lock.kind}, not a {kind}")
    info, clients = _people(deployment, lock)
    if lock.kind == "read_write_lock":
        parts = _Parts([key, *_read_timeouts(lock)], (lock.channel,))
        return _detail(ask, info, parts, unnamed=_unnamed(info.owners, clients))
    return _hashed(deployment, lock, info, clients)


class _Parts(NamedTuple):
    """The keys that may belong to a lock, and its channels."""

    keys: Sequence[bytes]
    channels: Sequence[bytes]


def _people(deployment: Deployment, lock: Held) -> tuple[LockInfo, Clients]:
    servers = deployment.primaries()
    waiting = {} if lock.kind == "fair_lock" else deployment.subscribers(servers, [lock.channel])
    clients = Clients(servers)
    around = Around(clients, said_of(deployment, [lock]), waiting)
    return info_of(lock, deployment.prefix, around), clients


def _unnamed(
    owners: Iterable[Owner | QueuedOwner], clients: Clients
) -> tuple[servers.OwnerClient, ...]:
    """The connections among which that of an owner may be."""
    unknown = any(one.host is None and one.connection == "unknown" for one in owners)
    return tuple(clients.unnamed[:MOST_UNNAMED]) if unknown else ()


def _hashed(deployment: Deployment, lock: Held, info: LockInfo, clients: Clients) -> LockDetail:
    ask = partial(deployment.ask, lock.name)
    counter = key_beside("token_counter", lock.name)
    parts = [lock.name, counter]
    [token] = ask([(b"GET", counter)])
    channels = [lock.channel]
    if lock.use == "leader":
        parts.append(key_beside("state", lock.name))
        channels.append(key_beside("changed_channel", lock.name))
    queue: tuple[QueuedOwner, ...] | None = None
    if lock.kind == "fair_lock":
        parts += [key_beside("fair_queue", lock.name), key_beside("fair_timeouts", lock.name)]
        queue = _queue(deployment, lock.name, clients)
        channels = [lock.channel + b":" + one.id.encode() for one in queue]
        if lock.queued > len(queue):
            info = replace(info, truncated=True)
    number = int(token) if isinstance(token, bytes) and is_number(token) else None
    return _detail(
        ask,
        info,
        _Parts(parts, channels),
        queue=queue,
        token=number,
        value=None if lock.value is None else names.shown(lock.value),
        unnamed=_unnamed((*info.owners, *(queue or ())), clients),
    )


def _queue(deployment: Deployment, name: bytes, clients: Clients) -> tuple[QueuedOwner, ...]:
    ask, last = partial(deployment.ask, name), b"%d" % (MOST_QUEUED - 1)
    waiting, now = ask([(b"LRANGE", key_beside("fair_queue", name), b"0", last), (b"TIME",)])
    if not checked(waiting):
        return ()
    key = key_beside("fair_timeouts", name)
    scores = ask([(b"ZSCORE", key, owner) for owner in waiting])
    now_ms = int(now[0]) * 1000 + int(now[1]) // 1000
    owners = [names.shown(owner) for owner in waiting]
    about = deployment.said([(owner, name) for owner in owners])
    return tuple(
        QueuedOwner(
            owner,
            _left(score, now_ms),
            **known(
                owner, about[owner, name]._replace(within=None), clients
            ),  # only holds are noted
        )
        for owner, score in zip(owners, scores, strict=True)
    )


def _left(score: Any, now_ms: int) -> float | None:
    """The seconds until a waiter counts as dead."""
    left = (float(score) - now_ms) / 1000 if isinstance(score, bytes) else math.inf
    return None if math.isinf(left) and left > 0 else max(0.0, left)


def _read_timeouts(lock: Held) -> list[bytes]:
    keys = (
        names.read_timeout(lock.name, hold.owner, number)
        for hold in lock.holds
        if hold.mode == "read"
        for number in range(1, hold.count + 1)  # as another program has written it
    )
    return list(islice(keys, MOST_QUEUED))


def _counter(deployment: Deployment, ask: Ask, key: bytes, kind: str | None) -> LockDetail | None:
    """A counter: of permits with leases where the keys for those are there, else a plain number."""
    name = key.removeprefix(deployment.prefix)
    if kind in {None, "permit_semaphore"}:
        held = _permits(ask, key, named=kind is not None)
        if held is not None:
            info, _ = _people(deployment, held)
            return _detail(ask, info, _permit_parts(held), **_permit_numbers(held))
        if kind is not None:
            raise _refusal(name, "it is not a permit semaphore")
    [length] = ask([(b"STRLEN", key)])
    value, pttl = ask([(b"GET", key), (b"PTTL", key)]) if length <= COUNTER_BYTES else (b"", 0)
    if value is None:
        return None
    if not is_number(checked(value)):
        raise _refusal(name, "its key holds text that is not a number")
    return _plain_counter(deployment, ask, Held(key, kind or "", [], _seconds(pttl)), int(value))


def _permits(ask: Ask, key: bytes, *, named: bool) -> Held | None:
    """A permit semaphore, by its permits in use or what is built on it, or ``named`` as one."""
    timeouts = key_beside("permit_timeouts", key)
    beside = (timeouts, key_beside("slots", key), key_beside("state", key))
    out, *built = ask([(b"EXISTS", one) for one in beside])
    if not (named or checked(out) or 1 in built):
        return None
    held = read_permits(ask, key, timeouts, all_free=True)
    return held if held is not None and (named or out or held.use) else None


def _permit_parts(held: Held) -> _Parts:
    keys, channels = [held.name, key_beside("permit_timeouts", held.name)], [held.channel]
    if held.use == "slots":
        keys.append(key_beside("slots", held.name))
    if held.use == "barrier":
        keys.append(key_beside("state", held.name))
        channels.append(key_beside("changed_channel", held.name))
    return _Parts(keys, channels)


def _permit_numbers(held: Held) -> dict[str, Any]:
    """The number of permits of a barrier is no number of anything."""
    if held.use == "barrier":
        return {"parties": held.parties, "broken": held.broken}
    return {"permits": held.free}


def _seconds(pttl: Any) -> float | None:
    return checked(pttl) / 1000 if checked(pttl) >= 0 else None


def _plain_counter(deployment: Deployment, ask: Ask, held: Held, value: int) -> LockDetail:
    """A semaphore or a latch, as the caller or its waiters tell; a latch is not there at 0."""
    channels = {kind.word: kind.channel_of(held.name) for kind in servers.KINDS if kind.number}
    listening = deployment.subscribers(deployment.primaries(), list(channels.values()))
    waited = [kind for kind, channel in channels.items() if listening[channel]]
    certain = bool(held.kind) or len(waited) == 1 or value <= 0
    held.kind = held.kind or (waited[0] if len(waited) == 1 else next(iter(channels)))
    held.channel = channels[held.kind]
    info = info_of(held, deployment.prefix, Around(Clients(()), {}, listening))
    parts = _Parts([held.name], (held.channel,) if certain else tuple(channels.values()))
    word = servers.kind_of(held.kind).number
    return _detail(ask, info, parts, certain=certain, **{word: value})


def _detail(ask: Ask, info: LockInfo, parts: _Parts, **more: Any) -> LockDetail:
    """The lock with those of its keys that are there."""
    exist = ask([(b"EXISTS", key) for key in parts.keys])
    there = [key for key, found in zip(parts.keys, exist, strict=True) if found == 1]
    base = {field.name: getattr(info, field.name) for field in fields(LockInfo)}
    return LockDetail(
        **base,
        forced=forced_releases(ask, parts.keys[0]),
        keys=tuple(map(names.shown, there)),
        channels=tuple(map(names.shown, parts.channels)),
        **more,
    )
