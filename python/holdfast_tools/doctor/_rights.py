"""Whether this user may run every command that locks need, found out by running each of them.

The commands run on keys of a separate name; these are removed afterwards, or expire.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from holdfast import ServerError, servers
from holdfast.integration import escaped, quoted

from ._finding import Finding, bad, good, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.servers import Command, Deployment

__all__ = ["KINDS", "check_rights", "is_unknown", "keys_in_use"]

SCRIPT: Final = b"return 1"
FIELD: Final = b"00000000-0000-8000-8000-000000000000:1"
#: The kinds to try, and what is built on them. A spin lock needs the rights of a lock, but for
#: those of its waiters.
KINDS: Final = tuple(
    kind.word for kind in (*servers.KINDS, *servers.BUILT) if kind.word != "spin_lock"
)
BUILT: Final = frozenset(kind.word for kind in servers.BUILT)
UNKNOWN: Final = "the server has no command of that name"
#: In the place of a reply.
UNTRIED: Final = object()
#: Those that leave something without an expiry.
WRITING: Final = frozenset({"hset", "hincrby", "rpush", "zadd", "incr", "incrby", "decr", "decrby"})


@dataclass
class _Refusal:
    """A command that is refused, for some kinds."""

    reason: str
    kinds: dict[str, None] = field(default_factory=dict[str, None])
    #: What has to be added to the user's rights, in the words of ``ACL SETUSER``.
    missing: dict[str, None] = field(default_factory=dict[str, None])


def check_rights(deployment: Deployment, name: bytes, kinds: Sequence[str]) -> list[Finding]:
    """A finding for each command that is refused, and for what could not be tried; one if none."""
    key = deployment.prefix + name
    refusals: dict[str, _Refusal] = {}
    asked: set[str] = set()
    untried: dict[str, None] = {}
    for kind, part in _parts(kinds):
        for command, keys, reply in _tried(deployment, key, part):
            asked.add(command)
            if reply is UNTRIED:
                untried[command] = None
            elif _is_refusal(reply):
                refusal = refusals.setdefault(command, _Refusal(_reason(reply)))
                refusal.kinds[kind] = None
                used = (*keys, _channel(key, part))
                refusal.missing |= _missing(command, _reason(reply), used, deployment.prefix)
    user = deployment.user
    findings = _findings(refusals, user)
    if untried:
        found = f"{', '.join(untried)} were not tried: what they write could not be removed"
        findings.append(unknown("rights", found, "allow del, then try again"))
    if findings:
        return findings
    means = f"these kinds work for this user: {', '.join(kinds)}"
    return [good("rights", f"all {len(asked)} commands that locks need are allowed", means)]


def keys_in_use(deployment: Deployment, name: bytes, kinds: Sequence[str]) -> list[bytes]:
    """Those keys that the check would write and remove, but that are there already.

    A key that this user may not look at counts as none: the trials may not touch it either. Raises
    ``ServerError`` where it may not look at any.
    """
    key = deployment.prefix + name
    of_kinds = (servers.kind_of(part).keys_of(key, FIELD) for _, part in _parts(kinds))
    keys = list(dict.fromkeys(one for some in of_kinds for one in some))
    refusals: list[ServerError] = []
    for command, none in ((b"EXISTS", 0), (b"PTTL", -2)):
        replies = deployment.ask(key, [(command, one) for one in keys])
        refusals += filter(_is_refused_itself, replies)
        if not any(map(_is_refused_itself, replies)):
            asked = zip(keys, replies, strict=True)
            return [one for one, reply in asked if not _is_refusal(reply) and _sure(reply) != none]
    raise refusals[0]


def _sure(reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise reply
    return reply


def _parts(kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each kind with itself and, of what is built on a kind, with that one."""
    for kind in kinds:
        if kind in BUILT:
            yield kind, servers.kind_of(kind).seen_as
        yield kind, kind


def _is_refusal(reply: Any) -> bool:
    return isinstance(reply, ServerError) and (reply.code == "NOPERM" or is_unknown(reply))


def is_unknown(error: ServerError) -> bool:
    """Whether the server has no command of that name, or none that a script calls."""
    return error.code == "ERR" and "unknown command" in str(error).lower()


