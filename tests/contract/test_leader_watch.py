"""Observers of a leader: they see each change, and each end, of a leadership."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.contract.leaders import NAME, STATE, MakeLeader, Watching, said
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, settled, stays

# Of trio, for a watch that its task leaves as it is.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")


def test_a_watch_shows_the_leader_and_each_change(
    leader: Any, other: Any, alice: Any, bob: Any, server: Server
) -> None:
    watching = Watching(bob, other)
    assert watching.next() is None
    step = watching.waits(server)
    alice.do(leader.campaign)
    assert said(step.result(BOUND)) == ("first", leader.token)
    step = watching.waits(server)
    alice.do(leader.set_value, "other")
    assert step.result(BOUND).value == "other"
    step = watching.waits(server)
    alice.do(leader.resign)
    assert step.result(BOUND) is None
    step = watching.waits(server)
    alice.do(other.campaign)
    assert said(step.result(BOUND)) == ("second", other.token)


def redisson_releases(server: Server) -> None:
    """As Redisson does: DEL of the hash, and a message on the lock's channel."""
    server.inspect.delete(NAME)
    server.inspect.publish("redisson_lock__channel:{myLeader}", "0")


@pytest.fixture
def lasting(make_client: MakeClient, make_leader: MakeLeader) -> Any:
    """A candidate whose lease does not end in a test."""
    return make_leader("first", make_client(lease=4 * BOUND))


class Ending:
    """Ends the leadership without its leader."""

    def __init__(self, server: Server, end: Callable[[], Any]) -> None:
        self.server = server
        self._end = end

    def __call__(self) -> None:
        self._end()


@pytest.fixture(params=["force_release", "another program"])
def end_by_force(request: pytest.FixtureRequest, server: Server, alice: Any, client: Any) -> Ending:
    if request.param == "another program":
        return Ending(server, lambda: redisson_releases(server))
    return Ending(server, lambda: alice.do(client.fenced_lock(NAME).force_release))


def test_a_watch_sees_a_leadership_that_ends_without_a_resignation(
    lasting: Any, other: Any, alice: Any, bob: Any, end_by_force: Any
) -> None:
    """By the message of the lock's release, whichever program sends it; not at a lease's end."""
    alice.do(lasting.campaign)
    watching = Watching(bob, other)
    assert said(watching.next()) == ("first", lasting.token)
    seen = watching.waits(end_by_force.server)
    end_by_force()
    assert seen.result(BOUND) is None


def test_a_candidate_whose_election_has_no_reply_is_not_seen_any_more(
    make_client: MakeClient, make_leader: MakeLeader, alice: Any, bob: Any, server: Server
) -> None:
    """It never led: what it has announced is withdrawn with its lock, not with its lease."""
    with FaultProxy(server.port) as proxy:
        far = make_client(proxy.url, lease=4 * BOUND, command_timeout=1)
        candidate = make_leader("candidate", far)
        alice.do(candidate.current)
        proxy.pass_one_more()
        with pytest.raises(holdfast.ConnectionError):
            alice.do(candidate.campaign)
        eventually(lambda: server.inspect.exists(STATE))
        proxy.heal()
        eventually(lambda: not server.inspect.exists(STATE) and not server.inspect.exists(NAME))
    assert bob.do(make_leader("other", make_client()).current) is None


def test_a_watch_ends_with_its_time(leader: Any, alice: Any) -> None:
    watching = Watching(alice, leader, timeout=0.2)
    assert watching.next() is None
    with pytest.raises((StopIteration, StopAsyncIteration, RuntimeError)):
        watching.next()


@pytest.mark.servers("real")
def test_a_watch_sends_nothing_while_nothing_changes(
    make_client: MakeClient, make_leader: MakeLeader, alice: Any, bob: Any, server: Server
) -> None:
    leader, other = (make_leader(of=make_client(tracking="off")) for _ in range(2))
    alice.do(leader.campaign)
    watching = Watching(bob, other)
    watching.next()
    step = watching.waits(server)
    before = settled(server.scripts_run)
    stays(lambda: server.scripts_run() == before, 0.3)
    alice.do(leader.resign)
    assert step.result(BOUND) is None


def test_a_bad_timeout_of_a_watch_is_refused_at_once(leader: Any) -> None:
    with pytest.raises(ValueError, match="timeout"):
        leader.watch(timeout=-2)
