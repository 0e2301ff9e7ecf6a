"""A bound for the connections of the web server.

uvicorn keeps a connection that never sends a request. Opening many of them would use up the file
descriptors of the process, so that the operator's own page could not connect.
"""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

__all__ = ["MOST", "bounded_protocol"]

MOST = 512
"""Connections at most; fewer where the process may open fewer files."""


class _Room:
    """The connections that are open."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.all: set[_BoundedProtocol] = set()
        self.idle: dict[_BoundedProtocol, None] = {}
        """Those without a request in progress, the oldest first."""

    def enter(self, connection: _BoundedProtocol) -> None:
        self.all.add(connection)
        self.idle[connection] = None
        if len(self.all) > self.most:
            next(iter(self.idle)).drop()

    def leave(self, connection: _BoundedProtocol) -> None:
        self.all.discard(connection)
        self.idle.pop(connection, None)


class _BoundedProtocol(H11Protocol):
    room: _Room

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.room.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self.room.idle.pop(self, None)

    def on_response_complete(self) -> None:
        if self in self.room.all:
            self.room.idle[self] = None
        super().on_response_complete()

    def drop(self) -> None:
        self.room.leave(self)
        self.transport.abort()


def bounded_protocol(most: int | None = None) -> type[asyncio.Protocol]:
    """A protocol class for uvicorn's ``http``: at most `most` connections of it are open.

    A connection beyond that takes the place of the oldest that is not answering a request; where
    all are, the new one is closed. For one event loop.
    """
    room = _Room(_default_limit() if most is None else most)
    return type("BoundedProtocol", (_BoundedProtocol,), {"room": room})


def _default_limit() -> int:
    """Half of the files that the process may open, at most `MOST`."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else min(MOST, files // 2)
