"""The latch: waiters return when the count has reached zero, whatever happens then."""

from __future__ import annotations

import math
from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import latch_channel
from tests.support.actors import Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.recording import Recording
from tests.support.servers import Server
from tests.support.waiting import BOUND, SOON, Stopwatch, eventually, stays

NAME = "myLatch"
CHANNEL = latch_channel(NAME)
MOST = 2**31 - 1
OPEN, CLOSED = "0", "1"


@pytest.fixture
def latch(client: Any) -> Any:
    return client.count_down_latch(NAME)


def wait(server: Server, actor: Any, latch: Any, clients: int = 1, **how: Any) -> Future[Any]:
    """Let an owner wait; returns once its client listens."""
    waiting: Future[Any] = actor.begin(latch.wait, **how)
    eventually(lambda: waiting.done() or server.subscribers(CHANNEL) == clients)
    return waiting


# ---- counting


def test_without_a_count_it_is_open(alice: Any, latch: Any) -> None:
    assert alice.do(latch.count) == 0
    assert alice.do(latch.wait) is True
    assert alice.do_briefly(latch.wait, timeout=0) is True
    assert alice.do(latch.count_down) is None
    assert alice.do(latch.delete) is False


def test_it_counts_down(alice: Any, bob: Any, latch: Any, server: Server) -> None:
    assert alice.do(latch.try_set_count, 2) is True
    assert alice.do_briefly(latch.wait, timeout=0) is False
    bob.do(latch.count_down)
    assert alice.do(latch.count) == 1
    bob.do(latch.count_down)
    assert alice.do(latch.count) == 0
    assert alice.do(latch.wait) is True
    assert server.inspect.get(NAME) is None


def test_a_count_is_set_once(alice: Any, latch: Any) -> None:
    assert alice.do(latch.try_set_count, 2) is True
    assert alice.do(latch.try_set_count, 7) is False
    assert alice.do(latch.count) == 2


def test_it_is_closed_again_after_it_has_opened(alice: Any, latch: Any) -> None:
    for _ in range(3):
        assert alice.do(latch.try_set_count, 1) is True
        assert alice.do(latch.wait, 0) is False
        alice.do(latch.count_down)
        assert alice.do(latch.wait, 0) is True


@pytest.mark.parametrize("count", [0, -2])
def test_a_count_of_zero_or_less_is_open(
    alice: Any, latch: Any, server: Server, count: int
) -> None:
    server.inspect.set(NAME, count)
    assert alice.do(latch.wait) is True
    assert alice.do(latch.count) == 0


def test_a_latch_is_deleted(alice: Any, latch: Any) -> None:
    alice.do(latch.try_set_count, 2)
    assert alice.do(latch.delete) is True
    assert alice.do(latch.delete) is False
    assert alice.do(latch.count) == 0


# ---- waiting


def test_all_who_wait_get_out(
    alice: Any, make_client: MakeClient, make_actor: MakeActor, server: Server
) -> None:
    clients = [make_client() for _ in range(2)]
    latches = [client.count_down_latch(NAME) for client in clients]
    alice.do(latches[0].try_set_count, 2)
    waiting = [make_actor().begin(latches[n % 2].wait) for n in range(8)]
    eventually(lambda: server.subscribers(CHANNEL) == 2)
    alice.do(latches[0].count_down)
    assert not any(each.done() for each in waiting)
    alice.do(latches[1].count_down)
    assert [each.result(SOON) for each in waiting] == [True] * 8
    eventually(lambda: server.subscribers(CHANNEL) == 0)


def test_waiters_return_even_if_it_is_closed_again_at_once(
    alice: Any, latch: Any, make_client: MakeClient, make_actor: MakeActor, server: Server
) -> None:
    """On the server both happen before anybody can look."""
    server.inspect.set(NAME, 1)
    latches = [make_client().count_down_latch(NAME) for _ in range(3)]
    waiting = [wait(server, make_actor(), each, n + 1) for n, each in enumerate(latches)]
    pipeline = server.inspect.pipeline(transaction=True)
    pipeline.publish(CHANNEL, OPEN).set(NAME, 5).publish(CHANNEL, CLOSED).execute()
    assert [each.result(SOON) for each in waiting] == [True] * 3
    assert alice.do(latch.wait, 0) is False


def test_a_deleted_latch_lets_everybody_out(
    alice: Any, bob: Any, latch: Any, server: Server
) -> None:
    alice.do(latch.try_set_count, 3)
    waiting = wait(server, bob, latch)
    assert alice.do(latch.delete) is True
    assert waiting.result(SOON) is True


