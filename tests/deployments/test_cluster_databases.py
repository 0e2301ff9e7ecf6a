"""Databases in a cluster: Valkey 9 has them, with `cluster-databases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.deployments.conftest import CHANNEL, LONG, NAME, wait
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.slot_moves import move_at_once, move_key_by_key
from tests.support.waiting import BOUND, eventually

pytestmark = [pytest.mark.servers("valkey")]

DATABASE = 2


@pytest.fixture(scope="module")
def running_numbered() -> Iterator[Cluster]:
    """Formed once for all tests of this file."""
    with Cluster("valkey", {"cluster-databases": "4"}, replicas=False) as cluster:
        yield cluster


@pytest.fixture
def numbered(running_numbered: Cluster) -> Iterator[Cluster]:
    """A cluster with several databases, without keys."""
    running_numbered.flush()
    yield running_numbered
    running_numbered.heal()


def keys_of(cluster: Cluster, database: int) -> int:
    """How many keys the servers have in a database."""
    spaces = [server.inspect.info("keyspace") for server in cluster.servers]
    return sum(space.get(f"db{database}", {}).get("keys", 0) for space in spaces)


def test_the_locks_of_two_databases_are_separate(
    numbered: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    in_two = make_client(f"{numbered.url}/{DATABASE}").lock(NAME)
    in_zero = make_client(numbered.url).lock(NAME)
    assert alice.do(in_two.acquire)
    assert (keys_of(numbered, DATABASE), keys_of(numbered, 0)) == (1, 0)
    assert bob.do(in_zero.acquire, blocking=False)
    alice.do(in_two.release)
    bob.do(in_zero.release)
    assert (keys_of(numbered, DATABASE), keys_of(numbered, 0)) == (0, 0)


def test_a_waiter_is_woken(
    numbered: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    url = f"{numbered.url}/{DATABASE}"
    near, far = (make_client(url, lease=LONG).lock(NAME) for _ in range(2))
    alice.do(near.acquire)
    waiting = wait(numbered, bob, far)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


@pytest.mark.parametrize("at_once", [False, True], ids=["key by key", "at once"])
def test_a_holder_and_a_waiter_follow_their_slot(
    numbered: Cluster, make_client: MakeClient, alice: Any, bob: Any, *, at_once: bool
) -> None:
    url = f"{numbered.url}/{DATABASE}"
    near, far = (make_client(url, lease=LONG).lock(NAME) for _ in range(2))
    alice.do(near.acquire)
    waiting = wait(numbered, bob, far)
    if at_once:
        source, target = move_at_once(numbered, NAME)
    else:
        source, target = move_key_by_key(numbered, NAME, DATABASE)
    eventually(lambda: numbered.sharded(CHANNEL, target) == 1)
    eventually(lambda: f"db{DATABASE}" not in source.inspect.info("keyspace"))
    assert f"db{DATABASE}" in target.inspect.info("keyspace")
    alice.do(near.acquire)
    alice.do(near.release)
    assert not waiting.done()
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_a_release_in_another_database_frees_no_lock(
    numbered: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """It wakes the waiter, as channels have no database."""
    near, far = (make_client(f"{numbered.url}/{DATABASE}", lease=LONG).lock(NAME) for _ in range(2))
    other = make_client(numbered.url).lock(NAME)
    alice.do(near.acquire)
    waiting = wait(numbered, bob, far)
    alice.do(other.acquire)
    alice.do(other.release)
    assert not waiting.done()
    assert alice.do(near.owned)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


@pytest.mark.flavours("sync")
def test_the_inspector_and_the_guard_look_into_that_database(
    numbered: Cluster, start_child: StartChild, make_client: MakeClient, alice: Any
) -> None:
    url = f"{numbered.url}/{DATABASE}"
    holder = start_child(
        """
        client = holdfast.Client(URL, guard=True, lease=120)
        client.lock(NAME).acquire()
        say("held")
        hear("end")
        """,
        URL=url,
        NAME=NAME,
    )
    holder.expect("held", 30.0)
    client = make_client(url)
    assert [lock.name for lock in inspect.locks(client)] == [NAME]
    assert not inspect.locks(make_client(numbered.url))
    holder.kill()
    assert alice.do(client.lock(NAME).acquire, timeout=BOUND)
    alice.do(client.lock(NAME).release)


def test_a_database_that_the_servers_do_not_have_is_refused(
    numbered: Cluster, make_client: MakeClient, alice: Any
) -> None:
    with pytest.raises(holdfast.ServerError, match="cluster-databases"):
        alice.do(make_client(f"{numbered.url}/9").lock(NAME).acquire)


@pytest.mark.servers("redis")
def test_a_cluster_without_databases_is_refused_with_what_to_do(
    cluster: Cluster, make_client: MakeClient, alice: Any
) -> None:
    with pytest.raises(holdfast.ServerError, match="leave the database out of the URL"):
        alice.do(make_client(f"{cluster.url}/{DATABASE}").lock(NAME).acquire)


def test_the_url_of_a_client_names_the_database(make_client: MakeClient) -> None:
    assert "redis+cluster://127.0.0.1:1/2" in repr(make_client("redis+cluster://127.0.0.1:1/2"))
