"""The records of the log about the engine's events: what each says, and in which fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast._engine import log as _log
from holdfast._engine.errors import quoted, shown
from holdfast._engine.process import red_locks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast._engine.process import AnyClient

    Entry = tuple[Callable[..., None], str]

#: Why a lock cannot be had whose key has no expiry.
FOREIGN = (
    "its key never expires, so another program wrote this key: use another name, or delete the key"
)


#: Of the end of a hold without a release.
LOSSES = {"lost", "lost_late"}


class Event:
    """An event, as the engine has it."""

    __slots__ = (
        *("cause", "client", "kind", "name", "numbers", "owner", "reason", "server", "token"),
        "word",
    )

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
    #: Of lock; empty where the engine does not know it.
    kind: str

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
            self.kind,
        ) = parts

    def __repr__(self) -> str:
        return repr(tuple(getattr(self, part) for part in self.__annotations__))


def entry(event: Event, client: AnyClient | None) -> Callable[[str], object]:
    """What logs an event with a reason, as things are now; another thread may call it."""
    if event.word == "unguarded":
        return _log.unguarded
    owner = "of a closed client" if client is None else client._owner_title(event.owner)
    said = {"name": quoted(event.name), "owner": owner, "server": event.server}
    about = _about(event, client)
    write, text = ENTRIES[event.word]
    if event.word == "lost" and client is not None and _reports_itself(client, event.owner):
        write = _log.info
    if event.word == "lost" and (found := _of_member(event, about)) is not None:
        write, text = found
        said |= {"name": f"'{about.name}'", "server": about.server}

    def log(reason: str) -> None:
        if event.cause == "gone" and reason != event.reason:
            about.cause = "forced"
        write(about, text, {**said, "reason": reason})

    return log


def _about(event: Event, client: AnyClient | None) -> _log.About:
    name = event.name or None
    if client is None:
        about = _log.About(event.word, name)
        about.owner = f"{event.client}:{event.owner}"
    else:
        about = client._for_log(event.word, name, event.owner)
    about.kind = about.kind or event.kind
    about.server = event.server or about.server
    if event.word in LOSSES:
        about.cause = event.cause
    return about


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
    "unlabelled": (
        _log.warning,
        "the labels of this client and of its holds cannot be written: %(reason)s; its locks work "
        "without them: grant the user the rights to holdfast:client:* that docs/rights.md lists",
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


def _reports_itself(client: AnyClient, owner: int) -> bool:
    """Whether a call that waits with the permit raises the loss."""
    permits = client._permit_holder(owner)
    return permits is not None and permits._reports_itself


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


def _of_member(event: Event, about: _log.About) -> Entry | None:
    """What logs the loss of a red lock's member, and is about that lock; ``None``: it is none."""
    for whole in list(red_locks):
        member = whole._member_of(event.client, event.name)
        if member is None:
            continue
        lost = whole._core.known_lost(event.owner)
        if lost or whole._core.known_count(event.owner):
            about.event = "lost_member" if lost else "lost_minority"
            about.name, about.kind = shown(whole.name), "red_lock"
            about.server = member._client._url
            return LOST_MEMBER if lost else LOST_MINORITY
    return None
