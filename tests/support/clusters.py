"""Real clusters for tests: three primaries and a replica of each, on loopback.

    with Cluster("redis") as cluster:
        holdfast.Client(cluster.url)
        cluster.primary_of("myLock").stop()     # a Server

A key's slot and its server are queried each time: tests move slots and make servers fail. Every
method may be called from any thread, but only from one at a time.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import redis
from redis.crc import key_slot

from tests.support.servers import Server, free_port
from tests.support.waiting import BOUND, eventually

PRIMARIES = 3
SLOTS = 16384
_ELECTION = 5.0
"""Seconds, more than twice what an election may take."""

_SETTINGS = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": "1000",
    "cluster-require-full-coverage": "no",
    "cluster-allow-replica-migration": "no",
    "cluster-replica-validity-factor": "0",
    "repl-diskless-sync-delay": "0",
}


def slot_of(name: str | bytes) -> int:
    """The slot of a key."""
    return int(key_slot(name if isinstance(name, bytes) else name.encode()))


def _part(index: int) -> range:
    """The slots that the primary of this index has at first."""
    edges = [SLOTS * i // PRIMARIES for i in range(PRIMARIES + 1)]
    return range(edges[index], edges[index + 1])


class Cluster:
    """Three primaries, by default with a replica each."""

    def __init__(
        self,
        kind: str,
        settings: Mapping[str, str] | None = None,
        *,
        replicas: bool = True,
        **options: Any,
    ) -> None:
        self.kind = kind
        self.password = options.get("password")
        count = PRIMARIES * 2 if replicas else PRIMARIES
        secrets = {"masterauth": self.password} if self.password else {}
        if options.get("tls"):
            secrets |= {"tls-replication": "yes", "tls-cluster": "yes"}
        self.servers = [
            Server(
                kind,
                {**_SETTINGS, "cluster-port": str(free_port()), **secrets, **(settings or {})},
                **options,
            )
            for _ in range(count)
        ]
        self._elected: dict[Server, float] = {}
        self._announced: dict[int, int] = {}

    # ---- its life

    def __enter__(self) -> Cluster:
        try:
            for server in self.servers:
                server.start()
            self._form()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def _form(self) -> None:
        first = self.servers[0]
        for index, server in enumerate(self.servers):
            server.inspect.execute_command("CLUSTER", "SET-CONFIG-EPOCH", index + 1)
            if index < PRIMARIES:
                part = _part(index)
                server.inspect.execute_command("CLUSTER", "ADDSLOTSRANGE", part[0], part[-1])
            bus = int(server.settings["cluster-port"])
            first.inspect.execute_command("CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        eventually(self._all_met, what="the servers know each other")
        for replica, primary in zip(self.servers[PRIMARIES:], self.servers, strict=False):
            replica.inspect.execute_command("CLUSTER", "REPLICATE", self.id_of(primary))
        self.settle()

    def _all_met(self) -> bool:
        return all(_known(server) == len(self.servers) for server in self.servers)

    def settle(self) -> None:
        """Wait until all servers that run agree on who has what, and replicas follow."""
        eventually(self._settled, what="the cluster is of one mind")

    def _settled(self) -> bool:
        running = [server for server in self.servers if server.running]
        views = {self._view(server) for server in running}
        return len(views) == 1 and all(self._is_ready(server) for server in running)

    def _view(self, server: Server) -> frozenset[tuple[int, int, int]]:
        return frozenset(_ranges(server))

    def _is_ready(self, server: Server) -> bool:
        info = server.inspect.execute_command("CLUSTER", "INFO")
        link = server.inspect.info("replication").get("master_link_status", "up")
        return b"cluster_state:ok" in info and link == "up"

    # ---- where it is

    @property
    def url(self) -> str:
        """Its URL, with two of its servers as seeds, without a password."""
        tls = "rediss" if self.servers[0].tls else "redis"
        return f"{tls}+cluster://" + ",".join(f"127.0.0.1:{s.port}" for s in self.servers[:2])

    @property
    def seeds(self) -> str:
        """Its URL with all of its servers."""
        tls = "rediss" if self.servers[0].tls else "redis"
        return f"{tls}+cluster://" + ",".join(f"127.0.0.1:{s.port}" for s in self.servers)

    # ---- who is what

    def id_of(self, server: Server) -> str:
        return str(server.inspect.execute_command("CLUSTER", "MYID").decode())

    def server_at(self, port: int) -> Server:
        """The server that listens at this port, or announces it."""
        return next(server for server in self.servers if port in self._ports_of(server))

    def _ports_of(self, server: Server) -> set[int]:
        return {server.port, self._announced.get(server.port, server.port)}

    def announce(self, ports: Sequence[int]) -> None:
        """Let each server name another port as its: of a proxy, to clients and to replicas."""
        for server, port in zip(self.servers, ports, strict=True):
            self._announced[server.port] = port
            server.settings["cluster-announce-port"] = str(port)
            server.inspect.config_set("cluster-announce-port", port)
        eventually(self._all_announced, what="the announced ports are known")

    def _all_announced(self) -> bool:
        named = {port for server in self.servers for _, _, port in _ranges(server)}
        return named <= set(self._announced.values())

    def primary_of(self, name: str | bytes) -> Server:
        """The server that has a key's slot, as most of those that run see it."""
        slot = slot_of(name)
        seen = [self._primary_port(s, slot) for s in self.servers if s.running]
        return self.server_at(max(set(seen), key=seen.count))

    def _primary_port(self, server: Server, slot: int) -> int:
        return next((port for first, last, port in _ranges(server) if first <= slot <= last), 0)

    def replica_of(self, primary: Server) -> Server:
        """A replica that follows this primary."""
        for server in self.servers:
            if server is primary or not server.running:
                continue
            role = server.inspect.execute_command("ROLE")
            if role[0] == b"slave" and self.server_at(role[2]) is primary:
                return server
        raise AssertionError(f"no replica follows {primary.port}")

    def other_primary(self, name: str | bytes) -> Server:
        """A primary that does not have the key's slot."""
        owner = self.primary_of(name)
        return next(
            server
            for server in self.servers
            if server.running
            and server is not owner
            and server.inspect.execute_command("ROLE")[0] == b"master"
        )

    # ---- changing it

    def begin_migration(self, name: str | bytes) -> tuple[Server, Server]:
        """Set the slot of a key migrating to another primary: (from, to)."""
        source, target = self.primary_of(name), self.other_primary(name)
        slot = slot_of(name)
        target.inspect.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        source.inspect.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        return source, target

    def migrate_keys(self, source: Server, target: Server, name: str | bytes) -> None:
        """Move the keys of a key's slot."""
        slot = slot_of(name)
        while keys := source.inspect.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100):
            self.migrate(source, target, keys)

    def migrate(self, source: Server, target: Server, keys: Iterable[str | bytes]) -> None:
        auth = ["AUTH", self.password] if self.password else []
        source.inspect.execute_command(
            "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "REPLACE", *auth, "KEYS", *keys
        )

    def end_migration(self, source: Server, target: Server, name: str | bytes) -> None:
        """The slot is the target's now."""
        slot, owner = slot_of(name), self.id_of(target)
        for server in (target, source, *self.servers):
            if server.running and server.inspect.execute_command("ROLE")[0] == b"master":
                server.inspect.execute_command("CLUSTER", "SETSLOT", slot, "NODE", owner)
        self.await_owner(target, name)

    def await_owner(self, target: Server, name: str | bytes) -> None:
        """Return when all servers say that it has the slot of a key."""
        slot = slot_of(name)
        eventually(
            lambda: (
                {self._primary_port(s, slot) for s in self._running()} <= self._ports_of(target)
            ),
            what="all name the slot's new owner",
        )

    def migrate_slot(self, name: str | bytes) -> tuple[Server, Server]:
        """Move the slot of a key, as redis-cli does: (from, to)."""
        source, target = self.begin_migration(name)
        self.migrate_keys(source, target, name)
        self.end_migration(source, target, name)
        return source, target

    def stop_replication(self, primary: Server) -> Server:
        """Let a replica of it hear no more of its primary; returns the replica."""
        replica = self.replica_of(primary)
        replica.inspect.config_set("masterauth", "wrong")
        primary.inspect.execute_command("CLIENT", "KILL", "TYPE", "replica")
        info = replica.inspect.info
        eventually(lambda: info("replication")["master_link_status"] == "down")
        return replica

    def fit_to_be_elected(self, replica: Server) -> None:
        """Return when the votes of its last election do not count for its next one.

        Redis 7.0 counts them once more for twice the time an election has at most: the replica
        takes itself for elected, and no other server does.
        """
        eventually(lambda: time.monotonic() > self._elected.get(replica, 0) + _ELECTION)

    def fail_over(self, replica: Server, *how: str) -> None:
        """Let a replica take its primary's place, by `CLUSTER FAILOVER`; returns when it has."""

        def promoted() -> bool:
            # On a busy machine the primary's pause may be over before all is done.
            replica.inspect.execute_command("CLUSTER", "FAILOVER", *how)
            with contextlib.suppress(AssertionError):
                self.await_promotion(replica, within=6.0)
            return replica.inspect.execute_command("ROLE")[0] == b"master"

        eventually(promoted, what="the replica is primary")
        self._elected[replica] = time.monotonic()

    def exchange(self, replica: Server, old: Server) -> None:
        """Promote a replica, and let it and its primary announce each other's ports.

        It is for the caller to make these lead to the two.
        """
        old.inspect.config_set("cluster-replica-no-failover", "yes")  # nor takes it back
        self.fail_over(replica, "FORCE")
        ports = self._announced[old.port], self._announced[replica.port]
        for server, port in zip((replica, old), ports, strict=True):
            self._announced[server.port] = port
            server.settings["cluster-announce-port"] = str(port)
            server.inspect.config_set("cluster-announce-port", port)
        eventually(lambda: self._all_name(ports[0], old), what="all know the new addresses")

    def _all_name(self, port: int, replica: Server) -> bool:
        """All name this port for a primary, also the one that was the primary there."""
        slots = [first for first, _, named in _ranges(replica) if named == port]
        running = self._running()
        return bool(slots) and all(self._primary_port(s, slots[0]) == port for s in running)

    def await_promotion(self, replica: Server, within: float = BOUND) -> None:
        def promoted() -> bool:
            role = replica.inspect.execute_command("ROLE")[0]
            return bool(role == b"master" and self._own_slots(replica))

        eventually(promoted, within=within, what="the replica is primary")

    def _own_slots(self, server: Server) -> bool:
        return any(self.server_at(port) is server for _, _, port in _ranges(server))

    def heal(self) -> None:
        """Start what was stopped, end what moves, and wait until all is well; keys are gone."""
        for server in self.servers:
            if not server.running:
                server.start()
            server.inspect.config_set("masterauth", self.password or "")
            _end_moves(server)
        self.settle()
        self.flush()

    # ---- looking inside

    def flush(self) -> None:
        for server in self.servers:
            try:
                server.inspect.flushall()
            except redis.ReadOnlyError:
                continue

    def keys(self) -> set[bytes]:
        """The keys of all primaries."""
        primaries = [
            s for s in self._running() if s.inspect.execute_command("ROLE")[0] == b"master"
        ]
        return set[bytes]().union(*(server.keys() for server in primaries))

    def subscribers(self, channel: str | bytes) -> int:
        """How many connections are subscribed to a channel, either way, to any server."""
        return sum(self.sharded(channel, s) + s.subscribers(channel) for s in self._running())

    @staticmethod
    def sharded(channel: str | bytes, server: Server) -> int:
        """How many are subscribed with SSUBSCRIBE at one server."""
        reply = server.inspect.execute_command("PUBSUB", "SHARDNUMSUB", channel)
        return int(reply[1])

    def listeners(self, channel: str | bytes) -> int:
        """The same, of all channels whose names begin so."""
        prefix = channel if isinstance(channel, bytes) else channel.encode()
        found = 0
        for server in self._running():
            sharded = server.inspect.execute_command("PUBSUB", "SHARDCHANNELS")
            named = {name for name in sharded if name.startswith(prefix)}
            classic = {n for n in server.subscribed_channels() if n.startswith(prefix)}
            found += sum(self.sharded(name, server) for name in named)
            found += sum(server.subscribers(name) for name in classic)
        return found

    def calls(self, command: str) -> int:
        """The calls of a command so far, on all servers ("cluster|slots", "evalsha")."""
        stats = [server.inspect.info("commandstats") for server in self._running()]
        return sum(each.get(f"cmdstat_{command}", {}).get("calls", 0) for each in stats)

    def holders(self, name: str | bytes) -> dict[bytes, int]:
        """Who holds a lock, by the server that has it, and how often."""
        held = self.primary_of(name).inspect.hgetall(name)
        return {owner: int(count) for owner, count in held.items()}

    def _running(self) -> list[Server]:
        return [server for server in self.servers if server.running]


