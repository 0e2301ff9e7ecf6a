"""The record of forced releases beside a lock: user, connection, time and owners.

A sorted set by time: to send a command of it again changes nothing.
"""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core, _log
from holdfast._names import quoted

from ._deployment import listed
from ._model import ForcedRelease, OwnerClient
from ._names import forced_releases
from ._people import client_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._deployment import Command

    Ask = Callable[[Sequence[Command]], list[Any]]

__all__ = ["forcing", "read_forced", "record", "withdraw"]

#: The most releases that are kept of a lock, and how long after the last one, in ms.
KEPT: Final = 10
LIFETIME_MS: Final = 30 * 24 * 3600 * 1000
CLIENT: Final = ("address", "name", "library")
#: The most owners that a record names.
MOST_OWNERS: Final = 20


def record(core: _core.Client, key: bytes, owners: Sequence[str]) -> bytes | None:
    """Note a release by force that is about to happen; what ``withdraw()`` needs.

    Without the rights to write, the log says so, and the release is not held up.
    """
    commands = [(b"CLIENT", b"INFO"), (b"ACL", b"WHOAMI"), (b"TIME",)]
    info, user, clock = _core.send_commands(core, key, commands)
    at = int(clock[0]) + int(clock[1]) / 1e6 if listed(clock) else time.time()
    client = client_of(info) if isinstance(info, bytes) else None
    options = _core.options_of(core)
    fallback = options.endpoint.username or "default"
    forced = ForcedRelease(
        at=at,
        user=user.decode(errors="backslashreplace") if isinstance(user, bytes) else fallback,
        client=client or OwnerClient("", options.client_name or "", None),
        owners=tuple(owners[:MOST_OWNERS]),
    )
    entry = json.dumps(forced.to_json()).encode()
    record = forced_releases(key)
    replies = _core.send_commands(
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
            _log.warning(text, quoted(key), reply)
            return None
    return entry


def withdraw(core: _core.Client, key: bytes, entry: bytes | None) -> None:
    """Remove a record: the lock was free, and nothing was released."""
    if entry is not None:
        _core.send_commands(core, key, [(b"ZREM", forced_releases(key), entry)])


def read_forced(ask: Ask, key: bytes) -> tuple[ForcedRelease, ...]:
    """The latest releases by force, the newest first; none if this user may not read them."""
    [entries] = ask([(b"ZRANGE", forced_releases(key), b"%d" % -KEPT, b"-1")])
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


def forcing(core: _core.Client, key: bytes, owner: int) -> ForcedRelease | None:
    """Of an owner of this process, which has lost its hold: its release by force, if recorded."""
    mine = f"{core.id}:{owner}"
    for forced in read_forced(lambda commands: _core.send_commands(core, key, commands), key):
        if mine in forced.owners:
            return forced
    return None
