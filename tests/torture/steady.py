"""Topologies in which no server takes another one's place: replicas that confirm, TLS."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.certificates import make_certificates
from tests.support.fault_schedule import Fault
from tests.support.proxy import FaultProxy
from tests.support.replicas import Replicated
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.torture.breaking import (
    Mend,
    disturb,
    forget_scripts,
    kill_connections,
    refuse_writes,
    stop,
)
from tests.torture.schedule import NETWORK, Group, lasting

_BLIND = ("cut", "half_close", "refuse", "stall", "delay", "slices")
"""The faults of the network that do not depend on what is sent, which TLS hides."""


class Replicas:
    """A primary with two replicas, for both of which every grant waits."""

    replicas = 2

    def __init__(self, kind: str, seed: int) -> None:
        self._group = Replicated(kind, self.replicas)
        self._seed = seed
        self.groups: list[Group] = [
            NETWORK,
            {
                "kill_connections": lasting(0, 0, "normal", "pubsub", "replica"),
                "forget_scripts": lasting(0, 0),
                "stop_primary": lasting(0.01, 0.5),
                "stop_replica": lasting(0.01, 3.0, *range(self.replicas)),
            },
        ]

    def __enter__(self) -> Replicas:
        self._group.__enter__()
        self._proxy = FaultProxy(self._group.primary.port, self._seed).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.stop()
        self._group.__exit__()

    def urls(self, worker: int) -> list[str]:
        direct = worker < 0 or worker % 2
        return [self._group.primary.url if direct else self._proxy.url]

    def begin(self, fault: Fault) -> Mend:
        primary = self._group.primary
        breaks: dict[str, Callable[..., Mend]] = {
            "kill_connections": lambda which: kill_connections([primary], which),
            "forget_scripts": lambda: forget_scripts(primary),
            "stop_primary": lambda: stop(primary),
            "stop_replica": lambda which: stop(self._group.replicas[which]),
        }
        if fault.name in breaks:
            return breaks[fault.name](*fault.arguments)
        return disturb([self._proxy], fault)

    def settle(self) -> None:
        eventually(self._group.in_step, within=60.0, what="the replicas are in step")

    def primaries(self) -> list[Server]:
        return [self._group.primary]

    def channels(self) -> set[bytes]:
        return self._group.primary.subscribed_channels()


class Encrypted:
    """One server that speaks TLS only; half of the workers reach it through a proxy."""

    replicas = 0

    def __init__(self, kind: str, seed: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._tls = make_certificates(Path(self._folder.name) / "tls")
        self._server = Server(kind, tls=self._tls)
        self._seed = seed
        self.groups: list[Group] = [
            {name: NETWORK[name] for name in _BLIND},
            {"refuse_writes": lasting(0.05, 0.5)},
            {
                "kill_connections": lasting(0, 0, "normal", "pubsub"),
                "forget_scripts": lasting(0, 0),
                "stop_server": lasting(0.01, 0.5),
            },
        ]

    def __enter__(self) -> Encrypted:
        self._server.start()
        self._proxy = FaultProxy(self._server.port, self._seed).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.stop()
        self._server.close()
        self._folder.cleanup()

    def urls(self, worker: int) -> list[str]:
        port = self._server.port if worker < 0 or worker % 2 else self._proxy.port
        return [f"rediss://127.0.0.1:{port}/0?tls_ca={self._tls / 'ca.crt'}"]

    def begin(self, fault: Fault) -> Mend:
        breaks: dict[str, Callable[..., Mend]] = {
            "refuse_writes": lambda: refuse_writes(self._server),
            "kill_connections": lambda which: kill_connections(self.primaries(), which),
            "forget_scripts": lambda: forget_scripts(self._server),
            "stop_server": lambda: stop(self._server),
        }
        if fault.name in breaks:
            return breaks[fault.name](*fault.arguments)
        return disturb([self._proxy], fault)

    def settle(self) -> None:
        """A server answers as soon as it runs."""

    def primaries(self) -> list[Server]:
        return [self._server]

    def channels(self) -> set[bytes]:
        return self._server.subscribed_channels()
