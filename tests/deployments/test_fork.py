"""`os.fork` with a client of several servers: see tests/faults/test_fork.py for one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, NAME
from tests.support.clusters import Cluster
from tests.support.processes import Child, StartChild
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [pytest.mark.servers("real")]

LONG = 180.0
"""Seconds that a busy machine may take to fail over."""

NAMES = [NAME, *(f"lock-{n}" for n in range(6))]
"""Their slots are on all servers of a cluster."""

HOLDING = """
client = holdfast.Client(URL, lease=60, command_timeout=LONG)
locks = [client.lock(name) for name in NAMES]
for lock in locks:
    lock.acquire()
identity = client.id
say("ready")
hear("fork")
if os.fork() == 0:
    say("child", client.id != identity, any(lock.lost or lock.owned() for lock in locks))
    say("tries", any(lock.acquire(blocking=False) for lock in locks))
    with client.lock("of the child") as own:
        say("own", own.hold_count())
    say("got", locks[0].acquire(), locks[0].hold_count())
    locks[0].release()
    client.close()
    os._exit(0)
hear("release")
say("parent", client.id == identity, any(l.lost for l in locks), all(l.owned() for l in locks))
for lock in locks:
    lock.release()
say("code", os.wait()[1])
"""


def _fork(parent: Child) -> None:
    """The child has a new id, holds nothing, gets nothing that the parent holds."""
    parent.send("fork")
    assert parent.expect("child") == ["True", "False"]
    assert parent.expect("tries") == ["False"]
    assert parent.expect("own") == ["1"]


def _release(parent: Child) -> None:
    """The parent noticed nothing; the child, which waits, is woken by its release."""
    parent.send("release")
    assert parent.expect("parent") == ["True", "False", "True"]
    # The two may speak in either order.
    said = dict(parent.next_line(LONG).split(maxsplit=1) for _ in range(2))
    assert said == {"got": "True 1", "code": "0"}


def _streams(servers: list[Server]) -> set[tuple[int, str]]:
    """The connections that a program made to these servers: (port, id)."""
    ours = ("evalsha", "eval", "hello", "cluster|slots", "pubsub|shardnumsub", "ssubscribe")
    every = [(server.port, each) for server in servers for each in server.connections()]
    return {(port, each["id"]) for port, each in every if each["cmd"] in ours}


def test_a_cluster_client_is_forked_while_it_holds(
    cluster: Cluster, start_child: StartChild
) -> None:
    """forked-process: on every server.

    The child's connections are its own, the parent's stay as they were.
    """
    parent = start_child(HOLDING, URL=cluster.url, NAMES=NAMES, LONG=LONG)
    parent.expect("ready")
    before = _streams(cluster.servers)
    assert len({port for port, _ in before}) >= 3
    _fork(parent)
    eventually(lambda: cluster.subscribers(CHANNEL) == 1)
    assert before <= _streams(cluster.servers)
    assert all(list(cluster.holders(name).values()) == [1] for name in NAMES)
    _release(parent)
    assert cluster.keys() == set()


def test_child_and_parent_follow_a_failover_of_a_cluster(
    cluster: Cluster, start_child: StartChild
) -> None:
    """forked-process: each has separate threads that learn the new slots."""
    parent = start_child(HOLDING, URL=cluster.url, NAMES=NAMES, LONG=LONG)
    parent.expect("ready")
    _fork(parent)
    eventually(lambda: cluster.subscribers(CHANNEL) == 1)
    replica = cluster.replica_of(cluster.primary_of(NAME))
    cluster.fail_over(replica)
    eventually(lambda: cluster.sharded(CHANNEL, replica) == 1)
    _release(parent)
    assert cluster.keys() == set()


def test_child_and_parent_follow_a_failover_under_sentinel(
    service: Service, start_child: StartChild
) -> None:
    """forked-process: each has separate streams to the sentinels."""
    parent = start_child(HOLDING, URL=service.url, NAMES=NAMES, LONG=LONG)
    parent.expect("ready")
    before = _streams([service.primary])
    _fork(parent)
    eventually(lambda: service.primary.subscribers(CHANNEL) == 1)
    assert before <= _streams([service.primary])
    service.replicated()
    new = service.fail_over()
    eventually(lambda: new.subscribers(CHANNEL) == 1)
    _release(parent)
    assert new.keys() == set()


ONE_RENEWS = """
client = holdfast.Client(URL, lease=3)
lock = client.lock(NAME)
lock.acquire()
if os.fork() == 0:
    client.ping()
    say("child", os.getpid())
    signal.pause()
signal.pause()
"""

Deployment = tuple[str, Callable[[], set[bytes]]]


@pytest.fixture(params=["cluster", "service"])
def deployment(request: pytest.FixtureRequest, server_kind: str) -> Deployment:
    """A URL, and how to see all keys there."""
    of: Any = request.getfixturevalue(request.param)
    return of.url, of.keys if isinstance(of, Cluster) else of.primary.keys


@pytest.mark.realtime
def test_only_the_parent_renews(deployment: Deployment, start_child: StartChild) -> None:
    """forked-process: with a living child, the hold ends with the parent."""
    url, keys = deployment
    parent = start_child(ONE_RENEWS, URL=url, NAME=NAME)
    child = int(parent.expect("child")[0])
    assert keys() == {NAME.encode()}
    parent.kill()
    try:
        eventually(lambda: not keys())
    finally:
        os.kill(child, signal.SIGKILL)
