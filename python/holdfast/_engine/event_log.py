"""An event of a hold or a client, and what the log says of it."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from holdfast import _core
from holdfast._engine import log as _log
from holdfast._engine.errors import HoldfastError
from holdfast._engine.names import quoted
from holdfast._engine.process import all_clients, red_locks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast._engine.process import AnyClient

    Entry = tuple[Callable[..., None], str]
    #: A hold that is gone from its server: the client's id, the lock's name, what precedes the
    #: reason in a text (the title of a member), and the reason.
    Part = tuple[str, bytes, str, str]

__all__ = ["FOREIGN", "Event", "entry", "explained", "explained_text"]

#: Seconds between two queries of a client for the record of a forced release.
FORCED_INTERVAL = 0.05
#: Why a lock cannot be had whose key has no expiry.
FOREIGN = (
    "its key never expires, so another program wrote this key: use another name, or delete the key"
)


class Event:
    """An event, as the engine has it."""

    __slots__ = ("cause", "client", "name", "numbers", "owner", "reason", "server", "token", "word")

    word: str
    name: bytes
    owner: int
    #: The numbers of the listeners.
    numbers: list[int]
    reason: str
    token: int | None
    #: The client's id.
    client: str
    #: The address of the server that answered a command sent again; else empty.
    server: str
    #: Of a loss: ``gone`` from its server, ``lease_over``, ``closed`` or ``other``.
    cause: str

    def __init__(self, *parts: Any) -> None:
        (
            self.word,
            self.name,
            self.owner,
            self.numbers,
            self.reason,
            self.token,
            self.client,
            self.server,
            self.cause,
        ) = parts

    def __repr__(self) -> str:
        return repr(tuple(getattr(self, part) for part in self.__annotations__))


def entry(event: Event, client: AnyClient | None) -> Callable[[str], object]:
    """What logs an event with a reason, as things are now; another thread may call it."""
    owner = "of a closed client" if client is None else client._owner_title(event.owner)
    said = {"name": quoted(event.name), "owner": owner, "server": event.server}
    if event.word == "unguarded":
        from holdfast._clients.guard import warn_once

        return warn_once
    write, text = ENTRIES[event.word]
    if event.word == "lost" and (found := _of_member(event, said)) is not None:
        write, text = found

    def log(reason: str) -> None:
        write(text, {**said, "reason": reason})

    return log


ENTRIES: dict[str, Entry] = {
    "resolved": (_log.info, "%(name)s: resolved after a lost reply, server %(server)s"),
    "overlong": (_log.warning, "%(owner)s waits for %(name)s, which %(reason)s"),
    "foreign": (_log.warning, f"%(owner)s cannot have %(name)s: {FOREIGN}"),
    "permits": (_log.warning, "%(name)s %(reason)s"),
    "abandoned": (
        _log.warning,
        "the %(reason)s that held %(name)s has ended without releasing it; "
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
        "a deferred release of %(name)s (%(owner)s) failed: %(reason)s",
    ),
    "lost": (_log.error, "the hold on %(name)s (%(owner)s) was lost: %(reason)s"),
    "lost_late": (
        _log.error,
        "the hold on %(name)s (%(owner)s) was lost, as its deferred release has found: %(reason)s",
    ),
}


LOST_MEMBER: Entry = (
    _log.error,
    "the hold on the red lock %(name)s (%(owner)s) was lost with its member on %(server)s: "
    "%(reason)s",
)
LOST_MINORITY: Entry = (
    _log.warning,
    "the red lock %(name)s (%(owner)s) is held by its majority, but lost its member on %(server)s: "
    "%(reason)s",
)


def _of_member(event: Event, said: dict[str, str]) -> Entry | None:
    """What logs the loss of a hold that is a member of a red lock's; ``None``: it is none."""
    for whole in list(red_locks):
        member = whole._member_of(event.client, event.name)
        if member is None:
            continue
        lost = whole._core.known_lost(event.owner)
        if lost or whole._core.known_count(event.owner):
            said["name"], said["server"] = quoted(whole.name), member._client._url
            return LOST_MEMBER if lost else LOST_MINORITY
    return None


def explained(client: AnyClient, event: Event) -> str:
    """Why a hold is gone that its server does not have, and who has released it by force.

    The record of that is asked for once per ``FORCED_INTERVAL``: after the loss of many holds at
    once, as by ``FLUSHALL``, the other losses do not wait for the answers.
    """
    if monotonic() < client._forced_queried + FORCED_INTERVAL:
        return event.reason
    reason = _forced(client, event.name, event.owner)
    client._forced_queried = monotonic()
    return reason or event.reason


def explained_text(
    text: str, owner: int, parts: Sequence[Part], within: float | None = None
) -> str:
    """The text of a loss, with who has released the locks by force.

    It queries the servers of the parts, also right after another query: no error says less than
    another. ``within``: as ``forcing()``.
    """
    clients = {client.id: client for client in all_clients()}
    for client_id, key, title, gone in parts:
        client = clients.get(client_id)
        if client and (reason := _forced(client, key, owner, within)):
            text = text.replace(title + gone, title + reason)
    return text


def _forced(client: AnyClient, key: bytes, owner: int, within: float | None = None) -> str | None:
    """Why the hold is gone, if it was released by force and that is recorded; its ``loss`` then."""
    forced = None
    # Without a descriptor the import fails, too: the loss is reported nevertheless.
    with suppress(HoldfastError, OSError, ImportError):
        from holdfast._locks.force import forcing

        forced = forcing(client._core, key, owner, within)
    if forced is None:
        return None
    reason = f"it was released by force {forced}"
    client._core.explain_loss(key, owner, reason)
    return reason
