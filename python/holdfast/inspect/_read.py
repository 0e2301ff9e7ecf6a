"""Reads keys and recognizes locks among them, in steps that are short for the server.

A key is read in full only after its size, and a field picked at random, fit a lock.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast._engine.errors import ServerError
from holdfast._locks.fields import number
from holdfast.servers import key_beside, listed, moved, script_text

from . import _built as built
from . import _names as names
from ._held import Held, Hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from holdfast.servers import Command

    Ask = Callable[[Sequence[Command]], list[Any]]

__all__ = [
    "COUNTER_BYTES",
    "checked",
    "is_number",
    "read_latch",
    "read_locks",
    "read_permits",
    "read_semaphore",
]

#: A client's UUID and a number; a writer's field, or one of a transaction, has a word more.
OWNER: Final = re.compile(
    rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?\d{1,20}(:[0-9a-z-]{1,64})?"
)
WRITE: Final = b":write"
MODES: Final = (b"read", b"write")

#: The most owners of one lock that are looked at, and the most permits that are out.
MOST_OWNERS: Final = 4096
MOST: Final = b"%d" % MOST_OWNERS
#: The script that reads a permit semaphore.
READ: Final = "inspect/permits"
#: How many fields of a larger hash the server looks at to say what it takes up.
SOME: Final = b"16"
#: Bytes that a hash of one owner, and each further owner, may take up in the server's memory,
#: besides its name, for which the server may reserve twice its length.
HASH_BYTES: Final = 2048
OWNER_BYTES: Final = 512
#: The limits of one batch of commands: fields that the server reads, and keys.
FIELDS_AT_ONCE: Final = 4096
KEYS_AT_ONCE: Final = 250
#: The longest counter.
COUNTER_BYTES: Final = 20
PERMIT_BYTES: Final = 16
#: The expiry of a permit that never expires, in Redisson.
NEVER: Final = 922337203685477


def checked(reply: Any) -> Any:
    """The reply; an error is raised."""
    if isinstance(reply, Exception):
        raise reply
    return reply


def read_locks(ask: Ask, keys: Sequence[bytes]) -> tuple[list[Held], list[bytes]]:
    """Those of these hashes that are locks; and those that another server has."""
    held: list[Held] = []
    elsewhere: list[bytes] = []
    for some in batches(keys, KEYS_AT_ONCE):
        sizes = _fitting(ask, some, elsewhere)
        for chunk in _by_size(sizes):
            held += _read(ask, chunk, sizes)
    _drop_dead_readers(ask, [one for one in held if one.kind == "read_write_lock"])
    return held, elsewhere


def batches(keys: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _fitting(ask: Ask, keys: Sequence[bytes], elsewhere: list[bytes]) -> dict[bytes, int]:
    """The sizes of the hashes that may be locks."""
    replies = ask([(b"HRANDFIELD", key) for key in keys])
    # Most hashes are others': one command for each of those.
    found = [key for key, sample in zip(keys, replies, strict=True) if _may_be(sample)]
    sizes: dict[bytes, int] = {}
    for key, size in zip(found, ask([(b"HLEN", key) for key in found]), strict=True):
        if moved(size):
            elsewhere.append(key)
        elif _is_size(size):
            sizes[key] = size
    return _small(ask, sizes)


def _may_be(sample: Any) -> bool:
    """Whether the field is that of a lock, or it is not known."""
    return _is_field(sample) or _is_refused(sample) or moved(sample)


def _small(ask: Ask, sizes: dict[bytes, int]) -> dict[bytes, int]:
    """Those without very long fields; all, if this user may not query that."""
    samples = {key: b"0" if size <= MOST_OWNERS else SOME for key, size in sizes.items()}
    usage = ask([(b"MEMORY", b"USAGE", key, b"SAMPLES", many) for key, many in samples.items()])
    return {
        key: size
        for (key, size), used in zip(sizes.items(), usage, strict=True)
        if not isinstance(used, int) or used <= HASH_BYTES + OWNER_BYTES * size + 2 * len(key)
    }


def _is_size(reply: Any) -> bool:
    """A key that has gone, or is of another type by now, has none; a missing right is an error."""
    if isinstance(reply, ServerError) and reply.code == "WRONGTYPE":
        return False
    return int(checked(reply)) > 0


def _is_field(sample: Any) -> bool:
    return isinstance(sample, bytes) and (sample == b"mode" or OWNER.fullmatch(sample) is not None)


def _is_refused(sample: Any) -> bool:
    return isinstance(sample, ServerError) and sample.code in {"NOPERM", "ERR"}


def _by_size(sizes: dict[bytes, int]) -> Iterator[list[bytes]]:
    """The keys in groups, none with more fields than the server is to read at once."""
    group: list[bytes] = []
    total = 0
    for key, whole in sizes.items():
        size = min(whole, MOST_OWNERS)
        if group and total + size > FIELDS_AT_ONCE:
            yield group
            group, total = [], 0
        group.append(key)
        total += size
    if group:
        yield group


def _read(ask: Ask, keys: list[bytes], sizes: dict[bytes, int]) -> Iterator[Held]:
    commands: list[Command] = []
    for key in keys:
        whole = sizes[key] <= MOST_OWNERS
        commands.append((b"HGETALL", key) if whole else (b"HSCAN", key, b"0", b"COUNT", MOST))
        commands += [(b"PTTL", key), (b"LLEN", key_beside("fair_queue", key))]
        commands += [built.of_leader(key), (b"HGET", key, b"mode")]
    replies = ask(commands)
    for at, key in enumerate(keys):
        content, pttl, queued, state, mode = replies[5 * at : 5 * at + 5]
        if not isinstance(content, list) or pttl == -2:
            continue
        pairs = listed(content) if sizes[key] <= MOST_OWNERS else listed(content[1])
        fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
        if isinstance(mode, bytes):
            fields[b"mode"] = mode
        holds = _holds(fields)
        if holds is not None:
            lock = _lock(key, fields, holds, (pttl, queued))
            lock.truncated = sizes[key] > MOST_OWNERS
            built.see_lock(lock, listed(state))
            yield lock


def _holds(fields: dict[bytes, bytes]) -> list[Hold] | None:
    """The holds of a lock's hash; ``None``: it is not a lock."""
    mode = fields.get(b"mode")
    owners = {owner: count for owner, count in fields.items() if owner != b"mode"}
    if not owners or mode not in {None, *MODES}:
        return None
    holds: list[Hold] = []
    for owner, count in owners.items():
        held = number(count)
        if held is None or not OWNER.fullmatch(owner):
            return None
        holds.append(_hold(owner, held, sided=mode is not None))
    return holds


