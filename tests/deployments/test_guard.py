"""The guard of a program whose lock is in a service under Sentinel, or in a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.deployments.conftest import LONG, NAME, MakeService
from tests.support.clusters import Cluster, slot_of
from tests.support.processes import Child, StartChild
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = [pytest.mark.servers("real")]


HOLDER = """
client = holdfast.Client(URL, guard=True, lease=LEASE, command_timeout=40.0)
for name in NAMES:
    client.lock(name).acquire()
say("held")
hear("ping")
for name in NAMES:
    assert client.lock(name).hold_count() == 1
client.lock("another").acquire()
say("still")
hear("end")
"""

StartHolder = Callable[..., Child]


@pytest.fixture
def start_holder(start_child: StartChild) -> StartHolder:
    """Start a program with a guard that holds locks: `start_holder(url, *names)`."""

    def start(url: str, *names: str) -> Child:
        child = start_child(HOLDER, URL=url, NAMES=names, LEASE=LONG)
        child.expect("held", 30.0)
        return child

    return start


def test_a_lock_of_a_service_is_freed(
    service: Service, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    next_owner = make_client(service.url).lock(NAME)
    holder = start_holder(service.url, NAME)
    holder.kill()
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


def test_it_follows_its_client_to_the_new_primary(
    service: Service, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    holder = start_holder(service.url, NAME)
    service.fail_over()
    holder.send("ping")
    holder.expect("still", 40.0)
    next_owner = make_client(service.url, command_timeout=40.0).lock(NAME)
    assert not alice.do(next_owner.acquire, blocking=False)
    holder.kill()
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


@pytest.mark.parametrize("end", [Server.stop, Server.pause], ids=["refuses", "is silent"])
def test_it_finds_the_primary_that_follows_one_that_ended_with_the_program(
    service: Service,
    start_holder: StartHolder,
    make_client: Any,
    alice: Any,
    end: Callable[[Server], None],
) -> None:
    """killed-process."""
    holder = start_holder(service.url, NAME)
    service.replicated()
    old = service.primary
    end(old)
    holder.kill()
    service.new_primary(old)
    next_owner = make_client(service.url, command_timeout=40.0).lock(NAME)
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


def test_it_finds_the_primary_of_a_failover_that_the_program_did_not_see(
    make_service: MakeService, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    service = make_service(password="secret", sentinel_password="another")
    url = service.url.replace("://", "://:secret@") + "?sentinel_password=another"
    holder = start_holder(url, NAME)
    service.replicated()
    holder.pause()
    service.fail_over()
    next_owner = make_client(url, command_timeout=40.0).lock(NAME)
    assert not alice.do(next_owner.acquire, blocking=False)
    holder.kill()
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


def names_on_all(cluster: Cluster) -> list[str]:
    """A name on each primary."""
    found: dict[int, str] = {}
    for number in range(1000):
        name = f"lock {number}"
        found.setdefault(cluster.primary_of(name).port, name)
        if len(found) == 3:
            break
    return list(found.values())


def test_the_locks_of_all_servers_of_a_cluster_are_freed(
    cluster: Cluster, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    names = names_on_all(cluster)
    holder = start_holder(cluster.url, *names)
    next_owner = make_client(cluster.url)
    for name in names:
        assert not alice.do(next_owner.lock(name).acquire, blocking=False)
    holder.kill()
    for name in names:
        assert alice.do(next_owner.lock(name).acquire, timeout=BOUND)
        alice.do(next_owner.lock(name).release)


def test_a_server_of_a_cluster_that_hangs_keeps_no_lock_of_another(
    cluster: Cluster, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    names = names_on_all(cluster)
    holder = start_holder(cluster.url, *names)
    next_owner = make_client(cluster.url).lock(names[0])
    assert not alice.do(next_owner.acquire, blocking=False)
    hangs = cluster.primary_of(names[-1])
    hangs.pause()
    try:
        holder.kill()
        assert alice.do(next_owner.acquire, timeout=BOUND)
    finally:
        hangs.resume()
    alice.do(next_owner.release)


def test_a_lock_whose_slot_has_moved_is_freed(
    cluster: Cluster, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    holder = start_holder(cluster.url, NAME)
    cluster.migrate_slot(NAME)
    assert slot_of(NAME) >= 0
    next_owner = make_client(cluster.url).lock(NAME)
    assert not alice.do(next_owner.acquire, blocking=False)
    holder.kill()
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


def test_it_finds_the_primary_that_follows_one_of_a_cluster_that_ended_with_the_program(
    cluster: Cluster, start_holder: StartHolder, make_client: Any, alice: Any
) -> None:
    primary = cluster.primary_of(NAME)
    replica = cluster.replica_of(primary)
    holder = start_holder(cluster.seeds, NAME)
    with primary.connect(single_connection_client=True) as connection:
        connection.set(f"{{{NAME}}}written", "")
        assert connection.wait(1, 10_000) == 1
    primary.stop()
    holder.kill()
    cluster.await_promotion(replica)
    next_owner = make_client(cluster.seeds, command_timeout=40.0).lock(NAME)
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


def test_a_waiter_of_a_cluster_is_woken(
    cluster: Cluster, start_holder: StartHolder, make_client: Any, bob: Any
) -> None:
    holder = start_holder(cluster.url, NAME)
    next_owner = make_client(cluster.url, lease=LONG).lock(NAME)
    waiting = bob.begin(next_owner.acquire)
    channel = f"redisson_lock__channel:{{{NAME}}}"
    eventually(lambda: cluster.listeners(channel) == 1)
    holder.kill()
    assert waiting.result(BOUND)
    bob.do(next_owner.release)
