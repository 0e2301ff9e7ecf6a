"""A replica takes a primary's place: holds live on if they were copied, or are reported lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, LONG, NAME, wait
from tests.support.clusters import Cluster, slot_of
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

FAILOVER = 60.0
"""The bound for a failover of a killed primary: the time-out of the nodes, and an election."""


def _kill(cluster: Cluster) -> Server:
    """Kill the primary; returns the replica that has taken its place."""
    primary = cluster.primary_of(NAME)
    replica = cluster.replica_of(primary)
    cluster.fit_to_be_elected(replica)
    primary.stop()
    cluster.await_promotion(replica)
    return replica


def test_a_hold_survives_a_planned_failover(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """Holder and waiter go on at the new primary."""
    alice.do(near.acquire)
    waiting = wait(cluster, bob, far)
    cluster.fail_over(cluster.replica_of(cluster.primary_of(NAME)))
    assert not alice.do(lambda: near.lost)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_a_hold_survives_the_death_of_its_primary(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """failover-with-lock: the replica has the lock.

    The waiter, asleep, subscribes there and is woken.
    """
    alice.do(near.acquire)
    waiting = wait(cluster, bob, far)
    cluster.primary_of(NAME).inspect.wait(1, 5000)
    replica = _kill(cluster)
    assert replica.inspect.hgetall(NAME)
    eventually(lambda: cluster.sharded(CHANNEL, replica) == 1)
    assert not alice.do(lambda: near.lost)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_calls_wait_for_the_failover(cluster: Cluster, make_client: MakeClient, alice: Any) -> None:
    """What was asked of the dead primary is answered by the one that takes its place."""
    lock = make_client(cluster.url, command_timeout=FAILOVER).lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    primary = cluster.primary_of(NAME)
    replica = cluster.replica_of(primary)
    cluster.fit_to_be_elected(replica)
    primary.stop()
    assert alice.begin(lock.acquire).result(FAILOVER)
    assert replica.inspect.hgetall(NAME)
    alice.do(lock.release)


def test_a_hold_that_was_not_copied_is_reported_lost(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """failover-without-lock: the failover forgets the lock.

    The owner knows it at once, not with the next renewal.
    """
    lock = make_client(cluster.url, lease=20 * FAILOVER).lock(NAME)
    primary = cluster.primary_of(NAME)
    replica = cluster.stop_replication(primary)
    cluster.fit_to_be_elected(replica)
    assert alice.do(lock.acquire)
    primary.stop()
    cluster.await_promotion(replica)
    assert not replica.inspect.hgetall(NAME)
    eventually(lambda: alice.do(lambda: lock.lost))
    other = make_client(cluster.url).lock(NAME)
    assert bob.do(other.acquire, blocking=False)
    bob.do(other.release)


def test_the_old_primary_comes_back_as_a_replica(
    cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any
) -> None:
    """It is used no more."""
    alice.do(near.acquire)
    old = cluster.primary_of(NAME)
    old.inspect.wait(1, 5000)
    new = _kill(cluster)
    old.start()
    cluster.settle()
    assert cluster.primary_of(NAME) is new
    assert not bob.do(far.acquire, blocking=False)
    alice.do(near.release)
    assert bob.do(far.acquire, blocking=False)
    bob.do(far.release)


def test_a_cluster_that_is_down_is_waited_for(cluster: Cluster, near: Any, alice: Any) -> None:
    """CLUSTERDOWN: no server has the slot, for a while."""
    alice.do(near.acquire)
    alice.do(near.release)
    primary, slot = cluster.primary_of(NAME), slot_of(NAME)
    for server in cluster.servers:
        server.inspect.execute_command("CLUSTER", "DELSLOTS", slot)
    waiting = alice.begin(near.acquire)
    eventually(lambda: primary.inspect.info("errorstats").get("errorstat_CLUSTERDOWN"))
    assert not waiting.done()
    primary.inspect.execute_command("CLUSTER", "ADDSLOTS", slot)
    assert waiting.result(BOUND)
    alice.do(near.release)


def test_other_slots_are_not_disturbed(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """While one primary is dead, locks of the others work as usual."""
    client = make_client(cluster.url, lease=LONG)
    owner = cluster.primary_of(NAME)
    name = next(n for n in map(str, range(99)) if cluster.primary_of(n) is not owner)
    lock = client.lock(name)
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    owner.stop()
    assert alice.begin(lock.acquire).result(BOUND)
    alice.do(lock.release)
