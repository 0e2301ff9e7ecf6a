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
from tests.torture.breaking import (
    Mend,
    disturb,
    forget_scripts,
    kill,
    kill_connections,
    refuse_writes,
    stop,
)
from tests.torture.failovers import BehindAddress, Clustered, Sentinels
from tests.torture.schedule import NETWORK, Group, lasting
from tests.torture.steady import Encrypted, Replicas
from tests.torture.subjects import MAJORITY_OF


class Topology(Protocol):
    """Servers that run from `__enter__` to `__exit__`. Used by one thread."""

    groups: list[Group]
    """The faults that can happen to it."""
    replicas: int
    """How many each server has that may take its place. Every grant waits for all of them."""

    def __enter__(self) -> Topology: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def urls(self, worker: int) -> list[str]:
        """How the worker of that number reaches it; -1: without anything that is broken.

        The first is where everything is. Those behind it are of other servers, for red locks.
        """

    def begin(self, fault: Fault) -> Mend:
        """Break it; returns how it is mended."""

    def settle(self) -> None:
        """Wait until what was mended works again."""

    def primaries(self) -> list[Server]:
        """The servers that have the data now."""

    def channels(self) -> set[bytes]:
        """Where somebody listens."""


_KEEPS_ALL = {"appendonly": "yes", "appendfsync": "no"}
"""Written before the reply is sent, never synced: a server that is killed has lost nothing."""


class Standalone:
    """One server, and four for red locks; half of the workers reach the first through a proxy.

    At most the network of the first and one other server are broken at a time, so red locks keep a
    majority.
    """

    replicas = 0

    def __init__(self, kind: str, seed: int) -> None:
        self._server = Server(kind, _KEEPS_ALL)
        self._others = [Server(kind, _KEEPS_ALL) for _ in range(MAJORITY_OF - 1)]
        self._seed = seed
        which = range(len(self._others))
        self.groups: list[Group] = [
            NETWORK,
            {"refuse_writes": lasting(0.05, 0.5)},
            {
                "kill_connections": lasting(0, 0, "normal", "pubsub"),
                "forget_scripts": lasting(0, 0),
                "stop_server": lasting(0.01, 0.2),
                "restart_server": lasting(0, 0.2),
                "stop_other": lasting(0.01, 1.0, *which),
                "restart_other": lasting(0, 0.2, *which),
            },
        ]

    def __enter__(self) -> Standalone:
        for server in self.primaries():
            server.start()
        self._proxy = FaultProxy(self._server.port, self._seed).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._proxy.stop()
        for server in self.primaries():
            server.close()

    def urls(self, worker: int) -> list[str]:
        first = self._proxy.url if worker >= 0 and worker % 2 == 0 else self._server.url
        return [first, *(other.url for other in self._others)]

    def begin(self, fault: Fault) -> Mend:
        breaks: dict[str, Callable[..., Mend]] = {
            "kill_connections": lambda which: kill_connections([self._server], which),
            "forget_scripts": lambda: forget_scripts(self._server),
            "refuse_writes": lambda: refuse_writes(self._server),
            "stop_server": lambda: stop(self._server),
            "restart_server": lambda: kill(self._server),
            "stop_other": lambda which: stop(self._others[which]),
            "restart_other": lambda which: kill(self._others[which]),
        }
        if fault.name in breaks:
            return breaks[fault.name](*fault.arguments)
        return disturb([self._proxy], fault)

    def settle(self) -> None:
        """A server answers as soon as it runs."""

    def primaries(self) -> list[Server]:
        return [self._server, *self._others]

    def channels(self) -> set[bytes]:
        return set[bytes]().union(*(server.subscribed_channels() for server in self.primaries()))


TOPOLOGIES: dict[str, Callable[[str, int], Topology]] = {
    "standalone": Standalone,
    "replicas": Replicas,
    "tls": Encrypted,
    "sentinel": Sentinels,
    "managed": BehindAddress,
    "cluster": Clustered,
}
"""By name: made of a kind of server and a seed."""
