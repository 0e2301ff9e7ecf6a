"""A node of a cluster that is replaced behind its address: it redirects to where it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, LASTING, LONG, NAME
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")


class Fronted:
    """A cluster each of whose nodes announces a forwarder that leads to it."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.cluster = stack.enter_context(Cluster(kind))
        self._ways = {
            server: stack.enter_context(FaultProxy(server.port)) for server in self.cluster.servers
        }
        self.cluster.announce([way.port for way in self._ways.values()])

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self._way_to(NAME).port}"

    def _way_to(self, name: str) -> FaultProxy:
        return self._ways[self.cluster.primary_of(name)]

    def replace(self) -> tuple[Server, Server]:
        """The replica has its primary's address from now on; all connections stay.

        Returns the old primary and the new one.
        """
        self.cluster.settle()
        old = self.cluster.primary_of(NAME)
        new = self.cluster.replica_of(old)
        eventually(lambda: old.inspect.wait(1, 200) == 1, what="the replica has everything")
        self._ways[old].lead_to(new.port)
        self._ways[new].lead_to(old.port)
        self.cluster.exchange(new, old)
        self._ways[old], self._ways[new] = self._ways[new], self._ways[old]
        return old, new

    def redirections(self, server: Server) -> int:
        stats = server.inspect.info("errorstats")
        return int(stats.get("errorstat_MOVED", {}).get("count", 0))


@pytest.fixture
def fronted(server_kind: str) -> Iterator[Fronted]:
    """One of the test's own: the servers learn each other's new addresses once in a while only."""
    with ExitStack() as stack:
        yield Fronted(server_kind, stack)


def test_a_release_reaches_the_new_node(
    alice: Any, fronted: Fronted, make_client: MakeClient
) -> None:
    """replaced-node: with few redirections; and the next lock is acquired there."""
    lock = make_client(fronted.url, lease=LONG).lock(NAME)
    alice.do(lock.acquire)
    old, new = fronted.replace()
    alice.do(lock.release)
    assert not fronted.cluster.holders(NAME)
    assert alice.do(lock.acquire, blocking=False)
    assert new.inspect.exists(NAME)
    assert fronted.redirections(old) < 50  # a command that is sent there again and again: thousands
    alice.do(lock.release)


def test_a_hold_goes_on(alice: Any, fronted: Fronted, make_client: MakeClient) -> None:
    """replaced-node: renewals follow by themselves."""
    lock = make_client(fronted.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    _, new = fronted.replace()
    see_renewals(new)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)


def test_a_waiter_is_woken(alice: Any, bob: Any, fronted: Fronted, make_client: MakeClient) -> None:
    """replaced-node: its subscription moves, too."""
    lock = make_client(fronted.url, lease=LONG).lock(NAME)
    theirs = make_client(fronted.url, lease=LONG).lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: fronted.cluster.subscribers(CHANNEL) > 0)
    fronted.replace()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    bob.do(theirs.release)
