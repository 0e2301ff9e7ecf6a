"""Redisson in a database of a Valkey 9 cluster: each side waits for the other in the same database.

Redisson 3.17.6 knows no databases in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON
from tests.interop.java_objects import JavaLock, JavaObject
from tests.interop.java_peer import JavaPeer
from tests.support.clusters import Cluster
from tests.support.waiting import BOUND, Stopwatch, eventually

pytestmark = [
    pytest.mark.servers("valkey"),
    pytest.mark.parametrize("release", ["4.7.0"], indirect=True, scope="session"),
]

DATABASE = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster with several databases, for all tests of this file."""
    with Cluster("valkey", {"cluster-databases": "4"}, replicas=False) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def java(class_path: str, cluster: Cluster) -> Iterator[JavaPeer]:
    """A Redisson client of the database."""
    first = cluster.servers[0].port
    with JavaPeer(class_path, f"redis+cluster://127.0.0.1:{first}/{DATABASE}") as peer:
        yield peer


@pytest.fixture
def python(cluster: Cluster) -> Iterator[holdfast.Client]:
    """A Python client of the database."""
    with holdfast.Client(f"{cluster.url}/{DATABASE}", lease=LONG) as client:
        yield client


LOCKS: dict[str, Callable[[holdfast.Client, str], Any]] = {
    "lock": lambda client, name: client.lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
}
Pair = tuple[Any, JavaLock]


@pytest.fixture(
    params=["lock lock", "fair fair", "write write", "read write", "write read"],
    ids=lambda pair: pair.replace(" ", "-"),
)
def pair(
    request: pytest.FixtureRequest, python: holdfast.Client, java: JavaPeer, name: str
) -> Pair:
    """Two sides that exclude each other: of Python and of Java."""
    ours, theirs = request.param.split()
    return LOCKS[ours](python, name), java.lock(name, kind=theirs)


def keys(cluster: Cluster, database: int) -> int:
    """How many keys the servers have in a database."""
    spaces = [server.inspect.info("keyspace") for server in cluster.servers]
    return sum(space.get(f"db{database}", {}).get("keys", 0) for space in spaces)


def sleeps(cluster: Cluster, waiting: Future[Any], java: JavaObject | None = None) -> None:
    """Return when a waiter listens and, of Java, sleeps: only a message wakes it from now on."""
    eventually(lambda: cluster.listeners(b"redisson_") > 0)
    if java is not None:
        eventually(java.sleeps)
    assert not waiting.done()


def test_java_waits_for_python(cluster: Cluster, pair: Pair) -> None:
    mine, lock = pair
    mine.acquire()
    assert keys(cluster, DATABASE) > 0
    assert keys(cluster, 0) == 0
    assert not lock.try_lock()
    waiting = lock.begin_lock()
    sleeps(cluster, waiting, lock)
    watch = Stopwatch()
    mine.release()
    waiting.result(BOUND)
    assert watch.seconds < SOON
    assert not mine.acquire(blocking=False)
    lock.unlock()
    eventually(lambda: cluster.listeners(b"redisson_") == 0)


def test_python_waits_for_java(
    cluster: Cluster, pair: Pair, python_thread: ThreadPoolExecutor
) -> None:
    mine, lock = pair
    lock.lock()
    assert keys(cluster, 0) == 0
    assert not mine.acquire(blocking=False)
    waiting = python_thread.submit(mine.acquire)
    sleeps(cluster, waiting)
    watch = Stopwatch()
    lock.unlock()
    assert waiting.result(BOUND)
    assert watch.seconds < SOON
    assert not lock.try_lock()
    python_thread.submit(mine.release).result(BOUND)
    eventually(lambda: cluster.listeners(b"redisson_") == 0)


def test_permits_are_counted_and_awaited_on_both_sides(
    cluster: Cluster,
    java: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    name: str,
) -> None:
    theirs, mine = java.semaphore(name), python.semaphore(name)
    assert theirs.try_set_permits(1)
    assert mine.acquire()
    assert theirs.available_permits() == 0
    asked = theirs.begin_acquire()
    sleeps(cluster, asked, theirs)
    mine.release()
    asked.result(SOON)
    waiting = python_thread.submit(mine.acquire)
    sleeps(cluster, waiting)
    theirs.release()
    assert waiting.result(SOON)
    mine.release()
    assert theirs.available_permits() == 1
    assert mine.delete()


def test_permits_with_ids_are_passed_between_both_sides(
    cluster: Cluster,
    java: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    name: str,
) -> None:
    theirs, mine = java.permit_semaphore(name), python.permit_semaphore(name)
    assert mine.try_set_permits(1)
    permit = mine.acquire(lease=LONG)
    assert permit is not None
    asked = theirs.begin_acquire(lease=LONG)
    sleeps(cluster, asked, theirs)
    mine.release(permit)
    permit = asked.result(SOON).value
    waiting = python_thread.submit(mine.acquire, lease=LONG)
    sleeps(cluster, waiting)
    theirs.release(permit)
    permit = waiting.result(SOON)
    assert permit is not None
    mine.release(permit)
    assert theirs.available_permits() == 1
    assert theirs.delete()


def test_a_latch_is_counted_down_and_awaited_on_both_sides(
    cluster: Cluster,
    java: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    name: str,
) -> None:
    theirs, mine = java.latch(name), python.count_down_latch(name)
    assert theirs.try_set_count(2)
    waiter = java.latch(name, "t2")
    asked = waiter.begin_await(BOUND)
    waiting = python_thread.submit(mine.wait)
    sleeps(cluster, asked, waiter)
    mine.count_down()
    assert theirs.count() == 1
    theirs.count_down()
    assert asked.result(SOON).value
    assert waiting.result(SOON)


def test_the_same_name_in_another_database_is_another_lock(
    cluster: Cluster, java: JavaPeer, name: str
) -> None:
    theirs = java.lock(name)
    theirs.lock()
    with holdfast.Client(cluster.url) as other, other.lock(name):
        assert keys(cluster, 0) == 1
        assert theirs.is_held_by_current_thread()
    theirs.unlock()