def _hold(field_name: bytes, count: int, *, sided: bool) -> Hold:
    if not sided:
        return Hold(field_name, count)
    mode = "write" if field_name.endswith(WRITE) else "read"
    return Hold(field_name.removesuffix(WRITE), count, mode)


def _lock(key: bytes, fields: dict[bytes, bytes], holds: list[Hold], rest: tuple[Any, Any]) -> Held:
    pttl, queued = rest
    ttl = checked(pttl) / 1000 if checked(pttl) >= 0 else None
    if b"mode" in fields:
        return Held(key, "read_write_lock", holds, ttl, channel=key_beside("sides_channel", key))
    length = queued if isinstance(queued, int) else 0  # a list of something else
    kind = "fair_lock" if length else "lock"
    return Held(key, kind, holds, ttl, queued=length, channel=key_beside("lock_channel", key))


def _drop_dead_readers(ask: Ask, locks: Iterable[Held]) -> None:
    """A reader without timeout keys holds nothing, though its field is still there."""
    readers = [(lock, hold) for lock in locks for hold in lock.holds if hold.mode == "read"]
    for start in range(0, len(readers), KEYS_AT_ONCE):
        some = readers[start : start + KEYS_AT_ONCE]
        replies = ask([(b"EXISTS", *_timeouts(lock.name, hold)) for lock, hold in some])
        for (lock, hold), alive in zip(some, replies, strict=True):
            if alive == 0 and len(lock.holds) > 1:
                lock.holds.remove(hold)


def _timeouts(name: bytes, hold: Hold) -> Iterator[bytes]:
    for one in range(1, min(hold.count, MOST_OWNERS) + 1):
        yield names.read_timeout(name, hold.owner, one)


