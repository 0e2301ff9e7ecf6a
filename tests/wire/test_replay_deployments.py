"""What Redisson was recorded to do in a cluster, and with a replica, holdfast does there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clusters import LoneCluster
from tests.support.owners import MakeActor, MakeClient
from tests.support.replicas import Replicated
from tests.wire.differences import ours
from tests.wire.recordings import Scenario
from tests.wire.replay import Replay
from tests.wire.test_replay import scenarios

HEARS = {"3.17.6": "classic", "4.7.0": "auto"}
"""The `pubsub` that a version's waiters need; "auto" decides as the newer one does."""


@pytest.fixture(scope="module")
def lone_cluster() -> Iterator[LoneCluster]:
    """A cluster whose one server has all slots."""
    with LoneCluster() as cluster:
        yield cluster


@pytest.mark.servers("redis")
@pytest.mark.parametrize("scenario", scenarios(("cluster",)))
def test_in_a_cluster(
    scenario: Scenario,
    server_kind: str,
    lone_cluster: LoneCluster,
    make_client: MakeClient,
    make_actor: MakeActor,
) -> None:
    """Keys are in their name's slot, and messages go by the same command to the same channels."""
    assert server_kind == lone_cluster.kind
    lone_cluster.flush()
    url = f"redis+cluster://127.0.0.1:{lone_cluster.port}"
    clients = {
        part: make_client(url, lease=lease, pubsub=HEARS[scenario.version])
        for part, lease in scenario.leases.items()
    }
    with Replay(lone_cluster, clients, lambda _: make_actor(), in_cluster=True) as replay:
        replay.run(ours(scenario))


@pytest.mark.servers("real")
@pytest.mark.parametrize("replicas", [0, 1], ids=["unasked", "asked"])
@pytest.mark.parametrize("scenario", scenarios(("replica",)))
def test_with_a_replica(
    scenario: Scenario,
    replicated: Replicated,
    make_client: MakeClient,
    make_actor: MakeActor,
    replicas: int,
) -> None:
    """No WAIT is sent, as by Redisson; where it is to be, all that others see is the same."""
    primary = replicated.primary
    clients = {
        part: make_client(primary.url, lease=lease, replicas_to_wait=replicas)
        for part, lease in scenario.leases.items()
    }
    with primary.recording() as recording:
        with Replay(primary, clients, lambda _: make_actor()) as replay:
            replay.run(ours(scenario))
        assert (recording.count()["WAIT"] > 0) == (replicas > 0)
