"""Whether this user may run every command that locks need, found out by running each of them.

The commands run on keys of a separate name; these are removed afterwards.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from holdfast._errors import ServerError
from holdfast.inspect import _names as names

from ._finding import Finding, bad, good, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.inspect._deployment import Command, Deployment

__all__ = ["KINDS", "RIGHTS", "check_rights"]

SCRIPT: Final = b"return 1"
FIELD: Final = b"00000000-0000-8000-8000-000000000000:1"
HASH: Final = ("hset", "hexists", "hget", "hlen", "hdel", "pexpire", "pttl")

#: By kind: the commands that it needs besides subscribe and unsubscribe, as the documentation
#: lists them. del comes first: what is written must be removable.
RIGHTS: Final[Mapping[str, Sequence[str]]] = {
    "lock": ("del", "eval", "evalsha", "publish", *HASH),
    "fair_lock": (
        *("del", "eval", "evalsha", "publish", *HASH, "rpush", "lindex", "lrange", "lrem", "lpop"),
        *("zadd", "zrange", "zscore", "zrem", "time"),
    ),
    "read_write_lock": ("del", "eval", "evalsha", "publish", *HASH, "hgetall", "set", "exists"),
    "fenced_lock": (
        *("del", "eval", "evalsha", "publish", *HASH),
        *("get", "incr", "incrby", "time"),
    ),
    "semaphore": ("del", "eval", "evalsha", "publish", "set", "get", "incrby", "decrby", "pexpire"),
    "permit_semaphore": (
        *("del", "eval", "evalsha", "publish", "set", "get", "incr", "incrby", "decr", "pexpire"),
        *("pttl", "time", "zadd", "zcard", "zcount", "zrange", "zscore", "zrem"),
        "zremrangebyscore",
    ),
    "count_down_latch": ("del", "eval", "evalsha", "publish", "set", "get", "decr", "pexpire"),
}
KINDS: Final = tuple(RIGHTS)


def check_rights(deployment: Deployment, name: bytes, kinds: Sequence[str]) -> list[Finding]:
    """A finding for each command that is refused; one if none is."""
    key = deployment.prefix + name
    refusals: dict[str, tuple[str, list[str]]] = {}
    asked: set[str] = set()
    for kind in kinds:
        for command, reply in _tried(deployment, key, kind):
            asked.add(command)
            if isinstance(reply, ServerError) and reply.code == "NOPERM":
                refusals.setdefault(command, (str(reply), []))[1].append(kind)
    if "del" in refusals:
        skipped = unknown(
            "rights", "the other commands were not tried", "allow del, then try again"
        )
        return [*_findings(refusals), skipped]
    if refusals:
        return _findings(refusals)
    means = "locks, semaphores and latches work for this user"
    return [good("rights", f"all {len(asked)} commands that locks need are allowed", means)]


def _findings(refusals: Mapping[str, tuple[str, list[str]]]) -> list[Finding]:
    return [
        bad(
            "rights",
            f"{command} is refused: {_reason(text)}",
            f"these kinds fail: {', '.join(kinds)}",
            f"ACL SETUSER <user> +{command}, and the patterns of keys (~) and channels (&) "
            "that the documentation lists",
        )
        for command, (text, kinds) in refusals.items()
    ]


def _reason(message: str) -> str:
    """The server's message, without the advice after it."""
    return message.partition("NOPERM")[2].partition(";")[0].strip()


def _tried(deployment: Deployment, key: bytes, kind: str) -> list[tuple[str, Any]]:
    """The commands of a kind, and the reply to each."""
    keys = _keys(key, kind)
    removal = (b"DEL", *keys)
    [first] = deployment.ask(key, [removal])
    if isinstance(first, ServerError) and first.code == "NOPERM":
        return [("del", first)]
    rest = [command for command in RIGHTS[kind] if command != "del"]
    replies = deployment.ask(key, [*(_arguments(one, key, kind) for one in rest), removal])
    return [("del", first), *zip(rest, replies[:-1], strict=True)]


def _keys(key: bytes, kind: str) -> list[bytes]:
    """All keys that the commands of a kind write to."""
    more = {
        "fair_lock": [names.fair_queue(key), names.fair_timeouts(key)],
        "read_write_lock": [names.read_timeout(key, FIELD, 1)],
        "fenced_lock": [names.token_counter(key)],
        "permit_semaphore": [names.permit_timeouts(key)],
    }
    return [key, *more.get(kind, [])]


def _channel(key: bytes, kind: str) -> bytes:
    channels = {
        "read_write_lock": names.rwlock_channel,
        "semaphore": names.semaphore_channel,
        "permit_semaphore": names.semaphore_channel,
        "count_down_latch": names.latch_channel,
    }
    return channels.get(kind, names.lock_channel)(key)


def _arguments(command: str, key: bytes, kind: str) -> Command:
    """A command that does no harm."""
    channel = _channel(key, kind)
    word = command.upper().encode()
    if command == "eval":
        return (word, SCRIPT, b"2", key, channel)
    if command == "evalsha":
        return (word, hashlib.sha1(SCRIPT).hexdigest().encode(), b"2", key, channel)
    if command == "publish":
        return (word, channel, b"0")
    if command == "time":
        return (word,)
    return (word, _target(command, key, kind), *_REST.get(command, ()))


def _target(command: str, key: bytes, kind: str) -> bytes:
    """The key that the kind's scripts use the command on."""
    if kind == "fair_lock" and command in {"rpush", "lindex", "lrange", "lrem", "lpop"}:
        return names.fair_queue(key)
    if command.startswith("z"):
        return names.fair_timeouts(key) if kind == "fair_lock" else names.permit_timeouts(key)
    if kind == "fenced_lock" and command in {"get", "incr", "incrby"}:
        return names.token_counter(key)
    if kind == "read_write_lock" and command in {"set", "exists"}:
        return names.read_timeout(key, FIELD, 1)
    return key


_REST: Final[Mapping[str, Command]] = {
    "hset": (FIELD, b"1"),
    "hexists": (FIELD,),
    "hget": (FIELD,),
    "hdel": (FIELD,),
    "pexpire": (b"1000",),
    "set": (b"1", b"PX", b"1000"),
    "incrby": (b"1",),
    "decrby": (b"1",),
    "rpush": (FIELD,),
    "lindex": (b"0",),
    "lrange": (b"0", b"-1"),
    "lrem": (b"0", FIELD),
    "zadd": (b"1", FIELD),
    "zcount": (b"0", b"1"),
    "zrange": (b"0", b"-1"),
    "zscore": (FIELD,),
    "zrem": (FIELD,),
    "zremrangebyscore": (b"0", b"0"),
}