def _findings(refusals: Mapping[str, _Refusal], user: str) -> list[Finding]:
    return [
        bad(
            "rights",
            f"{command} is refused: {refusal.reason}",
            f"these kinds fail: {', '.join(refusal.kinds)}",
            f"ACL SETUSER {user} {' '.join(refusal.missing)}; the documentation lists all rights, "
            "and the patterns of keys (~) and channels (&) of one prefix"
            if refusal.missing
            else f"give {command} its name back (rename-command); or use a proxy that knows it",
        )
        for command, refusal in refusals.items()
    ]


def _reason(refusal: ServerError) -> str:
    """The server's message, without the advice after it."""
    if is_unknown(refusal):
        return UNKNOWN
    return str(refusal).partition("NOPERM")[2].partition(";")[0].strip()


def _missing(command: str, reason: str, used: tuple[bytes, ...], prefix: bytes) -> dict[str, None]:
    """The right whose lack the server reports: to the command, to a key, or to a channel.

    ``used``: the keys of the command, and the channel of its kind.
    """
    *keys, channel = used
    if reason == UNKNOWN:
        return {}
    if _is_about_command(reason):
        return {f"+{command}": None}
    if "channel" in reason:
        return {_pattern(b"&", channel, prefix): None}
    return {_pattern(b"~", key, prefix): None for key in keys}


def _pattern(sign: bytes, key: bytes, prefix: bytes) -> str:
    """The right to a key or channel; of a client with a prefix, to those of all its names only."""
    if not prefix:
        return quoted(sign + key)
    before = key.partition(prefix)[0]
    return quoted(sign + escaped(before + prefix) + b"*")


def _is_refused_itself(reply: Any) -> bool:
    """Whether the command is refused, rather than one of its keys."""
    return _is_refusal(reply) and _is_about_command(_reason(reply))


def _is_about_command(reason: str) -> bool:
    return "command" in reason


Trial = tuple[str, tuple[bytes, ...], Any]


def _tried(deployment: Deployment, key: bytes, kind: str) -> list[Trial]:
    """The commands of a kind, each with its keys and the reply.

    Without the right to remove what is written, the keys hold a text that expires, to which no
    command adds anything.
    """
    rights, keys = servers.kind_of(kind).rights, servers.kind_of(kind).keys_of(key, FIELD)
    removal = [(b"DEL", one) for one in keys]
    removed = deployment.ask(key, removal)
    placed: list[Command] = []
    untried: frozenset[str] = frozenset()
    if any(map(_is_refusal, removed)):
        placed, untried = _placeholders(deployment, key, keys)
    tried = [one for one in rights if one not in untried | {"del"}]
    commands = [*placed, *(_arguments(one, key, kind) for one in tried), *removal]
    replies = deployment.ask(key, commands)[len(placed) : -len(removal)]
    trials: list[Trial] = [("del", (one,), reply) for one, reply in zip(keys, removed, strict=True)]
    for one, reply in zip(tried, replies, strict=True):
        trials.append((one, _used(one, key, kind), reply))
    return trials + [(one, (), UNTRIED) for one in rights if one in untried]


def _placeholders(
    deployment: Deployment, key: bytes, keys: Sequence[bytes]
) -> tuple[list[Command], frozenset[str]]:
    """The commands that put an expiring text into each key; those not to try where they fail."""
    placed: list[Command] = [(b"SET", one, b"text", b"PX", b"1000") for one in keys]
    if any(map(_is_refused_itself, deployment.ask(key, placed))):
        return [], WRITING
    return placed, frozenset()


def _used(command: str, key: bytes, kind: str) -> tuple[bytes, ...]:
    """The keys that the server checks for a command."""
    if command.startswith("eval"):
        return key, _channel(key, kind)
    return (_target(command, key, kind),)


def _channel(key: bytes, kind: str) -> bytes:
    return servers.kind_of(kind).channel_of(key)


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
    return servers.kind_of(kind).key_of(command, key, FIELD)


_REST: Final[Mapping[str, Command]] = {
    "hset": (FIELD, b"1"),
    "hexists": (FIELD,),
    "hget": (FIELD,),
    "hdel": (FIELD,),
    "hmget": (FIELD,),
    "hincrby": (FIELD, b"1"),
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
