"""Connections that are cut, silent, slow or deaf while commands are on their way."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import (
    CHANNEL,
    IMPATIENT,
    LASTING,
    NAME,
    SHORT,
    holds,
)
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, stays


def test_a_cut_between_commands_is_not_noticed(
    alice: Any, far: Any, proxy: FaultProxy, server: Server
) -> None:
    """connection-reset: a reset command connection is opened again; the hold and its count stay."""
    alice.do(far.acquire)
    for expected in (2, 3):
        proxy.cut()
        assert alice.do(far.acquire)
        assert list(holds(server).values()) == [expected]
    for _ in range(3):
        proxy.cut()
        alice.do(far.release)
    assert server.keys() == set()


def test_a_half_closed_connection_is_left(
    alice: Any, far: Any, proxy: FaultProxy, server: Server
) -> None:
    """slow-link: a server that will send nothing more is as good as gone."""
    alice.do(far.acquire)
    proxy.half_close()
    alice.do(far.release)
    assert server.keys() == set()


def test_after_a_cut_holds_are_verified_at_once(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """connection-reset, I2.

    A hold that vanished during the cut is reported now, not at the next renewal.
    """
    far = make_client(proxy.url, lease=3600).lock(NAME)
    alice.do(far.acquire)
    proxy.refuse()
    server.inspect.delete(NAME)
    proxy.heal()
    eventually(lambda: alice.do(lambda: far.lost))
    with pytest.raises(holdfast.LockLostError):
        alice.do(far.release)


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
def test_acquire_executed_but_its_reply_lost(
    alice: Any, far: Any, proxy: FaultProxy, server: Server, kept: int
) -> None:
    """lost-reply: the repeated acquire finds its own hold.

    The count stays what the caller believes.
    """
    for expected in (1, 2):
        lost = proxy.truncate_reply(kept)
        assert alice.do(far.acquire) is True
        assert lost.is_set()
        assert list(holds(server).values()) == [expected]
    alice.do(far.release)
    alice.do(far.release)
    assert server.keys() == set()


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
def test_release_executed_but_its_reply_lost(
    alice: Any, far: Any, proxy: FaultProxy, server: Server, kept: int
) -> None:
    """lost-release: the repeated release finds it done: no error, no hold too few, nothing left."""
    alice.do(far.acquire)
    alice.do(far.acquire)
    for expected in ([1], []):
        lost = proxy.truncate_reply(kept)
        alice.do(far.release)
        assert lost.is_set()
        assert list(holds(server).values()) == expected
    assert not alice.do(lambda: far.lost)
    assert alice.do(far.acquire, blocking=False)
    assert list(holds(server).values()) == [1]


class Follower:
    """The owner that waits for what another one holds."""

    def __init__(self, actor: Any, lock: Any, server: Server) -> None:
        self.actor = actor
        self.lock = lock
        self._server = server

    def wait(self) -> Future[Any]:
        """Begin to wait; returns once it is subscribed."""
        waiting: Future[Any] = self.actor.begin(self.lock.acquire)
        eventually(lambda: self._server.subscribers(CHANNEL) == 1)
        return waiting


@pytest.fixture(params=["near", "far"])
def follower(request: pytest.FixtureRequest, bob: Any, server: Server) -> Follower:
    """An owner with a separate client, or with the holder's."""
    return Follower(bob, request.getfixturevalue(request.param), server)


def test_a_repeated_release_leaves_the_next_owner_alone(
    alice: Any, far: Any, follower: Follower, proxy: FaultProxy
) -> None:
    """lost-release: the waiter that the lost release let in keeps what it was granted."""
    alice.do(far.acquire)
    waiting = follower.wait()
    lost = proxy.lose_reply()
    alice.do(far.release)
    assert lost.is_set()
    assert waiting.result(BOUND) is True
    assert follower.actor.do(follower.lock.hold_count) == 1
    assert not alice.do(lambda: far.lost)
    follower.actor.do(follower.lock.release)


