"""Where a run takes place: the servers, how workers reach them, and what can be broken.

A further topology is a class with these members and a row in `TOPOLOGIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from tests.support.fault_schedule import Fault
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.torture.schedule import NETWORK, Group, lasting


class Topology(Protocol):
    """Servers that run from `__enter__` to `__exit__`. Used by one thread."""

    groups: list[Group]
    """The faults that can happen to it."""

    def __enter__(self) -> Topology: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def url(self, worker: int) -> str:
        """How the worker of that number reaches it; -1: without anything that is broken."""

    def begin(self, fault: Fault) -> None:
        """Break it."""

    def end(self, fault: Fault) -> None:
        """Mend it. What was a moment only is over already."""

    def primaries(self) -> list[Server]:
        """The servers that have the data now."""


class Standalone:
    """One server that writes all it does to disk; half of the workers reach it through a proxy."""

    def __init__(self, kind: str, seed: int) -> None:
        # Written before the reply is sent, never synced: a killed server has lost nothing.
        self._server = Server(kind, {"appendonly": "yes", "appendfsync": "no"})
        self._seed = seed
        self.groups: list[Group] = [
            NETWORK,
            {
                "kill_connections": lasting(0, 0, "normal", "pubsub"),
                "forget_scripts": lasting(0, 0),
                "stop_server": lasting(0.01, 0.2),
                "restart_server": lasting(0, 0.2),
            },
        ]

    def __enter__(self) -> Standalone:
        self._server.start()
        self._proxy = FaultProxy(self._server.port, self._seed).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._proxy.stop()
        self._server.close()

    def url(self, worker: int) -> str:
        return self._proxy.url if worker >= 0 and worker % 2 == 0 else self._server.url

    def begin(self, fault: Fault) -> None:
        actions: dict[str, Callable[[], object]] = {
            "kill_connections": lambda: self._server.kill_connections(*fault.arguments),
            "forget_scripts": self._server.inspect.script_flush,
            "stop_server": self._server.pause,
            "restart_server": self._server.stop,
        }
        if fault.name in actions:
            actions[fault.name]()
        else:
            getattr(self._proxy, fault.name)(*fault.arguments)

    def end(self, fault: Fault) -> None:
        if fault.name == "stop_server":
            self._server.resume()
        elif fault.name == "restart_server":
            self._server.start()
        self._proxy.heal()

    def primaries(self) -> list[Server]:
        return [self._server]


TOPOLOGIES: dict[str, Callable[[str, int], Topology]] = {"standalone": Standalone}
"""By name: made of a kind of server and a seed."""
