"""Fixtures of the topology tests: real clusters, services under Sentinel, and their owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.clusters import Cluster
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"

LONG = 120.0
"""A lease that explains no wake-up."""

LASTING = 3.0
"""A watchdog lease that is renewed each second: a busy machine keeps it."""


@pytest.fixture(scope="session")
def running_clusters() -> Iterator[dict[str, Cluster]]:
    """The session's clusters by kind, formed when first asked for."""
    clusters: dict[str, Cluster] = {}
    yield clusters
    for cluster in clusters.values():
        cluster.close()


@pytest.fixture
def cluster(server_kind: str, running_clusters: dict[str, Cluster]) -> Iterator[Cluster]:
    """A cluster without keys. A test may break it: what it stopped is started again."""
    if server_kind not in running_clusters:
        running_clusters[server_kind] = Cluster(server_kind).__enter__()
    cluster = running_clusters[server_kind]
    cluster.flush()
    yield cluster
    cluster.heal()


@pytest.fixture
def near(cluster: Cluster, make_client: Callable[..., Any]) -> Any:
    """A lock with a lease that ends no wait."""
    return make_client(cluster.url, lease=LONG).lock(NAME)


@pytest.fixture
def far(cluster: Cluster, make_client: Callable[..., Any]) -> Any:
    """The same lock, of another client."""
    return make_client(cluster.url, lease=LONG).lock(NAME)


def wait(cluster: Cluster, actor: Any, lock: Any, channel: str = CHANNEL) -> Future[Any]:
    """Let `actor` wait for `lock`, as the only one; returns once it has subscribed."""
    eventually(lambda: cluster.subscribers(channel) == 0)  # those of earlier waits linger
    waiting: Future[Any] = actor.begin(lock.acquire)
    eventually(lambda: waiting.done() or cluster.subscribers(channel) > 0)
    assert not waiting.done()
    return waiting


@pytest.fixture
def client_of(cluster: Cluster, make_client: Callable[..., Any]) -> Any:
    """A client of the cluster."""
    return make_client(cluster.url)


MakeService = Callable[..., Service]


@pytest.fixture
def make_service(server_kind: str) -> Iterator[MakeService]:
    """Start a service of the test's own: see `Service` for the options."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Service(server_kind, **options))


@pytest.fixture
def service(make_service: MakeService) -> Service:
    """A primary, two replicas and three sentinels of the test's own, to be broken at will."""
    return make_service()


def begin_waiting(actor: Any, lock: Any, service: Service, waiters: int = 1) -> Any:
    """Let `actor` wait for `lock`; returns when the primary has `waiters` subscribers."""
    waiting = actor.begin(lock.acquire)
    eventually(lambda: service.primary.subscribers(CHANNEL) == waiters)
    return waiting


def refuse_demotion(primary: Server) -> None:
    """From now on the sentinels cannot tell it that it is a replica, as if it were cut off."""
    primary.inspect.execute_command("ACL", "SETUSER", "default", "-slaveof", "-replicaof")
