"""What is built on locks works in a cluster and behind sentinels as on one server."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.test_holders_of_kinds import MAKES, Case, check
from tests.support.actors import Flavour
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

LONG = 180.0
"""Seconds that a busy machine may take to fail over."""


@pytest.mark.parametrize("name", ["mySlots", "{tag}:slots", "slots {with} braces"])
def test_slots_of_a_cluster_are_in_one_of_its_slots(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, name: str
) -> None:
    mine, theirs = (make_client(cluster.url).slots(name, ["a", "b"]) for _ in range(2))
    taken = [alice.do(mine.acquire) for _ in range(2)]
    assert [slot.value for slot in taken] == ["a", "b"]
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: cluster.listeners("redisson_sc:{" + name + "}") > 0 or "{" in name)
    alice.do(taken[0].release)
    assert waiting.result(BOUND).value == "a"
    assert list(alice.do(theirs.taken)) == [0, 1]


@pytest.mark.parametrize("name", ["myBarrier", "{tag}:barrier", "barrier {with} braces"])
def test_the_parties_of_a_barrier_in_a_cluster_go_on_together(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, name: str
) -> None:
    mine, theirs = (make_client(cluster.url).barrier(name, 2) for _ in range(2))
    for _ in range(2):
        waiting = bob.begin(theirs.wait)
        met = {alice.do(mine.wait), waiting.result(BOUND)}
        assert met == {0, 1}
    waiting = bob.begin(theirs.wait)
    alice.do(mine.abort)
    with pytest.raises(holdfast.BrokenBarrierError):
        waiting.result(BOUND)


def test_a_party_that_waits_survives_a_failover(
    service: Service, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    mine, theirs = (
        make_client(service.url, lease=24.0, command_timeout=LONG).barrier("myBarrier", 2)
        for _ in range(2)
    )
    waiting = bob.begin(theirs.wait)
    eventually(lambda: service.primary.inspect.exists("holdfast_state:{myBarrier}") == 1)
    service.fail_over()
    assert alice.do(mine.wait) == 1
    assert waiting.result(BOUND) == 0


def test_a_slot_survives_a_failover(service: Service, make_client: MakeClient, alice: Any) -> None:
    slots = make_client(service.url, lease=24.0, command_timeout=LONG).slots("mySlots", 2)
    slot = alice.do(slots.acquire)
    service.fail_over()
    assert alice.do(slots.acquire).index == 1
    assert list(alice.do(slots.taken)) == [0, 1]
    assert not slot.lost
    alice.do(slot.release)
    assert alice.do(slots.acquire).token > slot.token


@pytest.mark.parametrize("name", ["myLeader", "{tag}:leader", "leader {with} braces"])
def test_a_leader_of_a_cluster_is_in_one_of_its_slots(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, name: str
) -> None:
    mine, theirs = (make_client(cluster.url).leader(name, value=v) for v in ("a", "b"))
    assert alice.do(mine.campaign) is True
    assert alice.do(theirs.current).value == "a"
    waiting = bob.begin(theirs.campaign)
    eventually(lambda: theirs._client.stats().waiting == 1)
    alice.do(mine.resign)
    assert waiting.result(BOUND) is True
    assert alice.do(mine.current).value == "b"
    bob.do(theirs.resign)


def test_a_watch_in_a_cluster_sees_each_change(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    mine, theirs = (make_client(cluster.url).leader("myLeader", value=v) for v in ("a", "b"))
    seen = theirs.watch()
    step = getattr(seen, "__anext__", None) or seen.__next__
    assert bob.do(step) is None
    change = bob.begin(step)
    eventually(lambda: cluster.listeners("holdfast_changed:{myLeader}") > 0)
    alice.do(mine.campaign)
    assert change.result(BOUND).value == "a"
    alice.do(mine.resign)
    assert bob.do(step) is None


def test_a_leader_survives_a_failover(
    service: Service, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    leader, other = (
        make_client(service.url, lease=24.0, command_timeout=LONG).leader("myLeader", value=v)
        for v in ("a", "b")
    )
    alice.do(leader.campaign)
    token = leader.token
    waiting = bob.begin(other.campaign)
    eventually(lambda: other._client.stats().waiting == 1)
    service.fail_over()
    assert alice.do(other.current).value == "a"
    assert leader.leading
    alice.do(leader.set_value, "c")
    alice.do(leader.resign)
    assert waiting.result(LONG) is True
    assert other.token > token
    bob.do(other.resign)


@pytest.mark.parametrize("kind", MAKES)
def test_every_kind_names_its_holders_in_a_cluster(
    cluster: Cluster, flavour: Flavour, make_client: MakeClient, bob: Any, kind: str
) -> None:
    """Its holders are in a slot of the name, what their clients say in another."""
    check(Case(kind, flavour, make_client, cluster.url), bob)
