"""Owners as they are shown, with what their clients say, and the waiters on channels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast._locks.fields import number
from holdfast.servers import listed

from ._model import LockInfo, Owner
from ._names import percent_encoded, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.servers import Deployment, Said, Server

    from ._connections import Clients
    from ._held import Held, Hold

    #: By owner and key.
    About = Mapping[tuple[str, bytes], Said]

__all__ = ["Around", "channels_like", "info_of", "known", "said_of"]


def channels_like(deployment: Deployment, server: Server, pattern: bytes) -> list[bytes]:
    """The channels with subscribers on a server; empty if this user may not query it."""
    asked = [b"CHANNELS", b"SHARDCHANNELS"] if deployment.sharded else [b"CHANNELS"]
    replies = server.ask_gently([(b"PUBSUB", how, pattern) for how in asked])
    return [channel for reply in replies for channel in listed(reply)]


def said_of(deployment: Deployment, locks: Iterable[Held]) -> About:
    """What their clients say of the owners of these locks."""
    owners = [(_asked(hold), held.name) for held in locks for hold in held.holds]
    return deployment.said(owners)


def _asked(hold: Hold) -> str:
    """The owner as its client knows it."""
    return shown(hold.taker or hold.owner)


def _owner(held: Held, hold: Hold, around: Around) -> Owner:
    owner = Owner(hold.owner.decode(), hold.count, hold.mode, slot=hold.slot)
    if held.kind == "permit_semaphore" and not hold.taker:
        # A permit of holdfast begins as the id of its client; of others nothing is known.
        here = around.clients.of(owner.id) is not None
        return replace(owner, **known(owner.id, None, around.clients)) if here else owner
    asked = _asked(hold)
    said = around.about.get((asked, held.name))
    return replace(owner, **known(asked, said, around.clients))


def known(owner: str, said: Said | None, clients: Clients) -> dict[str, Any]:
    """What is known of ``<client id>:<number>``: fields of an ``Owner`` or a ``QueuedOwner``.

    Host and process are those of the connection's name where its client does not say them.
    """
    client = clients.of(owner)
    about: dict[str, Any] = {"client": client, "connection": clients.connection(owner, said)}
    host, _, pid = (client.process or "" if client else "").rpartition(":")
    if pid:
        about |= {"host": host, "pid": number(pid.encode())}
    words = ["label", "purpose", "host", "pid", "since", "renewed"]
    if about["connection"] != "not connected":  # a dead program notes no hold
        words.append("within")
    there = ((word, getattr(said, word)) for word in words) if said is not None else ()
    return about | {word: value for word, value in there if value is not None}


class Around(NamedTuple):
    """What is known beside the keys of locks."""

    clients: Clients
    about: About
    #: Subscribers, by channel.
    waiting: Mapping[bytes, int]


def info_of(held: Held, prefix: bytes, around: Around) -> LockInfo:
    """A lock as it is shown."""
    name = held.name.removeprefix(prefix)
    return LockInfo(
        name=shown(name),
        key=percent_encoded(name),
        kind=held.kind,
        owners=tuple(_owner(held, hold, around) for hold in held.holds),
        ttl=held.ttl,
        waiters=held.queued or around.waiting.get(held.channel, 0),
        use=held.use,
        truncated=held.truncated or any(_is_left_out(held, hold, around) for hold in held.holds),
    )


def _is_left_out(held: Held, hold: Hold, around: Around) -> bool:
    """Whether its client was not asked."""
    said = around.about.get((_asked(hold), held.name))
    return said is not None and said.truncated
