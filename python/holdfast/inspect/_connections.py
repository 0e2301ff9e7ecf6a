"""The clients behind owners, from the servers' lists of connections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.servers import ID_DIGITS, OwnerClient, client_of, described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.servers import Said, Server

__all__ = ["MOST_CONNECTIONS", "Clients", "connected"]

#: The list of a server with more connections is not read: making it takes long.
MOST_CONNECTIONS: Final = 5000
#: How the library of a client with a guard begins.
GUARDED: Final = "holdfast(guard)"
#: The flags of connections that hold nothing: of a replica, a primary, one that monitors.
OTHERS: Final = frozenset("SMO")


class Clients:
    """Finds the client of an owner by the names of connections."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._by_digits: dict[str, OwnerClient] = {}
        #: Those that do not name their client: of Redisson, or of holdfast without a name.
        self.unnamed: list[OwnerClient] = []
        lists = [_connections(server) for server in servers]
        self._complete = bool(lists) and all(one is not None and one.complete for one in lists)
        for one in lists:
            if one is not None:
                self._by_digits = {**one.named, **self._by_digits}
                self.unnamed += one.unnamed

    def of(self, owner: str) -> OwnerClient | None:
        """The client of ``<client id>:<number>``; ``None``: it is not known."""
        return self._by_digits.get(owner[:ID_DIGITS])

    def connection(self, owner: str, said: Said | None) -> str:
        """Whether its client has a connection, as ``Owner.connection``."""
        if owner[:ID_DIGITS] in self._by_digits:
            return "connected"
        ours = said is not None and said.ours
        theirs = any(not ours or _may_be_ours(one) for one in self.unnamed)
        return "not connected" if self._complete and not theirs else "unknown"


class _Connections(NamedTuple):
    """What a server's list of connections says."""

    named: dict[str, OwnerClient]
    unnamed: list[OwnerClient]
    #: Whether the connection that has asked is in it by its name: behind a proxy it is not.
    complete: bool


def _connections(server: Server) -> _Connections | None:
    """``None``: there are too many, or this user has no right to the list."""
    [info] = server.ask([(b"INFO", b"clients")])
    if not isinstance(info, bytes) or connected(info) > MOST_CONNECTIONS:
        return None
    listed, number = server.ask_gently([(b"CLIENT", b"LIST"), (b"CLIENT", b"ID")])
    if not isinstance(listed, bytes):
        return None
    # The server lists its connections in an order that changes from one second to the next.
    lines = sorted(map(described, listed.splitlines()), key=_precedence)
    found = _Connections({}, [], complete=any(_is_own(line, number) for line in lines))
    for line in lines:
        client = client_of(line)
        digits = client.id_digits
        if digits is not None:
            known = found.named.setdefault(digits, client)
            if _is_guarded(client):
                found.named[digits] = replace(known, library=client.library)
        elif _may_hold(line, client):
            found.unnamed.append(client)
    return found


def _is_own(line: dict[str, str], number: Any) -> bool:
    return line.get("id") == str(number) and client_of(line).id_digits is not None


def _precedence(line: dict[str, str]) -> tuple[bool, int]:
    """First the connection that renews, which is the one with tracking, else the oldest."""
    number = line.get("id", "")
    return "t" not in line.get("flags", ""), int(number) if number.isdigit() else 0


def _is_guarded(client: OwnerClient) -> bool:
    """Whether a guard releases what it holds; only the connections for calls say so."""
    return (client.library or "").startswith(GUARDED)


def _may_hold(line: dict[str, str], client: OwnerClient) -> bool:
    """Whether it may be an owner's: not of a sentinel, a replica, or of another library."""
    if client.name.startswith("sentinel-") or OTHERS & set(line.get("flags", "")):
        return False
    library = (client.library or "").casefold()
    return not library or library.startswith(("holdfast", "redisson"))


def _may_be_ours(client: OwnerClient) -> bool:
    """Whether it may be one of holdfast to which the server has refused a name."""
    return not client.name and (client.library or "holdfast").startswith("holdfast")


def connected(info: bytes) -> int:
    """The number of connections in a reply to ``INFO clients``."""
    for line in info.splitlines():
        if line.startswith(b"connected_clients:"):
            return int(line.partition(b":")[2])
    return 0