@pytest.mark.realtime
def test_renewal_executed_but_its_reply_lost(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """connection-reset, lost-reply.

    A renewal is repeated at once, not a third of the lease later.
    """
    lock = make_client(proxy.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    for _ in range(3):
        lost = proxy.lose_reply(of_watchdog=True)
        eventually(lost.is_set)
    see_renewals(server)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)


@pytest.mark.realtime
def test_renewals_that_cross_a_release_tell_no_loss(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """crossing-renewal: while the release is on its way renewals fall due.

    Nothing is lost, nothing renewed.
    """
    told: list[Any] = []
    # The grant takes 0.4 s on its way, the release as long; a renewal is due 0.5 s after the start.
    lock = make_client(proxy.url, lease=1.5).lock(NAME, on_lost=told.append)
    alice.do(lock.acquire)
    proxy.delay(0.2)
    for _ in range(3):
        alice.do(lock.release)
        assert server.keys() == set()
        assert not alice.do(lambda: lock.lost)
        alice.do(lock.acquire)
    alice.do(lock.release)
    stays(lambda: server.keys() == set(), during=0.75)
    assert told == []


@pytest.mark.realtime
def test_a_black_hole_is_reported_at_the_deadline(
    alice: Any, make_client: MakeClient, proxy: FaultProxy
) -> None:
    """silent-network: no reset, no reply: the local timer tells the loss when the lease is over."""
    told: list[Any] = []
    lock = make_client(proxy.url, lease=SHORT).lock(NAME, on_lost=told.append)
    watch = Stopwatch()
    alice.do(lock.acquire)
    proxy.black_hole()
    eventually(lambda: alice.do(lambda: lock.lost))
    assert watch.seconds > SHORT / 2, "told while the lease was still good"
    eventually(lambda: told == [lock])


@pytest.mark.realtime
def test_a_black_hole_that_ends_in_time_costs_nothing(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """silent-network, stalled-server.

    A renewal that comes through before the deadline keeps the hold.
    """
    lock = make_client(proxy.url, lease=3).lock(NAME)
    alice.do(lock.acquire)
    proxy.black_hole()
    eventually(lambda: server.inspect.pttl(NAME) < 1500)
    proxy.heal()
    eventually(lambda: server.inspect.pttl(NAME) > 2000)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)


@pytest.mark.realtime
def test_a_command_into_a_black_hole_ends(
    alice: Any, make_client: MakeClient, proxy: FaultProxy
) -> None:
    """silent-network: command_timeout bounds the whole exchange; the message names the server."""
    lock = make_client(proxy.url, command_timeout=IMPATIENT).lock(NAME)
    assert not alice.do(lock.locked)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=str(proxy.port)):
        alice.do(lock.acquire)


@pytest.mark.realtime
def test_an_acquire_that_failed_leaves_no_hold_behind(
    alice: Any, bob: Any, make_client: MakeClient, near: Any, proxy: FaultProxy
) -> None:
    """I7: executed, but the caller got an error: the hold is given back, or never renewed."""
    lock = make_client(proxy.url, command_timeout=IMPATIENT, lease=LASTING).lock(NAME)
    assert not alice.do(lock.locked)
    proxy.stall()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(lock.acquire)
    proxy.heal()
    assert bob.do(near.acquire, timeout=BOUND)


@pytest.mark.realtime
@pytest.mark.awaited
def test_a_release_that_cannot_be_sent_goes_on_in_the_background(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """lost-release: ConnectionError at once, and free long before the lease is over."""
    lock = make_client(proxy.url, command_timeout=IMPATIENT).lock(NAME)
    alice.do(lock.acquire, lease=3600)
    proxy.refuse()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(lock.release)
    assert holds(server)
    proxy.heal()
    eventually(lambda: server.keys() == set())


@pytest.mark.realtime
@pytest.mark.awaited
def test_a_release_that_failed_may_be_called_again(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """lost-release: and then it succeeds, whether the background or the caller was first."""
    lock = make_client(proxy.url, command_timeout=2 * IMPATIENT).lock(NAME)
    alice.do(lock.acquire)
    proxy.refuse()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(lock.release)
    proxy.heal()
    alice.do(lock.release)
    assert server.keys() == set()
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)


@pytest.mark.realtime
def test_slow_and_sliced_but_correct(
    alice: Any, bob: Any, near: Any, far: Any, proxy: FaultProxy
) -> None:
    """slow-link: 200 ms and single bytes are no reason to take a lock for busy or lost."""
    proxy.delay(0.2)
    assert alice.do(far.acquire)
    waiting = bob.begin(near.acquire)
    alice.do(far.release)
    assert waiting.result(BOUND) is True
    proxy.heal()
    proxy.slices(1)
    again = alice.begin(far.acquire)
    bob.do(near.release)
    assert again.result(BOUND) is True
    alice.do(far.release)


@pytest.mark.realtime
def test_a_lease_shorter_than_the_way_is_no_grant(
    alice: Any, far: Any, proxy: FaultProxy, server: Server
) -> None:
    """expired-on-arrival: expired on arrival is not held.

    Never True for a lock that is already free again.
    """
    assert not alice.do(far.locked)
    proxy.delay(0.1)
    outcome = alice.begin(far.acquire, blocking=False, lease=0.05)
    assert outcome.exception(BOUND) is not None or outcome.result() is False
    proxy.heal()
    eventually(lambda: server.keys() == set())


@pytest.mark.servers("real")
def test_messages_missed_while_deaf_are_made_up_for(
    alice: Any, bob: Any, near: Any, far: Any, proxy: FaultProxy
) -> None:
    """lost-subscription, I4: the release happens while the waiter has no connection.

    It asks when it has one.
    """
    alice.do(near.acquire, lease=3600)
    server_side = bob.begin(far.acquire)
    eventually(lambda: proxy.connections >= 2 or server_side.done())
    proxy.refuse()
    alice.do(near.release)
    proxy.heal()
    assert server_side.result(BOUND) is True


@pytest.mark.servers("real")
@pytest.mark.parametrize("type_", ["pubsub", "normal"])
def test_killed_connections_wake_no_waiter_in_vain(
    alice: Any, bob: Any, near: Any, server: Server, type_: str
) -> None:
    """connection-reset, lost-subscription.

    CLIENT KILL of either connection under a holder and a waiter, many times.
    """
    alice.do(near.acquire, lease=3600)
    waiting = bob.begin(near.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    for _ in range(10):
        server.kill_connections(type_)
        eventually(lambda: server.subscribers(CHANNEL) == 1)
    assert not waiting.done()
    alice.do(near.release)
    assert waiting.result(BOUND) is True
    assert len(holds(server)) == 1


@pytest.mark.servers("real")
def test_released_just_as_the_subscription_dies(
    alice: Any, bob: Any, near: Any, make_client: MakeClient, server: Server
) -> None:
    """lost-subscription: the message is lost with the connection: the waiter still gets in."""
    other = make_client(server.url).lock(NAME)  # within a client it would be handed over
    for _ in range(20):
        alice.do(other.acquire, lease=3600)
        waiting = bob.begin(near.acquire)
        eventually(lambda: server.subscribers(CHANNEL) == 1)
        server.kill_connections("pubsub")
        alice.do(other.release)
        assert waiting.result(BOUND) is True
        bob.do(near.release)


def test_cuts_at_random_moments_break_no_promise(
    make_client: MakeClient, make_actor: Any, proxy: FaultProxy, server: Server
) -> None:
    """connection-reset, lost-reply, lost-release.

    Sections under cuts and lost replies never overlap and leave nothing.
    """
    inside: list[int] = []

    def sections(number: int, lock: Any) -> Any:
        while not over:
            assert (yield lock.acquire(timeout=BOUND))
            inside.append(number)
            assert inside == [number]
            inside.clear()
            done.append(number)
            yield lock.release()

    done: list[int] = []
    over: list[bool] = []
    clients = [make_client(proxy.url) for _ in range(2)]
    running = [make_actor().begin(sections, n, clients[n % 2].lock(NAME)) for n in range(4)]

    try:
        for _ in range(20):
            _lose_one_reply_and_cut(proxy, done)
    finally:
        over.append(True)
    for each in running:
        each.result(3 * BOUND)
    eventually(lambda: server.keys() == set())


def _lose_one_reply_and_cut(proxy: FaultProxy, done: list[int]) -> None:
    """One fault of each sort, and then a section that gets through."""
    lost = proxy.lose_reply()
    eventually(lost.is_set)
    before = len(done)
    proxy.cut()
    eventually(lambda: len(done) > before)
