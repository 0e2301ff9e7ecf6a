"""Redisson in a cluster: it excludes and is excluded, and messages reach both sides.

3.17.6 publishes to all servers, 4.7.0 within the slot; a Python client with `pubsub="both"` is
heard by both, and hears both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON
from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LockKey
from tests.support.clusters import Cluster
from tests.support.waiting import BOUND, Stopwatch, eventually

SHARDED = {"3.17.6": False, "4.7.0": True}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster for all tests of this file."""
    with Cluster("redis") as cluster:
        yield cluster


@pytest.fixture
def cluster_peer(class_path: str, cluster: Cluster) -> Iterator[JavaPeer]:
    """A Redisson client of the cluster."""
    first = cluster.servers[0].port
    with JavaPeer(class_path, f"redis+cluster://127.0.0.1:{first}") as peer:
        yield peer


@pytest.fixture(params=["fitting", "both"])
def how(request: pytest.FixtureRequest, release: str) -> str:
    """The option `pubsub`: what the release does, or both."""
    fitting = "auto" if SHARDED[release] else "classic"
    return fitting if request.param == "fitting" else "both"


@pytest.fixture
def in_cluster(cluster: Cluster, how: str) -> Iterator[holdfast.Client]:
    """A Python client of the cluster."""
    with holdfast.Client(cluster.url, pubsub=how, lease=LONG) as client:  # type: ignore[arg-type]
        yield client


Pair = tuple[Any, JavaLock]

OURS: dict[str, Callable[[holdfast.Client, str], Any]] = {
    "lock": lambda client, name: client.lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "write": lambda client, name: client.read_write_lock(name).write,
}


@pytest.fixture(params=OURS)
def pair(
    request: pytest.FixtureRequest,
    in_cluster: holdfast.Client,
    cluster_peer: JavaPeer,
    name: str,
) -> Pair:
    """A lock of each kind, as both sides see it."""
    return OURS[request.param](in_cluster, name), cluster_peer.lock(name, kind=request.param)


def test_java_waits_for_python(cluster: Cluster, pair: Pair, name: str) -> None:
    """Our release wakes Redisson, which has gone to sleep: it loses some messages on its way."""
    ours, theirs = pair
    assert ours.acquire()
    key = LockKey(cluster.primary_of(name), name)
    tries = key.tries()
    waiting = theirs.begin_lock()
    eventually(lambda: cluster.listeners(b"redisson_") > 0 and key.tries() >= tries + 2)
    eventually(theirs.sleeps)
    assert not waiting.done()
    watch = Stopwatch()
    ours.release()
    waiting.result(BOUND)
    assert watch.seconds < SOON
    theirs.unlock()


def test_python_waits_for_java(
    cluster: Cluster, pair: Pair, python_thread: ThreadPoolExecutor
) -> None:
    """Redisson's unlock wakes us."""
    ours, theirs = pair
    theirs.lock()
    assert not ours.acquire(blocking=False)
    waiting = python_thread.submit(ours.acquire)
    eventually(lambda: cluster.listeners(b"redisson_") > 0)
    assert not waiting.done()
    watch = Stopwatch()
    theirs.unlock()
    assert waiting.result(BOUND)
    assert watch.seconds < SOON
    python_thread.submit(ours.release).result(BOUND)
