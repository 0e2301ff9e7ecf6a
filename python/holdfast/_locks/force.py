"""Releases by force, their record beside the lock, and the connections of owners."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core
from holdfast._engine import log as _log
from holdfast._engine.errors import LockError, ServerError, braced, quoted, shown
from holdfast._engine.process import NO_OWNER
from holdfast._locks.kinds import kind_of
from holdfast._locks.steps import Command, Steps, ask, commands, time_over, without_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Ask = Callable[[Sequence[Command]], list[Any]]


#: The length of the part of a client's id that ends the names of its connections.
ID_DIGITS: Final = 8
#: The name of a connection of holdfast.
NAME: Final = re.compile(
    rf"(?P<label>.+):(?P<process>[^:]*:\d+):(?P<digits>[0-9a-f]{{{ID_DIGITS}}})"
)


@dataclass(frozen=True)
class OwnerClient:
    """The client of an owner, as the server's list of connections has it."""

    #: Host and port.
    address: str
    #: The connection's name.
    name: str
    #: Library and version, where the client says it.
    library: str | None

    @property
    def label(self) -> str | None:
        """Its ``client_name``, by default ``holdfast``; ``None`` for a name of another library."""
        return self._part("label")

    @property
    def process(self) -> str | None:
        """Host and process of the program, ``host:pid``; ``None`` for a name of another library."""
        return self._part("process")

    @property
    def id_digits(self) -> str | None:
        """How the client's id begins; ``None`` for a name of another library."""
        return self._part("digits")

    def _part(self, part: str) -> str | None:
        match = NAME.fullmatch(self.name)
        return None if match is None else match[part]

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return {"address": self.address, "name": self.name, "library": self.library}


def described(line: bytes) -> dict[str, str]:
    """The fields of a line that describes a connection."""
    words = (word.partition("=") for word in line.decode(errors="backslashreplace").split(" "))
    return {field: value.strip() for field, _, value in words}


def client_of(fields: dict[str, str]) -> OwnerClient:
    """The client of a connection with these fields."""
    library = f"{fields.get('lib-name', '')} {fields.get('lib-ver', '')}".strip()
    return OwnerClient(fields.get("addr", ""), fields.get("name", ""), library or None)


def listed(reply: Any) -> list[Any]:
    """The elements of a reply; empty if it is not a list, for example an error."""
    return reply if isinstance(reply, list) else []  # pyright: ignore[reportUnknownVariableType]


def moved(reply: object) -> bool:
    """Whether a server has said that another one answers for the key."""
    return isinstance(reply, ServerError) and reply.code in {"MOVED", "ASK", "TRYAGAIN"}


#: The most releases that are kept of a lock, and how long after the last one, in ms.
KEPT: Final = 10
LIFETIME_MS: Final = 30 * 24 * 3600 * 1000
CLIENT: Final = ("address", "name", "library")
#: The most owners that a record names.
MOST_OWNERS: Final = 20


@dataclass(frozen=True)
class ForcedRelease:
    """A release by force, as its record beside the lock has it."""

    #: When, in seconds since 1970, by the server's clock.
    at: float
    #: The server's user that did it.
    user: str
    #: The connection that did it; ``None`` where it is not known.
    client: OwnerClient | None
    #: Who held the lock until then, as ``Owner.id``.
    owners: tuple[str, ...]

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.at, timezone.utc).isoformat(" ", "milliseconds")
        client = self.client or OwnerClient("", "", None)
        where = shown(" ".join(one for one in (client.name, client.address) if one))
        return f"at {when} by user {quoted(self.user)}" + (f", connection {where}" if where else "")

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return {
            "at": self.at,
            "user": self.user,
            "client": self.client.to_json() if self.client else None,
            "owners": list(self.owners),
        }


def _key(name: bytes) -> bytes:
    """The record's key, which is no part of the lock."""
    return braced(name, b"holdfast_forced:")


