"""Who holds a lock: the owners in its hash, and what their clients say of themselves.

Each question is a part of a call, as ``steps`` describes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast import _core
from holdfast._engine.errors import ConnectionError, quoted, shown
from holdfast._locks.fields import number
from holdfast._locks.force import listed
from holdfast._locks.kinds import key_beside
from holdfast._locks.steps import Command, Steps, commands, raised

if TYPE_CHECKING:
    from holdfast._core import CallersTime

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
#: The fields that are asked for together, about.
FIELDS_AT_ONCE: Final = 10_000
#: Digits of a time.
LONGEST_TIME: Final = 14
#: How many holders a message names.
MOST_WORDS: Final = 3
#: The fields of a client's key.
ABOUT: Final = (b"label", b"host", b"pid", b"started", b"lease", b"within")


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
    #: How many seconds ago its client renewed last; known where the client's key has its lease.
    renewed: float | None = None
    #: Whether its client was not asked, because too many others were.
    truncated: bool = False
    #: Without ``since``: its client says the time of each hold that has lasted for this many
    #: seconds, and of this one does not, so it is younger, if its program is at work. ``None``
    #: otherwise, and of waiters.
    within: float | None = None


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
    """What a client says of itself and of a hold, in seconds; ``None``: nothing."""

    label: str | None = None
    purpose: str | None = None
    host: str | None = None
    pid: int | None = None
    since: float | None = None
    #: Seconds.
    renewed: float | None = None
    #: Whether it was not asked.
    truncated: bool = False
    #: Seconds, as of a ``Holder``.
    within: float | None = None
    #: Whether holdfast has written the client's key.
    ours: bool = False


class Questions:
    """What is asked of clients about their holds, and what the answers say."""

    def __init__(
        self, owners: Iterable[Owned], limits: tuple[int, int] = (MOST_NAMED, MOST_PURPOSES)
    ) -> None:
        """``limits``: how many clients are asked, and of each how many purposes."""
        most_clients, self._most_purposes = limits
        self._theirs: dict[str, list[Owned]] = {}
        #: What is known of each owner.
        self.about: dict[Owned, Said] = {}
        for owned in owners:
            client = owned[0].partition(":")[0]
            asked = len(client) == UUID_LENGTH
            more = asked and client not in self._theirs and len(self._theirs) >= most_clients
            self.about[owned] = Said(truncated=more)
            if asked and not more:
                self._theirs.setdefault(client, []).append(owned)

    def batches(self, fields: int) -> Iterator[list[str]]:
        """The clients that are asked together, with about that number of fields, or one client."""
        some: list[str] = []
        size = 0
        for client, owners in self._theirs.items():
            if some and size + len(owners) > fields:
                yield some
                some, size = [], 0
            some.append(client)
            size += len(ABOUT) + min(len(owners), self._most_purposes)
        if some:
            yield some

    def commands(self, client: str) -> list[Command]:
        """Two, for the server that has the client's key."""
        key = client_key(client)
        asked = self._theirs[client][: self._most_purposes]
        fields = [purpose_field(owner.partition(":")[2], of) for owner, of in asked]
        return [(b"HMGET", key, *ABOUT, *fields), (b"PTTL", key)]

    def take(self, clients: Sequence[str], replies: Sequence[Any]) -> None:
        """Note the replies to the commands of these clients."""
        for place, client in enumerate(clients):
            reply, pttl = listed(replies[2 * place]), replies[2 * place + 1]
            purposes = [*reply[len(ABOUT) :], *repeat(None, len(self._theirs[client]))]
            for at, owned in enumerate(self._theirs[client]):
                truncated = at >= self._most_purposes
                if reply:
                    self.about[owned] = _said(reply, purposes[at], pttl, truncated=truncated)


def named(
    core: _core.Client, key: bytes, found: list[Holder], time: CallersTime
) -> Steps[list[Holder]]:
    """These owners of the key with what their clients say of themselves."""
    about = yield from said(core, [(one.owner, key) for one in found], time)
    return [with_said(one, about[one.owner, key]) for one in found]


def with_said(one: Holder, said: Said) -> Holder:
    """The same with what its client says."""
    known = said._asdict()
    del known["ours"]
    return replace(one, **known)


def said(
    core: _core.Client, owners: Iterable[Owned], time: CallersTime
) -> Steps[dict[Owned, Said]]:
    """What their clients say of owners of keys; one that this user may not ask says nothing."""
    questions = Questions(owners)
    clustered = _core.options_of(core).endpoint.deployment == "cluster"
    for some in questions.batches(1 if clustered else FIELDS_AT_ONCE):
        asked = [command for one in some for command in questions.commands(one)]
        questions.take(some, (yield commands(core, client_key(some[0]), asked, time)))
    return questions.about


def _said(reply: list[Any], value: bytes | None, pttl: Any, *, truncated: bool) -> Said:
    label, host, pid, started, lease, period = reply[: len(ABOUT)]
    began, _, purpose = (value or b"").partition(b" ")
    since = number(began, LONGEST_TIME)
    within = number(period, LONGEST_TIME) if value is None and not truncated else None
    return Said(
        label=_text(label),
        purpose=_text(purpose) if since is not None else None,
        host=_text(host),
        pid=number(pid),
        since=since / 1000 if since is not None else None,
        renewed=_renewed(lease, pttl),
        truncated=truncated,
        within=within / 1000 if within else None,
        ours=bool(started),
    )


def _renewed(lease: bytes | None, pttl: Any) -> float | None:
    """Seconds since a client's key was given its lease; ``None``: it lives longer, for a hold."""
    given = number(lease, LONGEST_TIME)
    if given is None or not isinstance(pttl, int) or not 0 <= pttl <= given:
        return None
    return (given - pttl) / 1000


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
    who = f"owner {one.owner}" if ":" in one.owner else f"permit {one.owner}"
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
    elif one.within:
        who += f" for less than {one.within:.0f} s"
    if one.renewed is not None:
        who += f", last renewed {one.renewed:.1f} s ago"
    left = "without an expiry" if math.isinf(one.ttl) else f"{one.ttl:.1f} s of its lease left"
    return f"{who}, {left}"
