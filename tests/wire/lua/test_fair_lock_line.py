"""The queue of the fair lock: when its waiters try again, and how dead ones are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers import Server
from tests.wire.lua.fair_steps import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    JAVA,
    NAME,
    PATIENCE,
    QUEUE,
    REDISSONS_QUEUE_TIMEOUT,
    THIRD,
    TIMEOUTS,
    FairLock,
    listen,
    word_to,
)
from tests.wire.lua.steps import MINUTE, SECOND, Listener, about


@pytest.fixture
def lock(server: Server) -> FairLock:
    """A free lock without waiters."""
    return FairLock(server.inspect)


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    with listen(server) as listener:
        yield listener


# ---- when to ask again


def test_the_first_in_line_asks_again_when_the_lease_is_over(lock: FairLock) -> None:
    lock.acquire(ALICE, 5 * SECOND)
    assert lock.acquire(BOB) == about(5 * SECOND)


def test_no_waiter_asks_later_than_a_third_of_the_queue_timeout(lock: FairLock) -> None:
    """So that a living waiter's place never runs out, however long the lease."""
    lock.acquire(ALICE, MINUTE)
    assert lock.acquire(BOB) == THIRD
    assert lock.acquire(CAROL) == THIRD


def test_a_waiter_for_a_key_that_never_expires_asks_as_often(
    lock: FairLock, server: Server
) -> None:
    server.inspect.hset(NAME, "name", "Ada")
    for waiter in (BOB, CAROL):
        assert lock.acquire(waiter) == -3 - THIRD
    assert lock.acquire(ALICE, queue_timeout=0) == -3 - 1


def test_those_behind_do_not_wake_with_the_first(lock: FairLock) -> None:
    lock.acquire(ALICE, 2 * SECOND)
    assert lock.acquire(BOB) == about(2 * SECOND)
    assert lock.acquire(CAROL) == THIRD


def test_the_second_asks_again_when_the_first_counts_as_dead(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.acquire(DAVE)
    lock.release(ALICE)
    lock.let_age(BOB, 25 * SECOND)
    assert lock.acquire(CAROL) == about(5 * SECOND)
    assert lock.acquire(DAVE) == THIRD


def test_behind_a_dead_first_of_a_free_lock_no_waiter_gets_zero(lock: FairLock) -> None:
    """Redisson since 3.32 says 0 here, and its waiters ask thousands of times a second."""
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.release(ALICE)
    for queue_timeout in (1, 2, 100, PATIENCE):
        assert lock.acquire(CAROL, queue_timeout=queue_timeout) >= 1
    assert lock.attempt(DAVE) >= 1


# ---- the dead


def test_a_dead_first_is_passed_over_when_its_time_is_up(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.release(ALICE)
    lock.let_age(BOB, PATIENCE)
    assert lock.acquire(CAROL) is None
    assert lock.line == []


def test_all_who_died_together_are_passed_over_together(lock: FairLock) -> None:
    lock.acquire(ALICE)
    dead = [b"%s%d" % (BOB, number) for number in range(8)]
    for each in dead:
        lock.acquire(each)
    lock.acquire(CAROL)
    lock.release(ALICE)
    for each in dead:
        lock.let_age(each, PATIENCE)
    assert lock.acquire(CAROL) is None


def test_dead_waiters_are_dropped_by_any_acquire(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, PATIENCE)
    lock.attempt(DAVE)
    assert lock.line == [CAROL]


def test_the_living_are_not_dropped_behind_the_dead(lock: FairLock) -> None:
    lock.acquire(ALICE)
    for waiter in (BOB, CAROL, DAVE):
        lock.acquire(waiter)
    lock.let_age(CAROL, PATIENCE)
    lock.attempt(b"%s0" % ALICE)
    assert lock.line == [BOB, CAROL, DAVE]


def test_who_asks_is_alive_however_late(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.release(ALICE)
    lock.let_age(BOB, 2 * PATIENCE)
    assert lock.acquire(BOB) is None
    assert lock.line == [CAROL]


def test_who_was_dropped_takes_a_new_place(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, PATIENCE)
    lock.acquire(CAROL)
    lock.acquire(BOB)
    assert lock.line == [CAROL, BOB]


def test_an_entry_without_a_time_is_dropped(lock: FairLock, server: Server) -> None:
    server.inspect.rpush(QUEUE, BOB)
    assert lock.acquire(ALICE) is None
    assert server.keys() == {NAME}


# ---- waiters of Redisson's in the line


def test_behind_redissons_a_place_outlasts_what_theirs_takes_off(lock: FairLock) -> None:
    """When such a waiter leaves the line, the times of all behind it become less by its own."""
    lock.acquire(ALICE)
    lock.stand(JAVA, 7 * SECOND)
    lock.acquire(BOB)
    assert lock.alive(BOB) == about(7 * SECOND + REDISSONS_QUEUE_TIMEOUT + PATIENCE)
    lock.let_age(BOB, REDISSONS_QUEUE_TIMEOUT)
    assert lock.alive(BOB) > PATIENCE


def test_even_if_theirs_is_over(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(CAROL)
    lock.stand(JAVA, -7 * SECOND)
    lock.acquire(BOB)
    assert lock.line == [CAROL, JAVA, BOB]
    assert lock.alive(BOB) == about(REDISSONS_QUEUE_TIMEOUT + PATIENCE)


def test_before_redissons_a_place_is_as_ever(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.stand(JAVA, REDISSONS_QUEUE_TIMEOUT)
    lock.acquire(BOB)
    assert lock.alive(BOB) == about(PATIENCE)


def test_once_they_are_gone_the_place_lasts_as_ever(lock: FairLock, server: Server) -> None:
    lock.acquire(ALICE)
    lock.stand(JAVA, REDISSONS_QUEUE_TIMEOUT)
    lock.acquire(BOB)
    server.inspect.lpop(QUEUE)
    server.inspect.zrem(TIMEOUTS, JAVA)
    lock.acquire(BOB)
    assert lock.alive(BOB) == about(PATIENCE)


def test_the_times_of_redissons_waiters_are_left_alone(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.stand(JAVA, REDISSONS_QUEUE_TIMEOUT)
    lock.release(CAROL)
    lock.release(ALICE)
    lock.acquire(BOB)
    assert lock.line == [JAVA]
    assert lock.alive(JAVA) == about(REDISSONS_QUEUE_TIMEOUT)


def test_redissons_waiter_is_notified_when_it_is_first(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.stand(JAVA, REDISSONS_QUEUE_TIMEOUT)
    lock.acquire(BOB)
    lock.release(ALICE)
    assert listener.messages() == word_to(JAVA)
