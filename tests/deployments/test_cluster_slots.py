"""A slot that moves takes its locks along: holders, waiters and messages follow."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, NAME, wait
from tests.support.clusters import Cluster
from tests.support.owners import MakeActor, MakeClient
from tests.support.waiting import BOUND, eventually, let_pass

pytestmark = pytest.mark.servers("real")


def test_a_holder_follows_its_slot(cluster: Cluster, near: Any, far: Any, alice: Any) -> None:
    """moved-slot: MOVED: a client that does not know of the move finds its lock where it is."""
    alice.do(near.acquire)
    source, target = cluster.migrate_slot(NAME)
    assert not source.keys()
    alice.do(near.acquire)
    assert list(cluster.holders(NAME).values()) == [2]
    alice.do(near.release)
    alice.do(near.release)
    assert not target.keys()


def test_a_waiter_is_woken_from_the_new_server(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """moved-slot: the server ends the subscription as the slot leaves it.

    The other one gets a new one.
    """
    alice.do(near.acquire)
    waiting = wait(cluster, bob, far)
    source, target = cluster.migrate_slot(NAME)
    eventually(lambda: cluster.sharded(CHANNEL, target) == 1)
    assert cluster.sharded(CHANNEL, source) == 0
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_a_release_during_the_move_is_not_missed(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """moved-slot.

    What is published while the subscription is on its way is made up for by a look.
    """
    for _ in range(5):
        alice.do(near.acquire)
        waiting = wait(cluster, bob, far)
        source, target = cluster.begin_migration(NAME)
        cluster.migrate_keys(source, target, NAME)
        releasing = alice.begin(near.release)
        cluster.end_migration(source, target, NAME)
        releasing.result(BOUND)
        assert waiting.result(BOUND)
        bob.do(far.release)
        cluster.settle()


def test_a_key_that_has_gone_ahead_is_asked_for(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """ASK: the key is at the new server already, the slot is not."""
    alice.do(near.acquire)
    source, target = cluster.begin_migration(NAME)
    cluster.migrate_keys(source, target, NAME)
    asked = target.inspect.info("commandstats").get("cmdstat_asking", {}).get("calls", 0)
    assert not bob.do(far.acquire, blocking=False)
    alice.do(near.acquire)
    assert target.keys() == {NAME.encode()}
    assert target.inspect.info("commandstats")["cmdstat_asking"]["calls"] >= asked + 2
    cluster.end_migration(source, target, NAME)
    alice.do(near.release)
    alice.do(near.release)


def test_a_slot_that_is_half_moved_is_waited_for(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """TRYAGAIN: some keys are here, some there; it passes when the move ends."""
    alice.do(near.acquire)
    source, target = cluster.begin_migration(NAME)

    def refusals() -> int:
        stats = [server.inspect.info("errorstats") for server in (source, target)]
        return sum(each.get("errorstat_TRYAGAIN", {"count": 0})["count"] for each in stats)

    refused = refusals()
    releasing = alice.begin(near.release)
    eventually(lambda: refusals() >= refused + 2)
    assert not releasing.done()
    cluster.migrate_keys(source, target, NAME)
    cluster.end_migration(source, target, NAME)
    releasing.result(BOUND)
    assert bob.do(far.acquire, blocking=False)
    bob.do(far.release)


@pytest.mark.flavours("sync")
def test_a_lock_excludes_while_its_slot_wanders(
    cluster: Cluster, make_client: MakeClient, make_actor: MakeActor
) -> None:
    """moved-slot: threads of two clients count under the lock.

    No step is lost, nothing is left behind.
    """
    clients = [make_client(cluster.url) for _ in range(2)]
    over = threading.Event()
    counted = [0]

    def count(client: Any) -> int:
        steps = 0
        lock = client.lock(NAME)
        while not over.is_set():
            with lock:
                seen = counted[0]
                let_pass(0.0002)
                counted[0] = seen + 1
                steps += 1
        return steps

    counting = [make_actor().begin(count, client) for client in clients * 2]
    try:
        for _ in range(8):
            seen = counted[0]
            cluster.migrate_slot(NAME)
            eventually(lambda seen=seen: counted[0] > seen + 3)  # type: ignore[misc]
    finally:
        over.set()
    assert sum(each.result(BOUND) for each in counting) == counted[0]
    eventually(lambda: not cluster.keys())