def record(core: _core.Client, key: bytes, owners: Sequence[str]) -> bytes | None:
    """Note a release by force that is about to happen; what ``withdraw()`` needs.

    Without the rights to write, the log says so, and the release is not held up.
    """
    words = [(b"CLIENT", b"INFO"), (b"ACL", b"WHOAMI"), (b"TIME",)]
    info, user, clock = ask(core, key, words)
    at = int(clock[0]) + int(clock[1]) / 1e6 if listed(clock) else time.time()
    client = client_of(described(info)) if isinstance(info, bytes) else None
    options = _core.options_of(core)
    fallback = options.endpoint.username or "default"
    forced = ForcedRelease(
        at=at,
        user=user.decode(errors="backslashreplace") if isinstance(user, bytes) else fallback,
        client=client or OwnerClient("", options.client_name or "", None),
        owners=tuple(owners[:MOST_OWNERS]),
    )
    entry = json.dumps(forced.to_json()).encode()
    record = _key(key)
    replies = ask(
        core,
        key,
        [
            (b"ZADD", record, b"%d" % (at * 1000), entry),
            (b"ZREMRANGEBYRANK", record, b"0", b"%d" % (-KEPT - 1)),
            (b"PEXPIRE", record, b"%d" % LIFETIME_MS),
        ],
    )
    for reply in replies:
        if isinstance(reply, Exception):
            text = "the forced release of %s is not recorded on the server: %s"
            _log.warning(_log.About("unrecorded", key), text, quoted(key), reply)
            return None
    return entry


def withdraw(core: _core.Client, key: bytes, entry: bytes | None) -> None:
    """Remove a record: the lock was free, and nothing was released."""
    if entry is not None:
        ask(core, key, [(b"ZREM", _key(key), entry)])


def read_forced(ask: Ask, key: bytes) -> tuple[ForcedRelease, ...]:
    """The latest releases by force, the newest first; none if this user may not read them."""
    [entries] = ask([_reading(key)])
    return _read(entries)


def _reading(key: bytes) -> Command:
    return b"ZRANGE", _key(key), b"%d" % -KEPT, b"-1"


def _read(entries: Any) -> tuple[ForcedRelease, ...]:
    read = [_parsed(entry) for entry in listed(entries)]
    return tuple(one for one in reversed(read) if one is not None)


def _parsed(entry: bytes) -> ForcedRelease | None:
    """``None`` for what another program has put there."""
    try:
        said = json.loads(entry)
        client = None
        if said["client"] is not None:
            address, name, library = (said["client"][word] for word in CLIENT)
            client = OwnerClient(str(address), str(name), str(library) if library else None)
        at, owners = float(said["at"]), tuple(map(str, said["owners"]))
        datetime.fromtimestamp(at, timezone.utc)
        return ForcedRelease(at, str(said["user"]), client, owners)
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        return None


def forcing(
    core: _core.Client, key: bytes, owners: Collection[str], *, late: bool = False
) -> Steps[ForcedRelease | None]:
    """The release by force that ended a hold of one of these owners, if it is recorded.

    ``owners``: as ``Owner.id``. ``late``: for a caller whose time is over.
    """
    time = time_over(core) if late else without_limit(core)
    [entries] = yield commands(core, key, [_reading(key)], time)
    return next(
        (each for each in _read(entries) if any(one in owners for one in each.owners)), None
    )


#: For a fair lock that is only released: it does not wait.
QUEUE_TIMEOUT_MS = 1


def force_release(core: _core.Client, name: bytes, kind: str, owners: Sequence[str]) -> bool:
    """Release a lock of that kind, which has these owners; ``False`` if it is free by now."""
    if not owners:
        return _released(core, name, kind, owners)
    key = _core.options_of(core).name_prefix + name
    entry = record(core, key, owners)  # first: the owner looks for it when it learns
    try:
        released = _released(core, name, kind, owners)
    except ServerError:
        withdraw(core, key, entry)
        raise
    if not released:
        withdraw(core, key, entry)
    return released


def _released(core: _core.Client, name: bytes, kind: str, owners: Sequence[str]) -> bool:
    which = kind_of(kind)
    if which.type == b"hash":  # of two sides, the second first: its owner may also have the first
        words = [f"{side}_lock" for side in reversed(which.sides)] or [kind]
        return sum(_force(core, word, name) for word in words) > 0
    if not which.number:
        semaphore = _core.PermitSemaphore(core, "permit_semaphore", name)
        released = [semaphore.release(bytes.fromhex(permit)).wait() for permit in owners]
        return any(one is not None for one in released)
    msg = (
        f"{quoted(name)} is a {kind}, not a lock: it has no owners; "
        "change its number with its own methods"
    )
    raise LockError(msg)


def _force(core: _core.Client, word: str, name: bytes) -> bool:
    lock = _core.new_lock(core, word, name, 0, QUEUE_TIMEOUT_MS, None, None)
    return lock.force_release(NO_OWNER).wait() == 1
