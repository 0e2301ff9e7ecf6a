"""The locks of all primaries are seen, wherever they are at that moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import holdfast
from holdfast import inspect
from tests.support.clusters import Cluster
from tests.support.sentinels import Service
from tests.support.waiting import eventually

NAMES = ["a", "b", "c", "d", "e", "{f}g"]

pytestmark = pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("redis") as cluster:
        yield cluster


def test_a_cluster_is_read_in_whole(cluster: Cluster) -> None:
    with holdfast.Client(cluster.url, lease=60) as client:
        for name in NAMES:
            client.lock(name).acquire()
        semaphore = client.permit_semaphore("permits", lease=60)
        semaphore.try_set_permits(1)
        assert semaphore.acquire()
        assert [info.name for info in inspect.locks(client)] == sorted([*NAMES, "permits"])
        assert [info.name for info in inspect.locks(client, "[ab]")] == ["a", "b"]
        assert all(inspect.lock(client, name) for name in NAMES)
        assert inspect.force_release(client, "a")
        assert inspect.lock(client, "a") is None


def test_locks_in_a_slot_that_moves_are_seen(cluster: Cluster) -> None:
    cluster.flush()
    with holdfast.Client(cluster.url, lease=60) as client:
        client.lock("{t}1").acquire()
        client.lock("{t}2").acquire()
        source, target = cluster.begin_migration("{t}1")
        cluster.migrate(source, target, ["{t}1"])
        assert [info.name for info in inspect.locks(client)] == ["{t}1", "{t}2"]
        found = inspect.lock(client, "{t}1")
        assert found is not None
        assert len(found.owners) == 1
        cluster.migrate(source, target, ["{t}2"])
        cluster.end_migration(source, target, "{t}1")
        assert [info.name for info in inspect.locks(client)] == ["{t}1", "{t}2"]


def test_waiters_of_a_cluster_are_counted(cluster: Cluster) -> None:
    cluster.flush()
    with (
        holdfast.Client(cluster.url, lease=60) as client,
        holdfast.Client(cluster.url) as other,
    ):
        client.lock("demo").acquire()
        waiter = threading.Thread(target=other.lock("demo").acquire)
        waiter.start()
        eventually(lambda: inspect.locks(client)[0].waiters == 1, what="the waiter is counted")
        client.lock("demo").release()
        waiter.join()


def test_the_primary_of_a_service_is_read() -> None:
    with Service("redis") as service, holdfast.Client(service.url, lease=60) as client:
        client.lock("demo").acquire()
        assert [info.name for info in inspect.locks(client)] == ["demo"]
        service.replicated()
        service.fail_over()
        assert [info.name for info in inspect.locks(client)] == ["demo"]
