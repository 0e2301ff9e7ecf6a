"""A primary and a replica behind one address, as managed servers are.

    with Managed(kind) as managed:
        client = holdfast.Client(managed.url)
        managed.swap()          # the address leads to the promoted replica, all connections stay

The address is a FaultProxy. A swap is what such a service does when it fails over: the replica is
promoted, the old primary becomes its replica and goes on answering on the connections it has, and
only new connections reach the new primary.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from tests.support.proxy import FaultProxy
from tests.support.replicas import Replicated
from tests.support.servers import Server
from tests.support.waiting import eventually


class Managed:
    """Two servers of one kind, of which the address leads to the primary."""

    def __init__(self, kind: str, settings: Mapping[str, str] | None = None) -> None:
        self._group = Replicated(kind, 1, settings)
        self._stack = ExitStack()

    def __enter__(self) -> Managed:
        self._stack.enter_context(self._group)
        self.primary: Server = self._group.primary
        self.replica: Server = self._group.replicas[0]
        self.proxy = self._stack.enter_context(FaultProxy(self.primary.port))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return self.proxy.url

    def swap(self) -> None:
        """The replica has all that the primary has, and takes its place."""
        self.replicated()
        self.promote()
        self.proxy.lead_to(self.primary.port)

    def promote(self) -> None:
        """The same, but the address leads to the old primary still."""
        old, new = self.primary, self.replica
        new.inspect.replicaof("NO", "ONE")
        old.inspect.replicaof("127.0.0.1", new.port)
        self.primary, self.replica = new, old

    def replicated(self) -> None:
        """Wait until the replica has all that the primary has."""
        eventually(self.in_step, what="the replica is in step")

    def in_step(self) -> bool:
        self.primary.inspect.set("in-step", 1)
        acknowledged = int(self.primary.inspect.wait(1, 200))
        self.primary.inspect.delete("in-step")
        return acknowledged == 1 and int(self.primary.inspect.wait(1, 200)) == 1

    def scripts_refused(self) -> int:
        """How many commands the replica has refused with READONLY."""
        stats = self.replica.inspect.info("errorstats")
        return int(stats.get("errorstat_READONLY", {}).get("count", 0))
