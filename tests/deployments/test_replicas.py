"""`replicas_to_wait` where the primary may be another one tomorrow; see replicas/ for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

import holdfast
from tests.deployments.conftest import LONG, NAME
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

pytestmark = [pytest.mark.servers("real")]

FAILOVER = 60.0
"""Seconds that a busy machine may take to fail over."""


@pytest.fixture
def lock(cluster: Cluster, make_client: MakeClient) -> Any:
    """A lock that one replica must know of."""
    return _client(make_client, cluster.url).lock(NAME)


@contextmanager
def paused(replica: Server) -> Iterator[None]:
    """It is stopped in the meantime, and confirms nothing."""
    replica.pause()
    try:
        yield
    finally:
        replica.resume()


def _client(make_client: MakeClient, url: str) -> Any:
    return make_client(url, replicas_to_wait=1, lease=LONG, command_timeout=FAILOVER)


def _refused(alice: Any, lock: Any, primary: Server, had: str = "0 of 1 replicas") -> None:
    """NOREPLICAS, which tells how many had it; what was granted has been given back."""
    with pytest.raises(holdfast.ServerError, match=had) as told:
        alice.do(lock.acquire, blocking=False)
    assert told.value.code == "NOREPLICAS"
    eventually(lambda: not primary.inspect.exists(lock.name))


def _refused_on_the_way(cluster: Cluster, lock: Any, alice: Any) -> tuple[Server, Server]:
    """The lock's slot moves to a server whose replica was stopped for a first try: (from, to)."""
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    source, target = cluster.begin_migration(NAME)
    with (
        paused(cluster.replica_of(target)),
        pytest.raises(holdfast.ServerError, match="0 of 1 replicas"),
    ):
        alice.do(lock.acquire, blocking=False)
    return source, target


def _has(replica: Server, name: str) -> bool:
    """It has the key, perhaps of a slot that is another's: EXISTS and KEYS do not show those."""
    try:
        replica.inspect.execute_command("DEBUG", "OBJECT", name)
    except redis.ResponseError as error:
        if "no such key" not in str(error):
            raise
        return False
    return True


def _waits(server: Server) -> int:
    """The number of WAIT commands so far."""
    return int(server.inspect.info("commandstats").get("cmdstat_wait", {}).get("calls", 0))


def test_each_server_of_a_cluster_has_its_own_replica(
    cluster: Cluster, make_client: MakeClient, alice: Any
) -> None:
    """passing-refusal.

    Only locks of the slots with a stopped replica are refused, and given back.
    """
    client = _client(make_client, cluster.url)
    owner = cluster.primary_of(NAME)
    replica = cluster.replica_of(owner)
    names = [n for n in (f"lock-{i}" for i in range(12)) if cluster.primary_of(n) is not owner]
    copies = [cluster.replica_of(cluster.primary_of(name)) for name in names]
    with paused(replica):
        for name, copy in zip(names, copies, strict=True):
            assert alice.do(client.lock(name).acquire, timeout=BOUND)
            assert _has(copy, name)
        _refused(alice, client.lock(NAME), owner)
    assert alice.do(client.lock(NAME).acquire, timeout=BOUND)
    assert _has(replica, NAME)


def test_a_slot_that_has_moved_is_known_to_the_new_servers_replica(
    cluster: Cluster, lock: Any, alice: Any
) -> None:
    """moved-slot: the write and the WAIT behind it follow MOVED, or are said again there."""
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    _, target = cluster.migrate_slot(NAME)
    replica = cluster.replica_of(target)
    before = _waits(target)
    assert alice.do(lock.acquire, timeout=BOUND)
    assert _has(replica, NAME)
    assert _waits(target) > before
    alice.do(lock.release)
    with paused(replica):
        _refused(alice, lock, target)


def test_a_slot_that_moves_can_be_granted(cluster: Cluster, lock: Any, alice: Any) -> None:
    """moved-slot: ASK: what is granted at the new server already is confirmed by its replica."""
    source, target = _refused_on_the_way(cluster, lock, alice)
    assert alice.do(lock.acquire, timeout=BOUND)
    assert _has(cluster.replica_of(target), NAME)
    assert not source.keys()
    cluster.end_migration(source, target, NAME)
    alice.do(lock.release)


def test_what_a_slot_that_moves_cannot_give_back_is_given_back_later(
    cluster: Cluster, lock: Any, alice: Any
) -> None:
    """TRYAGAIN: no release is taken until the slot has moved; then it is, long before the lease."""
    source, target = _refused_on_the_way(cluster, lock, alice)
    assert _has(target, NAME)
    cluster.end_migration(source, target, NAME)
    eventually(lambda: not _has(target, NAME))


@pytest.mark.realtime
def test_what_is_asked_for_again_is_not_given_back_any_more(
    cluster: Cluster, lock: Any, alice: Any
) -> None:
    """What could not be given back must not be when its owner has come back for it."""
    source, target = _refused_on_the_way(cluster, lock, alice)
    assert alice.do(lock.acquire, timeout=BOUND)
    cluster.end_migration(source, target, NAME)
    stays(lambda: _has(target, NAME), 1.0)
    assert alice.do(lock.owned)
    alice.do(lock.release)


def test_a_primary_of_a_cluster_that_lost_its_only_replica(
    cluster: Cluster, lock: Any, alice: Any
) -> None:
    """failover-with-lock: after a failover no replica copies.

    The old primary, back as a replica, counts.
    """
    assert alice.do(lock.acquire)
    old = cluster.primary_of(NAME)
    new = cluster.replica_of(old)
    old.stop()
    cluster.await_promotion(new)
    eventually(lambda: alice.do(lock.owned))
    alice.do(lock.release)
    _refused(alice, lock, new)
    waiting = alice.begin(lock.acquire)
    eventually(lambda: _waits(new) >= 2)
    assert not waiting.done()
    old.start()
    assert waiting.result(FAILOVER)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)


def test_under_sentinel_one_replica_of_two_is_enough(
    service: Service, make_client: MakeClient, alice: Any
) -> None:
    """passing-refusal.

    With one replica still it is granted, with both it is refused, and given back.
    """
    lock = _client(make_client, service.url).lock(NAME)
    first, second = service.replicas
    with paused(second):
        with paused(first):
            _refused(alice, lock, service.primary)
        assert alice.do(lock.acquire, timeout=FAILOVER)
        assert first.inspect.exists(NAME)


def test_under_sentinel_the_replicas_of_the_new_primary_are_asked(
    service: Service, make_client: MakeClient, alice: Any
) -> None:
    """failover-with-lock.

    After a failover, too, what is granted is known to a replica, of who is primary now.
    """
    lock = _client(make_client, service.url).lock(NAME)
    assert alice.do(lock.acquire)
    service.replicated()
    old = service.primary
    old.stop()
    new = service.new_primary(old)
    eventually(lambda: alice.do(lock.owned))
    alice.do(lock.release)
    assert alice.do(lock.acquire, timeout=FAILOVER)
    assert _waits(new) > 0
    (other,) = (server for server in service.servers if server not in (old, new))
    assert other.inspect.exists(NAME)
    alice.do(lock.release)
    with paused(other):
        _refused(alice, lock, new)
