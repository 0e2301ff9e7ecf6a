"""Topologies in which a server's replica takes its place: under Sentinel, managed, in a cluster.

Replication is asynchronous, so a failover may lose a grant that was not waited for. All grants wait
for all replicas here; no renewal and no release does. `subjects.py` and `worker.py` draw the
consequences for what can be judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.clusters import Cluster
from tests.support.fault_schedule import Fault
from tests.support.managed import Managed
from tests.support.proxy import FaultProxy
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.torture.breaking import (
    Mend,
    disturb,
    fill_memory,
    kill,
    kill_connections,
    nothing,
    stop,
)
from tests.torture.schedule import NETWORK, Group, lasting

_BOUND = 60.0
_CONNECTIONS = ("normal", "pubsub")
_STANDING = ("lock", "fair_lock", "fenced_lock", "spin_lock", "read_write_lock", "permit_semaphore")
"""Names that are always in use: of their slots something happens."""


def _linked(replication: Any) -> bool:
    """A server, by what it says of replication, hears its primary."""
    return bool(replication.get("master_link_status") == "up")


class Sentinels:
    """A primary with two replicas, and three sentinels."""

    replicas = 2

    def __init__(self, kind: str, seed: int) -> None:
        self._service = Service(kind, replicas=self.replicas)
        self._proxies: list[FaultProxy] = []
        self._seed = seed
        self.groups: list[Group] = [
            NETWORK,
            {"kill_primary": lasting(2.0, 4.0), "fail_over": lasting(0.5, 1.5)},
            {
                "kill_connections": lasting(0, 0, *_CONNECTIONS),
                "stop_primary": lasting(0.01, 0.5),
                "stop_replica": lasting(0.01, 0.5),
                "restart_sentinel": lasting(0, 1.0),
            },
        ]

    def __enter__(self) -> Sentinels:
        self._service.start()
        ports = [sentinel.port for sentinel in self._service.sentinels]
        self._proxies = [FaultProxy(port, self._seed).start() for port in ports]
        return self

    def __exit__(self, *_: object) -> None:
        for proxy in self._proxies:
            proxy.stop()
        self._service.close()

    def urls(self, worker: int) -> list[str]:
        """Half of the workers reach the sentinels through proxies."""
        url = self._service.url
        if worker >= 0 and worker % 2 == 0:
            for proxy, sentinel in zip(self._proxies, self._service.sentinels, strict=True):
                url = url.replace(f":{sentinel.port}", f":{proxy.port}")
        return [url]

    def begin(self, fault: Fault) -> Mend:
        breaks: dict[str, Callable[[], Mend]] = {
            "kill_primary": self._kill_primary,
            "fail_over": self._fail_over,
            "kill_connections": lambda: kill_connections(self.primaries(), *fault.arguments),
            "stop_primary": lambda: stop(self._service.primary),
            "stop_replica": lambda: stop(self._service.replicas[0]),
            "restart_sentinel": lambda: kill(self._service.sentinels[0]),
        }
        return breaks[fault.name]() if fault.name in breaks else disturb(self._proxies, fault)

    def settle(self) -> None:
        eventually(self._in_line, within=_BOUND, what="all follow one primary")

    def primaries(self) -> list[Server]:
        return [self._service.primary]

    def channels(self) -> set[bytes]:
        return self._service.primary.subscribed_channels() - {b"__sentinel__:hello"}

    def _kill_primary(self) -> Mend:
        killed = self._service.primary
        killed.stop()

        def mend() -> None:
            self._service.new_primary(killed)
            killed.start()

        return mend

    def _fail_over(self) -> Mend:
        self._service.fail_over()
        return nothing

    def _in_line(self) -> bool:
        """The replicas follow the primary. The sentinels, who see to it, take 10 s and more."""
        primary, others = self._service.primary, self._service.replicas
        for server in others:
            if server.inspect.info("replication").get("master_port") != primary.port:
                server.inspect.replicaof("127.0.0.1", primary.port)
        found = [server.inspect.info("replication") for server in others]
        settled = {sentinel.settled_on() for sentinel in self._service.sentinels}
        return settled == {primary.port} and all(map(_linked, found))


class BehindAddress:
    """A primary with a replica, behind two addresses that stay; workers know these only.

    Connections survive each swap: those that are left lead to a server that refuses writes.
    """

    replicas = 1

    def __init__(self, kind: str, seed: int) -> None:
        self._servers = Managed(kind)
        self._seed = seed
        self.groups: list[Group] = [
            NETWORK,
            {"swap": lasting(0, 1.5), "swap_in_step": lasting(0, 0)},
            {"fill_memory": lasting(0.05, 0.5)},
            {
                "kill_connections": lasting(0, 0, *_CONNECTIONS),
                "stop_primary": lasting(0.01, 0.5),
                "stop_replica": lasting(0.01, 0.5),
            },
        ]

    def __enter__(self) -> BehindAddress:
        self._servers.__enter__()
        self._broken = FaultProxy(self._servers.primary.port, self._seed).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._broken.stop()
        self._servers.__exit__()

    def urls(self, worker: int) -> list[str]:
        """Half of the workers reach it by the address whose network is broken."""
        return [self._broken.url if worker >= 0 and worker % 2 == 0 else self._servers.url]

    def begin(self, fault: Fault) -> Mend:
        breaks: dict[str, Callable[..., Mend]] = {
            "swap": self._swap,
            "swap_in_step": self._swap_in_step,
            "fill_memory": lambda: fill_memory(self._servers.primary),
            "kill_connections": lambda which: kill_connections(self.primaries(), which),
            "stop_primary": lambda: stop(self._servers.primary),
            "stop_replica": lambda: stop(self._servers.replica),
        }
        if fault.name in breaks:
            return breaks[fault.name](*fault.arguments)
        return disturb([self._broken], fault)

    def settle(self) -> None:
        eventually(self._servers.in_step, within=_BOUND, what="the replica is in step")

    def primaries(self) -> list[Server]:
        return [self._servers.primary]

    def channels(self) -> set[bytes]:
        return self._servers.primary.subscribed_channels()

    def _swap(self) -> Mend:
        """The addresses lead to the old primary for as long as the fault lasts."""
        self._servers.promote()
        return self._lead

    def _swap_in_step(self) -> Mend:
        self._servers.replicated()
        self._servers.promote()
        self._lead()
        return nothing

    def _lead(self) -> None:
        for address in (self._servers.proxy, self._broken):
            address.lead_to(self._servers.primary.port)


class Clustered:
    """Three primaries with a replica each. Slots are moved to and fro."""

    replicas = 1

    def __init__(self, kind: str, seed: int) -> None:
        self._cluster = Cluster(kind)
        self._proxies: list[FaultProxy] = []
        self._seed = seed
        self.groups: list[Group] = [
            NETWORK,
            {
                "kill_primary": lasting(2.0, 4.0, *_STANDING),
                "fail_over": lasting(0.1, 0.5, *_STANDING),
                "take_over": lasting(0.1, 0.5, *_STANDING),
                "move_slot": lasting(0, 0.5, *_STANDING),
            },
            {
                "kill_connections": lasting(0, 0, *_CONNECTIONS),
                "stop_primary": lasting(0.01, 0.5, *_STANDING),
            },
        ]

    def __enter__(self) -> Clustered:
        self._cluster.__enter__()
        self._proxies = [
            FaultProxy(server.port, self._seed).start() for server in self._cluster.servers
        ]
        self._cluster.announce([proxy.port for proxy in self._proxies])
        return self

    def __exit__(self, *_: object) -> None:
        for proxy in self._proxies:
            proxy.stop()
        self._cluster.close()

    def urls(self, _worker: int) -> list[str]:
        return [self._cluster.seeds]

    def begin(self, fault: Fault) -> Mend:
        breaks: dict[str, Callable[..., Mend]] = {
            "kill_primary": self._kill_primary,
            "fail_over": self._fail_over,
            "take_over": self._take_over,
            "move_slot": self._move_slot,
            "kill_connections": lambda which: kill_connections(self.primaries(), which),
            "stop_primary": lambda name: stop(self._cluster.primary_of(name)),
        }
        if fault.name in breaks:
            return breaks[fault.name](*fault.arguments)
        return disturb(self._proxies, fault)

    def settle(self) -> None:
        self._cluster.settle()

    def primaries(self) -> list[Server]:
        servers = self._cluster.servers
        return [s for s in servers if s.inspect.execute_command("ROLE")[0] == b"master"]

    def channels(self) -> set[bytes]:
        found = set[bytes]()
        for server in self._cluster.servers:
            found |= server.subscribed_channels()
            found |= set(server.inspect.execute_command("PUBSUB", "SHARDCHANNELS"))
        return found

    def _kill_primary(self, name: str) -> Mend:
        killed = self._cluster.primary_of(name)
        replica = self._cluster.replica_of(killed)
        killed.stop()

        def mend() -> None:
            self._cluster.await_promotion(replica)
            killed.start()

        return mend

    def _fail_over(self, name: str) -> Mend:
        self._cluster.fail_over(self._cluster.replica_of(self._cluster.primary_of(name)))
        return nothing

    def _take_over(self, name: str) -> Mend:
        """A replica that hears nothing takes its primary's place: that time is forgotten."""
        replica = self._cluster.stop_replication(self._cluster.primary_of(name))

        def mend() -> None:
            self._cluster.fail_over(replica, "TAKEOVER")
            replica.inspect.config_set("masterauth", "")

        return mend

    def _move_slot(self, name: str) -> Mend:
        source, target = self._cluster.begin_migration(name)

        def mend() -> None:
            self._cluster.migrate_keys(source, target, name)
            self._cluster.end_migration(source, target, name)

        return mend
