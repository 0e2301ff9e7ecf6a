"""A primary with replicas that can be stopped for a while.

with Replicated(kind, 2) as group:
    group.replicas[0].pause()           # it acknowledges nothing
    group.primary.url
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.support.servers import Server
from tests.support.waiting import eventually


class Replicated:
    """One primary and `count` replicas of it, all on free ports."""

    def __init__(self, kind: str, count: int, settings: Mapping[str, str] | None = None) -> None:
        # A replica that was stopped takes up its stream again instead of all data; the primary
        # does not wait for more replicas before it sends them.
        given = {"repl-diskless-sync-delay": "0", "repl-timeout": "600", **(settings or {})}
        self.primary = Server(kind, given)
        self.replicas = [Server(kind, given) for _ in range(count)]
        self._stack = ExitStack()

    def __enter__(self) -> Replicated:
        self._stack.enter_context(self.primary)
        for replica in self.replicas:
            self._stack.enter_context(replica)
            replica.inspect.replicaof("127.0.0.1", self.primary.port)
        eventually(self.in_step, what="the replicas are in step")
        return self

    def __exit__(self, *error: object) -> None:
        for replica in self.replicas:
            replica.resume()
        self._stack.close()

    def in_step(self) -> bool:
        """All replicas have all that the primary has."""
        self.primary.inspect.set("in-step", 1)
        acknowledged = self.primary.inspect.wait(len(self.replicas), 200)
        self.primary.inspect.delete("in-step")
        return int(acknowledged) == len(self.replicas)

    def ready(self) -> None:
        """All servers run, are in step, and have no keys."""
        for replica in self.replicas:
            replica.resume()
        self.primary.flush()
        eventually(self.in_step, what="the replicas are in step")


@pytest.fixture(scope="session")
def running_groups() -> Iterator[dict[str, Replicated]]:
    """The session's primaries with two replicas, by kind, started at first use."""
    with ExitStack() as stack:
        groups: dict[str, Replicated] = {}
        yield groups
        for group in groups.values():
            stack.push(group.__exit__)


@pytest.fixture
def replicated(server_kind: str, running_groups: dict[str, Replicated]) -> Replicated:
    """A primary without keys and its two replicas, in step; a test may pause the replicas."""
    if server_kind not in running_groups:
        running_groups[server_kind] = Replicated(server_kind, 2).__enter__()
    running_groups[server_kind].ready()
    return running_groups[server_kind]
