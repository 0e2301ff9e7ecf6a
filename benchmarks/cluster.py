"""A Redis Cluster of the run's own: its primaries, and a replica of the first on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import permutations
from types import TracebackType

from benchmarks.server import Server, free_port

SLOTS = 16384
NODE_TIMEOUT_MS = 1000
WAIT = 30.0


def wait_until(true: Callable[[], bool], what: str, seconds: float = WAIT) -> int:
    """The moment, in ns of CLOCK_MONOTONIC, at which it was first seen to be true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {seconds:g} s")
        time.sleep(0.005)
    return time.monotonic_ns()


class Cluster:
    """A context manager; ``nodes`` are the primaries, ``replica`` is the first one's."""

    def __init__(self, program: str, *, primaries: int = 3, replica: bool = False) -> None:
        self.program = program
        self._primaries = primaries
        self._replicated = replica

    def __enter__(self) -> Cluster:
        with ExitStack() as stack:
            count = self._primaries + self._replicated
            started = [stack.enter_context(self._node()) for _ in range(count)]
            self.nodes, self.replica = started[: self._primaries], started[-1]
            self._form(started)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def ports(self) -> list[int]:
        return [node.port for node in self.nodes]

    def name_on_first(self) -> str:
        """The name of a lock for which the first primary answers."""
        for number in range(SLOTS):
            name = f"bench:{number}"
            if int(str(self.nodes[0].connection.call("CLUSTER", "KEYSLOT", name))) < self._first(1):
                return name
        raise AssertionError("a third of all names are the first primary's")

    def replica_leads(self) -> bool:
        """The replica has taken its primary's place and answers."""
        role = self.replica.connection.call("ROLE")
        return isinstance(role, list) and role[0] == "master" and self._agrees(self.replica)

    def _node(self) -> Server:
        return Server(
            self.program,
            cluster_enabled="yes",
            cluster_port=free_port(),
            cluster_node_timeout=NODE_TIMEOUT_MS,
            repl_diskless_sync_delay=0,
        )

    def _form(self, started: list[Server]) -> None:
        for number, node in enumerate(self.nodes):
            slots = (self._first(number), self._first(number + 1) - 1)
            node.connection.call("CLUSTER", "ADDSLOTSRANGE", *slots)
        for node, other in permutations(started, 2):
            bus = str(other.options["cluster_port"])
            node.connection.call("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
        wait_until(lambda: all(map(self._agrees, started)), "cluster")
        if self._replicated:
            self._replicate()

    def _replicate(self) -> None:
        connection = self.replica.connection
        connection.call(
            "CLUSTER", "REPLICATE", str(self.nodes[0].connection.call("CLUSTER", "MYID"))
        )
        up = ("master_link_status", "up")
        wait_until(lambda: up in self.replica.info("replication").items(), "replica")
        # Its primary tells the others of it, who vote.
        wait_until(lambda: all(map(self._knows_replica, self.nodes)), "known replica")

    def _first(self, node: int) -> int:
        """The first slot of a primary."""
        return -(-SLOTS * node // self._primaries)

    def _agrees(self, node: Server) -> bool:
        text = str(node.connection.call("CLUSTER", "INFO"))
        facts = dict(line.split(":", 1) for line in text.split() if ":" in line)
        count = self._primaries + self._replicated
        return facts["cluster_state"] == "ok" and facts["cluster_known_nodes"] == str(count)

    @staticmethod
    def _knows_replica(node: Server) -> bool:
        return " slave " in str(node.connection.call("CLUSTER", "NODES")).replace(",", " ")
