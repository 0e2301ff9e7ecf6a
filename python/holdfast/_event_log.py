"""What the log says of an event."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

from . import _log
from ._errors import HoldfastError
from ._names import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._base_client import BaseClient
    from ._events import Event
    from ._red_lock import BaseRedLock

__all__ = ["entry", "red_locks", "write_forced"]

#: Those of this process: the loss of a member is logged as that, not as the loss of a lock.
red_locks: WeakSet[BaseRedLock] = WeakSet()
#: Seconds between two queries of a client for the record of a forced release.
FORCED_INTERVAL = 0.05


def entry(event: Event) -> Callable[[], object]:
    """What logs an event, as things are now; another thread may call it."""
    name, owner, reason = quoted(event.name), event.owner, event.reason
    if event.word == "lost" and (found := _of_member(event)) is not None:
        return found
    if event.word == "unguarded":
        from ._guard import warn_once

        return partial(warn_once, reason)
    write, text = ENTRIES[event.word]
    said = {"name": name, "owner": owner, "reason": reason, "server": event.server}
    return partial(write, text, said)


ENTRIES = {
    "resolved": (_log.info, "%(name)s: resolved after a lost reply, server %(server)s"),
    "overlong": (_log.warning, "owner %(owner)d waits for %(name)s, which %(reason)s"),
    "abandoned": (
        _log.warning,
        "the %(reason)s that held %(name)s (owner %(owner)d) has ended without releasing it; "
        "it is no longer renewed and expires with its lease",
    ),
    "protocol_error": (
        _log.error,
        "%(reason)s: ended that connection, and sent what it had not answered again on a new one; "
        "a proxy or a server that does so now and then is broken",
    ),
    "not_renewed": (
        _log.warning,
        "the client has no newer credentials: %(reason)s; its connections keep the older ones, and "
        "it tries again soon",
    ),
    "unreleased": (
        _log.error,
        "a deferred release of %(name)s (owner %(owner)d) failed: %(reason)s",
    ),
    "lost": (_log.error, "the hold on %(name)s (owner %(owner)d) was lost: %(reason)s"),
    "lost_late": (
        _log.error,
        "the hold on %(name)s (owner %(owner)d) was lost, as its deferred release has found: "
        "%(reason)s",
    ),
}


def _of_member(event: Event) -> Callable[[], object] | None:
    """What logs the loss of a hold that is a member of a red lock's; ``None``: it is none."""
    for whole in list(red_locks):
        member = whole._member_of(event.client, event.name)
        if member is None:
            continue
        core, owner = whole._core, event.owner
        where = f"its member on {member._client._url}: {event.reason}"
        if core.known_lost(owner):
            text = "the hold on the red lock %s (owner %d) was lost with %s"
            return partial(_log.error, text, quoted(whole.name), owner, where)
        if core.known_count(owner):
            text = "the red lock %s (owner %d) is held by its majority, but lost %s"
            return partial(_log.warning, text, quoted(whole.name), owner, where)
    return None


def write_forced(client: BaseClient, event: Event) -> None:
    """Log who has released a lost hold by force, if the server has a record of it.

    Not more often than once per ``FORCED_INTERVAL``: after the loss of many holds at once, as by
    ``FLUSHALL``, the other losses do not wait for the answers.
    """
    from .inspect._forced import log_forced

    if monotonic() < client._forced_queried + FORCED_INTERVAL:
        return
    with suppress(HoldfastError):
        log_forced(client._core, event.name, event.owner)
    client._forced_queried = monotonic()
