"""The semaphore: never more than the permits, and no waiter sleeps beside enough free permits."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import semaphore_channel
from tests.support.actors import PAUSE, Flavour
from tests.support.halting import others_sleep
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, SOON, Stopwatch, eventually, stays, timed_out

NAME = "mySemaphore"
CHANNEL = semaphore_channel(NAME)
MOST = 2**31 - 1


@pytest.fixture
def semaphore(client: Any) -> Any:
    return client.semaphore(NAME)


class Waiters:
    """Makes owners that wait for permits; knows when a waiter stands in line."""

    def __init__(self, server: Server, make_actor: MakeActor) -> None:
        self._server = server
        self._make_actor = make_actor

    def wait(self, semaphore: Any, permits: int = 1, **how: Any) -> Future[Any]:
        """Let a new owner wait; returns once it is subscribed and its next attempt was refused."""
        begin = partial(self._make_actor().begin, semaphore.acquire, permits=permits, **how)
        if not self._server.real:
            waiting: Future[Any] = begin()
            eventually(lambda: waiting.done() or self.subscribers > 0)
            return waiting
        with self._server.recording() as recording:
            waiting = begin()
            listening = self.subscribers
            tries = 1 if listening else 2
            eventually(lambda: waiting.done() or recording.count()["EVALSHA"] >= tries)
        return waiting

    @property
    def subscribers(self) -> int:
        return self._server.subscribers(CHANNEL)


@pytest.fixture
def waiters(server: Server, make_actor: MakeActor) -> Waiters:
    return Waiters(server, make_actor)


def all_done(waiting: list[Future[Any]]) -> bool:
    return all(each.done() for each in waiting)


def done(waiting: list[Future[Any]]) -> int:
    return sum(each.done() for each in waiting)


# ---- permits


def test_as_many_get_in_as_there_are_permits(alice: Any, bob: Any, semaphore: Any) -> None:
    assert alice.do(semaphore.try_set_permits, 2) is True
    assert alice.do(semaphore.acquire) is True
    assert bob.do(semaphore.acquire) is True
    assert alice.do(semaphore.acquire, blocking=False) is False
    assert bob.do(semaphore.available_permits) == 0
    bob.do(semaphore.release)
    assert alice.do(semaphore.acquire, blocking=False) is True


def test_without_a_number_there_are_no_permits(alice: Any, semaphore: Any, server: Server) -> None:
    assert alice.do(semaphore.available_permits) == 0
    assert alice.do(semaphore.acquire, False) is False
    assert alice.do_briefly(semaphore.acquire, timeout=0) is False
    assert alice.do(semaphore.drain_permits) == 0
    assert server.inspect.get(NAME) is None


def test_the_number_is_set_once(alice: Any, semaphore: Any) -> None:
    assert alice.do(semaphore.try_set_permits, 3) is True
    assert alice.do(semaphore.try_set_permits, 5) is False
    assert alice.do(semaphore.available_permits) == 3
    assert alice.do(semaphore.delete) is True
    assert alice.do(semaphore.delete) is False
    assert alice.do(semaphore.try_set_permits, 0) is True
    assert alice.do(semaphore.try_set_permits, 5) is False


def test_several_permits_are_taken_together_or_not_at_all(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.try_set_permits, 5)
    assert alice.do(semaphore.acquire, permits=3) is True
    assert alice.do(semaphore.acquire, False, permits=3) is False
    assert alice.do(semaphore.available_permits) == 2
    assert alice.do(semaphore.acquire, False, permits=2) is True


def test_permits_have_no_owner(alice: Any, bob: Any, semaphore: Any) -> None:
    alice.do(semaphore.try_set_permits, 1)
    alice.do(semaphore.acquire)
    bob.do(semaphore.release, 4)
    assert alice.do(semaphore.available_permits) == 4


def test_a_release_makes_the_semaphore(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.release, 2)
    assert alice.do(semaphore.available_permits) == 2


def test_permits_are_added_and_taken_away(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.try_set_permits, 3)
    for added, expected in ((2, 5), (-4, 1), (-4, -3), (0, -3), (4, 1)):
        alice.do(semaphore.add_permits, added)
        assert alice.do(semaphore.available_permits) == expected


def test_all_permits_are_drained(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.try_set_permits, 3)
    assert alice.do(semaphore.drain_permits) == 3
    assert alice.do(semaphore.available_permits) == 0
    alice.do(semaphore.add_permits, -2)
    assert alice.do(semaphore.drain_permits) == -2


def test_a_semaphore_has_room_for_as_many_as_java_counts(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.release, MOST)
    for call in (semaphore.release, semaphore.release_if_exists, semaphore.add_permits):
        with pytest.raises(holdfast.ServerError, match="OVERFLOW"):
            alice.do(call, 1)
    assert alice.do(semaphore.acquire, permits=MOST) is True


# ---- with


def test_with_takes_a_permit_and_gives_it_back(alice: Any, semaphore: Any) -> None:
    alice.do(semaphore.try_set_permits, 1)
    assert alice.inside(semaphore, lambda inside: inside.available_permits()) == 0
    assert alice.do(semaphore.available_permits) == 1
    assert alice.inside(semaphore, lambda inside: inside) is semaphore


@pytest.mark.flavours("sync")
def test_a_grant_whose_caller_left_is_not_counted_as_held(client: Any) -> None:
    """As where Ctrl-C comes with the answer, or a task is cancelled."""
    semaphore = client.semaphore("left", permits=2)
    acquire = semaphore._core.acquire(2, True, 0.0)
    assert acquire.wait() is True
    assert client.stats().held == 2
    acquire.give_back()
    eventually(lambda: semaphore.available_permits() == 2)
    assert client.stats().held == 0


def test_an_error_of_the_body_comes_out_and_the_permit_goes_back(
    alice: Any, semaphore: Any
) -> None:
    alice.do(semaphore.try_set_permits, 1)
    with pytest.raises(ZeroDivisionError):
        alice.inside(semaphore, lambda _: 1 / 0)
    assert alice.do(semaphore.available_permits) == 1


def test_an_error_of_the_release_is_a_note_on_the_bodys(
    alice: Any, semaphore: Any, server: Server
) -> None:
    def body(_: Any) -> None:
        server.inspect.delete(NAME)
        server.inspect.hset(NAME, "field", "value")
        raise KeyError

    alice.do(semaphore.try_set_permits, 1)
    with pytest.raises(KeyError) as raised:
        alice.inside(semaphore, body)
    assert "WRONGTYPE" in vars(raised.value)["__notes__"][0]


@pytest.mark.realtime
def test_with_waits_for_so_long(alice: Any, client: Any) -> None:
    semaphore = client.semaphore(NAME, wait=0.1)
    watch = Stopwatch()
    timed_out(lambda: alice.inside(semaphore, lambda _: None), NAME)
    assert watch.seconds >= 0.1


# ---- waiting


def test_a_release_wakes_as_many_as_it_gives_permits(
    bob: Any, semaphore: Any, waiters: Waiters
) -> None:
    waiting = [waiters.wait(semaphore) for _ in range(5)]
    for released in (1, 3):
        before = done(waiting)
        bob.do(semaphore.release, released)
        eventually(lambda: done(waiting) == before + released, within=SOON)  # noqa: B023 - called at once
    assert bob.do(semaphore.available_permits) == 0
    assert waiters.subscribers == 1
    bob.do(semaphore.release)
    eventually(partial(all_done, waiting), within=SOON)
    eventually(lambda: waiters.subscribers == 0)


def test_waiters_of_several_clients_are_woken(
    bob: Any, make_client: MakeClient, waiters: Waiters, server: Server
) -> None:
    clients = [make_client() for _ in range(3)]
    waiting = [waiters.wait(clients[n % 3].semaphore(NAME)) for n in range(9)]
    eventually(lambda: waiters.subscribers == 3)
    bob.do(clients[0].semaphore(NAME).release, 9)
    assert [each.result(SOON) for each in waiting] == [True] * 9
    assert server.inspect.get(NAME) == b"0"


@pytest.mark.parametrize("how", ["try_set_permits", "add_permits", "release"])
def test_whatever_brings_permits_wakes(
    bob: Any, semaphore: Any, waiters: Waiters, how: str
) -> None:
    waiting = [waiters.wait(semaphore) for _ in range(2)]
    bob.do(getattr(semaphore, how), 2)
    assert [each.result(SOON) for each in waiting] == [True, True]


def test_a_small_waiter_behind_a_big_one_is_served(
    bob: Any, semaphore: Any, waiters: Waiters
) -> None:
    big = waiters.wait(semaphore, permits=3)
    small = waiters.wait(semaphore)
    bob.do(semaphore.release)
    assert small.result(SOON) is True
    assert not big.done()
    bob.do(semaphore.release, 3)
    assert big.result(SOON) is True


def test_a_big_waiter_is_woken_by_the_sum_of_small_releases(
    bob: Any, semaphore: Any, waiters: Waiters
) -> None:
    big = waiters.wait(semaphore, permits=3)
    for _ in range(3):
        assert not big.done()
        bob.do(semaphore.release)
    assert big.result(SOON) is True
    assert bob.do(semaphore.available_permits) == 0


def test_what_a_big_waiter_cannot_use_is_left_to_a_small_one(
    bob: Any, semaphore: Any, waiters: Waiters, server: Server
) -> None:
    """The message tells of three; when the big one tries there is one."""
    big = waiters.wait(semaphore, permits=3)
    small = waiters.wait(semaphore)
    server.inspect.set(NAME, 1)
    server.inspect.publish(CHANNEL, "3")
    assert small.result(SOON) is True
    assert not big.done()
    bob.do(semaphore.release, 3)
    assert big.result(SOON) is True


@pytest.mark.flavours("asyncio", "trio")
def test_a_waiter_that_is_woken_and_gives_up_wakes_the_next(
    flavour: Flavour, semaphore: Any, waiters: Waiters, server: Server
) -> None:
    """Who was quick enough to get it before it was cancelled has it, and gives it back."""
    quitter = flavour.actor()
    leaving = quitter.begin(semaphore.acquire)
    eventually(lambda: waiters.subscribers == 1)
    staying = waiters.wait(semaphore)
    server.inspect.set(NAME, 1)
    server.inspect.publish(CHANNEL, "1")
    quitter.cancel()
    eventually(leaving.done)
    if leaving.exception() is None:
        flavour.actor().do(semaphore.release)
    assert staying.result(SOON) is True
    eventually(lambda: waiters.subscribers == 0)


@pytest.mark.servers("real")
def test_a_message_makes_no_more_waiters_try_than_it_has_permits(
    semaphore: Any, waiters: Waiters, server: Server
) -> None:
    waiting = [waiters.wait(semaphore) for _ in range(6)]
    eventually(lambda: server.inspect.ping() and others_sleep())
    with server.recording() as recording:
        for payload, tries in (("2", 2), ("0", 2), ("-3", 2), ("1", 3), ("no number", 9)):
            server.inspect.publish(CHANNEL, payload)
            server.inspect.ping()
            eventually(lambda: recording.count()["EVALSHA"] == tries)  # noqa: B023
        assert recording.count()["EVALSHA"] == 9
    assert done(waiting) == 0


@pytest.mark.servers("real")
@pytest.mark.realtime
def test_nothing_is_sent_while_nothing_changes(
    semaphore: Any, waiters: Waiters, server: Server
) -> None:
    waiting = [waiters.wait(semaphore) for _ in range(5)]
    with server.recording() as recording:
        stays(lambda: done(waiting) == 0, during=0.8)
        assert recording.commands == []


@pytest.mark.servers("real")
@pytest.mark.realtime
def test_permits_without_a_message_are_found_in_time(
    semaphore: Any, waiters: Waiters, server: Server
) -> None:
    waiting = waiters.wait(semaphore)
    server.inspect.set(NAME, 1)
    assert waiting.result(BOUND) is True


def test_a_waiter_that_hears_two_messages_leaves_one_to_the_next(
    semaphore: Any, waiters: Waiters, server: Server
) -> None:
    """Both come before the first waiter has its answer."""
    waiting = [waiters.wait(semaphore) for _ in range(2)]
    pipeline = server.inspect.pipeline(transaction=True)
    pipeline.set(NAME, 2).publish(CHANNEL, "1").publish(CHANNEL, "1").execute()
    assert [each.result(SOON) for each in waiting] == [True, True]


def test_a_deleted_semaphore_is_waited_for(bob: Any, semaphore: Any, waiters: Waiters) -> None:
    bob.do(semaphore.try_set_permits, 0)
    waiting = waiters.wait(semaphore)
    bob.do(semaphore.delete)
    assert not waiting.done()
    bob.do(semaphore.try_set_permits, 1)
    assert waiting.result(SOON) is True


@pytest.mark.realtime
def test_who_gives_up_leaves_nothing(
    bob: Any, semaphore: Any, waiters: Waiters, server: Server
) -> None:
    waiting = waiters.wait(semaphore, timeout=1)
    assert waiting.result(SOON) is False
    eventually(lambda: waiters.subscribers == 0)
    assert server.keys() == set()
    bob.do(semaphore.release)
    assert bob.do(semaphore.available_permits) == 1


@pytest.mark.flavours("asyncio", "trio")
def test_a_cancelled_wait_leaves_nothing(
    semaphore: Any, flavour: Flavour, waiters: Waiters, server: Server
) -> None:
    owner = flavour.actor()
    waiting = owner.begin(semaphore.acquire)
    eventually(lambda: waiters.subscribers == 1)
    owner.cancel()
    eventually(waiting.done)
    eventually(lambda: waiters.subscribers == 0)
    left = server.keys()
    assert all(key.startswith(b"redisson_request:") for key in left)


def test_closing_the_client_ends_the_waits(
    bob: Any, client: Any, semaphore: Any, waiters: Waiters
) -> None:
    waiting = [waiters.wait(semaphore) for _ in range(2)]
    bob.do(client.close)
    for each in waiting:
        with pytest.raises(holdfast.ConnectionError, match="closed"):
            each.result(SOON)


@pytest.mark.parametrize("permits", [1, 3])
def test_never_more_inside_than_permits_and_none_is_lost(
    make_client: MakeClient, make_actor: MakeActor, bob: Any, permits: int, server: Server
) -> None:
    clients = [make_client() for _ in range(2)]
    inside, most, guard = 0, 0, threading.Lock()

    def take_turns(semaphore: Any, wanted: int) -> Generator[Any, Any, None]:
        nonlocal inside, most
        for _ in range(15):
            assert (yield semaphore.acquire(timeout=BOUND, permits=wanted))
            with guard:
                inside += wanted
                most = max(most, inside)
            yield PAUSE
            with guard:
                inside -= wanted
            yield semaphore.release(wanted)

    bob.do(clients[0].semaphore(NAME).try_set_permits, permits)
    running = [
        make_actor().begin(take_turns, clients[n % 2].semaphore(NAME), 1 + n % permits)
        for n in range(10)
    ]
    for each in running:
        each.result(3 * BOUND)
    assert most <= permits
    assert server.inspect.get(NAME) == b"%d" % permits