def read_permits(ask: Ask, name: bytes, timeouts: bytes, *, all_free: bool = False) -> Held | None:
    """A permit semaphore with the permits in use; ``None``: it is not one, or all are free.

    ``all_free``: show it in the latter case, too.
    """
    sizes = [(b"STRLEN", name), (b"ZCARD", timeouts), (b"ZRANGE", timeouts, b"0", b"0")]
    length, size, sample = ask(sizes)
    # A key of another type, or one that this user may not read, has no size.
    if not isinstance(length, int) or not isinstance(size, int) or not 0 < length <= COUNTER_BYTES:
        return None
    if not _are_permits(sample):
        return None
    whole = _at_once(ask, name, timeouts)
    if whole is None or not is_number(whole.free):
        return None
    held = _permits_out(name, whole.out, whole.now_ms)
    if not held.holds and not all_free:
        return None
    held.truncated = whole.size > MOST_OWNERS
    # The next caller counts an expired permit as free.
    shown = whole.size if held.truncated else len(held.holds)
    held.free = int(whole.free) + whole.size - shown
    built.see_permits(held, whole.beside)
    return held


class _Whole(NamedTuple):
    """A semaphore and what is built on it, as they were at one moment."""

    free: bytes
    size: int
    now_ms: int
    out: list[bytes]
    beside: list[list[bytes]]


def _at_once(ask: Ask, name: bytes, timeouts: bytes) -> _Whole | None:
    """``None``: it is no semaphore.

    By a script: read one after the other, permits that come and go meanwhile would be counted twice
    or not at all.
    """
    keys = (name, timeouts, *built.keys_beside(name))
    limits = (MOST, b"%d" % built.MOST_FIELDS)
    text = script_text(READ) or b""
    [reply] = ask([(b"EVAL", text, b"%d" % len(keys), *keys, *limits)])
    if checked(reply) is None:
        return None
    free, size, now, *rest = reply
    lists: list[list[bytes]] = []
    while rest:
        end = int(rest[0]) + 1
        lists.append(rest[1:end])
        rest = rest[end:]
    return _Whole(free, int(size), int(now), lists[0], lists[1:])


def _are_permits(sample: Any) -> bool:
    return isinstance(sample, list) and all(len(one) == PERMIT_BYTES for one in listed(sample))


def _permits_out(name: bytes, out: list[bytes], now_ms: int) -> Held:
    """With the permits that have not expired."""
    expiries = dict(zip(out[::2], map(_expiry, out[1::2]), strict=True))
    finite = [at for at in expiries.values() if now_ms < at != NEVER]
    ttl = (min(finite) - now_ms) / 1000 if finite else None
    holds = [Hold(permit.hex().encode(), 1) for permit, at in expiries.items() if at > now_ms]
    return Held(name, "permit_semaphore", holds, ttl, channel=key_beside("semaphore_channel", name))


def _expiry(score: bytes) -> int:
    """Milliseconds since 1970; a score may be infinite."""
    return int(max(0.0, min(float(score), float(NEVER))))


def read_semaphore(ask: Ask, name: bytes, *, taken: bool = False) -> Held | None:
    """A counter for whose permits somebody waits; ``None``: the key is something else.

    ``taken``: one whose permits are all in use. That is no latch, which is not there at 0.
    """
    found = _counter(ask, name, "semaphore", "semaphore_channel")
    return None if found is None or (taken and (found.free or 0) > 0) else found


def read_latch(ask: Ask, name: bytes) -> Held | None:
    """A latch for which somebody waits; ``None``: the key is something else."""
    return _counter(ask, name, "count_down_latch", "latch_channel")


def _counter(ask: Ask, name: bytes, kind: str, channel: str) -> Held | None:
    """A plain number, as one of that kind."""
    [length] = ask([(b"STRLEN", name)])
    if not isinstance(length, int) or not 0 < length <= COUNTER_BYTES:
        return None
    value, pttl = ask([(b"GET", name), (b"PTTL", name)])
    if not (isinstance(value, bytes) and is_number(value)):
        return None
    ttl = pttl / 1000 if isinstance(pttl, int) and pttl >= 0 else None
    return Held(name, kind, [], ttl, free=int(value), channel=key_beside(channel, name))


def is_number(text: bytes) -> bool:
    return len(text) <= COUNTER_BYTES and text.removeprefix(b"-").isdigit()
