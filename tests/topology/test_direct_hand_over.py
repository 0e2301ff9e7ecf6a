"""`Client(handover="direct")`: who believes a grant has the lock, also where servers change."""

from __future__ import annotations

import time
from typing import Any

import pytest

import holdfast
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.waiting import BOUND, SLACK, eventually
from tests.topology.conftest import LONG, NAME

pytestmark = [pytest.mark.servers("real"), pytest.mark.slow]

WAITERS = "holdfast_waiters:{myLock}"

GRANT_LEASE = 2.0
"""Seconds; of a lock that a release has granted to a waiter of another client."""


@pytest.fixture(params=["sharded", "classic", "both"])
def clients(request: pytest.FixtureRequest, cluster: Cluster, make_client: MakeClient) -> list[Any]:
    """Of a holder, of a waiter and of another one, with one way of pub/sub."""
    options = {"handover": "direct", "lease": LONG, "pubsub": request.param}
    return [make_client(cluster.url, **options) for _ in range(3)]


def in_line(client: Any, connection: Any) -> bool:
    """Whether an owner of the client is in line."""
    return any(one.startswith(client.id.encode()) for one in connection.zrange(WAITERS, 0, -1))


def test_a_grant_is_not_published_to_who_is_subscribed_at_a_replica(
    cluster: Cluster, clients: list[Any], alice: Any, bob: Any, carol: Any
) -> None:
    """The waiter's server has become a replica of the one where the lock is released."""
    held, its, other = (client.lock(NAME) for client in clients)
    primary = cluster.primary_of(NAME)
    replica = cluster.replica_of(primary)
    cluster.fit_to_be_elected(replica)
    alice.do(held.acquire)
    waiting = bob.begin(its.acquire)
    eventually(lambda: in_line(clients[1], primary.inspect))
    primary.inspect.wait(1, 5000)
    cluster.fail_over(replica, "TAKEOVER")
    alice.do(held.release)
    assert waiting.result(BOUND)
    assert list(cluster.holders(NAME).values()) == [1]
    assert not carol.do(other.acquire, blocking=False)
    assert not bob.do(lambda: its.lost)
    bob.do(its.release)


def test_a_waiter_whose_slot_moves_is_granted_the_lock_once(
    cluster: Cluster, clients: list[Any], alice: Any, bob: Any, carol: Any
) -> None:
    """A message on a classic channel goes to all servers, and is counted at one."""
    held, its, other = (client.lock(NAME) for client in clients)
    alice.do(held.acquire)
    waiting = bob.begin(its.acquire)
    eventually(lambda: in_line(clients[1], cluster.primary_of(NAME).inspect))
    cluster.migrate_slot(NAME)
    alice.do(held.release)
    assert waiting.result(BOUND)
    assert list(cluster.holders(NAME).values()) == [1]
    assert not carol.do(other.acquire, blocking=False)
    bob.do(its.release)


def test_a_release_grants_the_lock_to_a_waiter_in_a_cluster(
    cluster: Cluster, clients: list[Any], alice: Any, bob: Any
) -> None:
    """Each way of pub/sub carries a grant, and carries it once."""
    held, its, _ = (client.lock(NAME) for client in clients)
    alice.do(held.acquire)
    waiting = bob.begin(its.acquire)
    eventually(lambda: in_line(clients[1], cluster.primary_of(NAME).inspect))
    alice.do(held.release)
    assert waiting.result(BOUND)
    figures = clients[1].stats()
    assert figures.direct_grants + figures.unused_grants == 1
    bob.do(its.release)


def test_a_grant_that_the_new_primary_lacks_is_believed_for_two_seconds(
    service: Service, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """The release that made it reached no replica, and the primary dies before any renewal."""
    options = {"handover": "direct", "lease": LONG, "command_timeout": LONG}
    holder, waiter = (make_client(service.url, **options) for _ in range(2))
    held, its = holder.lock(NAME), waiter.lock(NAME)
    alice.do(holder.ping)
    old = service.primary
    replicas = service.cut_off_replicas()
    alice.do(held.acquire)
    waiting = bob.begin(its.acquire)
    eventually(lambda: in_line(waiter, old.inspect))
    waiter._core.pause_renewals(True)
    alice.do(held.release)
    assert waiting.result(BOUND)
    granted = time.monotonic()
    old.stop()
    for replica in replicas:
        replica.resume()
    eventually(lambda: bob.do(lambda: its.lost), within=LONG)
    assert time.monotonic() - granted < GRANT_LEASE + SLACK
    service.new_primary(old)
    assert alice.do(held.acquire, timeout=LONG)
    with pytest.raises(holdfast.LockLostError):
        bob.do(its.release)
    assert alice.do(held.owned)
