"""The clients behind owners, and the waiters on channels, from the servers' lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.servers import ID_DIGITS, OwnerClient, client_of, described, listed

from ._model import LockInfo, Owner
from ._names import percent_encoded, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.servers import Deployment, Said, Server

    from ._held import Held, Hold

    #: By owner and key.
    About = Mapping[tuple[str, bytes], Said]

__all__ = ["Around", "Clients", "channels_like", "info_of", "owners_of", "said_of"]

#: The list of a server with more connections is not read: making it takes long.
MOST_CONNECTIONS: Final = 5000
#: How the library of a client with a guard begins.
GUARDED: Final = "holdfast(guard)"


class Clients:
    """Finds the client of an owner by the names of connections."""

    def __init__(self, servers: Iterable[Server]) -> None:
        self._by_digits: dict[str, OwnerClient] = {}
        for server in servers:
            self._by_digits = {**_connections(server), **self._by_digits}

    def of(self, owner: str) -> OwnerClient | None:
        """The client of ``<client id>:<number>``; ``None``: it is not known."""
        return self._by_digits.get(owner[:ID_DIGITS])


def _connections(server: Server) -> dict[str, OwnerClient]:
    [info] = server.ask([(b"INFO", b"clients")])
    if not isinstance(info, bytes) or connected(info) > MOST_CONNECTIONS:
        return {}
    [listed] = server.ask_gently([(b"CLIENT", b"LIST")])
    if not isinstance(listed, bytes):
        return {}  # this user has no right to it
    # The server lists its connections in an order that changes from one second to the next.
    lines = sorted(map(described, listed.splitlines()), key=_precedence)
    found: dict[str, OwnerClient] = {}
    for line in lines:
        client = client_of(line)
        digits = client.id_digits
        if digits is None:
            continue
        known = found.setdefault(digits, client)
        if _is_guarded(client):
            found[digits] = replace(known, library=client.library)
    return found


def _precedence(line: dict[str, str]) -> tuple[bool, int]:
    """First the connection that renews, which is the one with tracking, else the oldest."""
    number = line.get("id", "")
    return "t" not in line.get("flags", ""), int(number) if number.isdigit() else 0


def _is_guarded(client: OwnerClient) -> bool:
    """Whether a guard releases what it holds; only the connections for calls say so."""
    return (client.library or "").startswith(GUARDED)


def connected(info: bytes) -> int:
    """The number of connections in a reply to ``INFO clients``."""
    for line in info.splitlines():
        if line.startswith(b"connected_clients:"):
            return int(line.partition(b":")[2])
    return 0


def channels_like(deployment: Deployment, server: Server, pattern: bytes) -> list[bytes]:
    """The channels with subscribers on a server; empty if this user may not query it."""
    asked = [b"CHANNELS", b"SHARDCHANNELS"] if deployment.sharded else [b"CHANNELS"]
    replies = server.ask_gently([(b"PUBSUB", how, pattern) for how in asked])
    return [channel for reply in replies for channel in listed(reply)]


def owners_of(held: Held, clients: Clients, about: About) -> tuple[Owner, ...]:
    """The holds as they are shown; a permit's client is not known."""
    return tuple(_owner(held, hold, clients, about) for hold in held.holds)


def said_of(deployment: Deployment, locks: Iterable[Held]) -> About:
    """What their clients say of the owners of these locks."""
    owners = [(_asked(hold), held.name) for held in locks for hold in held.holds]
    return deployment.said(owners)


def _asked(hold: Hold) -> str:
    """The owner as its client knows it."""
    return shown(hold.taker or hold.owner)


def _owner(held: Held, hold: Hold, clients: Clients, about: About) -> Owner:
    owner = hold.owner.decode()
    if held.kind == "permit_semaphore" and not hold.taker:
        return Owner(owner, hold.count, hold.mode)
    asked = _asked(hold)
    said = about.get((asked, held.name))
    found = Owner(owner, hold.count, hold.mode, clients.of(asked), slot=hold.slot)
    if said is None:
        return found
    return replace(found, label=said.label, purpose=said.purpose, since=said.since)


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
        owners=owners_of(held, around.clients, around.about),
        ttl=held.ttl,
        waiters=held.queued or around.waiting.get(held.channel, 0),
        use=held.use,
    )