class LoneCluster(Server):
    """A cluster of a single server, for tests that look into the server they use.

    Its clients use classic channels, on which those tests listen.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, **options: Any) -> None:
        port = {"cluster-port": str(free_port())}
        super().__init__("redis", {**_SETTINGS, **port, **(settings or {})}, **options)

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.port}?pubsub=classic"

    def start(self) -> None:
        super().start()
        if b"cluster_slots_assigned:0" in self.inspect.execute_command("CLUSTER", "INFO"):
            self.inspect.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
        info = self.inspect.execute_command
        eventually(lambda: b"cluster_state:ok" in info("CLUSTER", "INFO"), what="it has all slots")


def _known(server: Server) -> int:
    """How many servers this one knows of, itself included."""
    return sum("handshake" not in line for line in _nodes(server))


def _nodes(server: Server) -> list[str]:
    nodes: bytes = server.inspect.execute_command("CLUSTER", "NODES")
    return nodes.decode().splitlines()


def _end_moves(server: Server) -> None:
    """No slot is on its way from it or to it any more; it has those that it had."""
    own = next(line for line in _nodes(server) if "myself" in line)
    for slot in re.findall(r"\[(\d+)-[<>]-", own):
        server.inspect.execute_command("CLUSTER", "SETSLOT", slot, "STABLE")


def _ranges(server: Server) -> list[tuple[int, int, int]]:
    """Whose the slots are, as this server sees it: first, last, the primary's port."""
    slots = server.inspect.execute_command("CLUSTER", "SLOTS")
    return [(entry[0], entry[1], entry[2][1]) for entry in slots]