@pytest.mark.parametrize("payload", [CLOSED, "-1", "", "no number"])
def test_any_message_makes_a_waiter_look(
    alice: Any, latch: Any, server: Server, payload: str
) -> None:
    server.inspect.set(NAME, 1)
    waiting = wait(server, alice, latch)
    server.inspect.publish(CHANNEL, payload)
    assert not waiting.done()
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, payload)
    assert waiting.result(SOON) is True


def queries(recording: Recording) -> int:
    """How often the count was asked for."""
    return sum(sent.name == "GET" for sent in recording.scripted)


def test_a_message_that_changes_nothing_releases_no_waiter(
    alice: Any, latch: Any, server: Server
) -> None:
    server.inspect.set(NAME, 2)
    if server.real:
        with server.recording() as recording:
            waiting = wait(server, alice, latch)
            eventually(lambda: queries(recording) == 2)  # once more when it listens
            server.inspect.publish(CHANNEL, CLOSED)
            eventually(lambda: queries(recording) == 3)
    else:
        waiting = wait(server, alice, latch)
    assert not waiting.done()
    server.inspect.publish(CHANNEL, OPEN)
    assert waiting.result(SOON) is True


@pytest.mark.costly
@pytest.mark.servers("real")
@pytest.mark.realtime
def test_an_opening_without_a_message_is_found_in_time(
    alice: Any, latch: Any, server: Server
) -> None:
    server.inspect.set(NAME, 1)
    waiting = wait(server, alice, latch)
    server.inspect.delete(NAME)
    assert waiting.result(BOUND) is True


@pytest.mark.costly
@pytest.mark.servers("real")
@pytest.mark.realtime
def test_nothing_is_sent_while_nothing_changes(alice: Any, latch: Any, server: Server) -> None:
    server.inspect.set(NAME, 1)
    with server.recording() as recording:
        waiting = wait(server, alice, latch)
        eventually(lambda: queries(recording) == 2)
    with server.recording() as recording:
        stays(lambda: not waiting.done(), during=0.8)
        assert recording.commands == []


@pytest.mark.realtime
def test_a_wait_ends_at_its_timeout(alice: Any, latch: Any, server: Server) -> None:
    alice.do(latch.try_set_count, 1)
    watch = Stopwatch()
    assert alice.do_briefly(latch.wait, timeout=0.15) is False
    assert watch.seconds >= 0.15
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    assert server.inspect.get(NAME) == b"1"


@pytest.mark.flavours("asyncio", "trio")
def test_a_cancelled_wait_leaves_nothing(latch: Any, flavour: Flavour, server: Server) -> None:
    server.inspect.set(NAME, 1)
    owner = flavour.actor()
    waiting = wait(server, owner, latch)
    owner.cancel()
    eventually(waiting.done)
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    assert server.keys() == {NAME.encode()}


def test_closing_the_client_ends_the_wait(
    alice: Any, bob: Any, client: Any, latch: Any, server: Server
) -> None:
    server.inspect.set(NAME, 1)
    waiting = wait(server, alice, latch)
    bob.do(client.close)
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        waiting.result(SOON)


# ---- arguments


@pytest.mark.values("count", [0, -1, MOST + 1, 2**63], ids=str)
def test_counts_that_cannot_be(alice: Any, deaf: Any, count: int) -> None:
    with pytest.raises(ValueError, match="n must be"):
        alice.do(deaf.count_down_latch(NAME).try_set_count, count)


@pytest.mark.values("count", [1.0, True, "1", None, math.nan], ids=repr)
def test_what_is_no_count(alice: Any, deaf: Any, count: Any) -> None:
    with pytest.raises(TypeError, match="n must be"):
        alice.do(deaf.count_down_latch(NAME).try_set_count, count)


@pytest.mark.values(
    ("timeout", "error"),
    [("1", TypeError), (-2, ValueError), (math.nan, ValueError), (math.inf, OverflowError)],
    ids=str,
)
def test_bad_timeouts(alice: Any, deaf: Any, timeout: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="timeout"):
        alice.do(deaf.count_down_latch(NAME).wait, timeout)


def test_the_greatest_count_is_javas(alice: Any, latch: Any) -> None:
    assert alice.do(latch.try_set_count, MOST) is True
    assert alice.do(latch.count) == MOST
