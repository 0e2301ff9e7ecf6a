"""Ways to break servers: each returns how that is mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.support.servers import Server

Mend = Callable[[], object]


def nothing() -> None:
    """Of what was a moment only."""


def kill_connections(servers: Iterable[Server], which: str) -> Mend:
    for server in servers:
        server.kill_connections(which)
    return nothing


def forget_scripts(server: Server) -> Mend:
    server.inspect.script_flush()
    return nothing


def stop(server: Server) -> Mend:
    server.pause()
    return server.resume


def kill(server: Server) -> Mend:
    server.stop()
    return server.start
