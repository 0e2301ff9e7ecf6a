"""Ways to break servers: each returns how that is mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tests.support.fault_schedule import Fault
from tests.support.proxy import FaultProxy
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


def refuse_writes(server: Server) -> Mend:
    """It answers NOREPLICAS to what writes."""
    server.inspect.config_set("min-replicas-to-write", 9)
    return lambda: server.inspect.config_set("min-replicas-to-write", 0)


def fill_memory(server: Server) -> Mend:
    """It answers OOM to what needs memory."""
    server.inspect.config_set("maxmemory", 1)
    return lambda: server.inspect.config_set("maxmemory", 0)


def stop(server: Server) -> Mend:
    server.pause()
    return server.resume


def kill(server: Server) -> Mend:
    server.stop()
    return server.start


def disturb(proxies: Sequence[FaultProxy], fault: Fault) -> Mend:
    """A fault of the network, in all of the proxies."""
    for proxy in proxies:
        getattr(proxy, fault.name)(*fault.arguments)

    def heal() -> None:
        for proxy in proxies:
            proxy.heal()

    return heal
