"""What each step of the fair lock answers and leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.fair_steps import (
    ALICE,
    BOB,
    CAROL,
    CHANNEL,
    DAVE,
    FAIR_STEPS,
    NAME,
    PATIENCE,
    QUEUE,
    TIMEOUTS,
    FairLock,
    listen,
    word_to,
)
from tests.wire.lua.steps import MINUTE, SECOND, Listener, Message, about


@pytest.fixture
def lock(server: Server) -> FairLock:
    """A free lock without waiters."""
    return FairLock(server.inspect)


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    with listen(server) as listener:
        yield listener


# ---- acquire


def test_a_free_lock_is_granted_for_the_lease(lock: FairLock, server: Server) -> None:
    assert lock.acquire(ALICE, MINUTE) is None
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)
    assert server.keys() == {NAME}


def test_who_is_refused_stands_in_line(lock: FairLock, server: Server) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(BOB)
    lock.acquire(CAROL, queue_timeout=2 * PATIENCE)
    assert lock.line == [BOB, CAROL]
    assert lock.alive(BOB) == about(PATIENCE)
    assert lock.alive(CAROL) == about(2 * PATIENCE)
    assert lock.holds == {ALICE: b"1"}
    assert server.keys() == {NAME, QUEUE, TIMEOUTS}


def test_who_asks_again_keeps_the_place_and_makes_it_last(lock: FairLock) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, 20 * SECOND)
    lock.acquire(BOB)
    assert lock.line == [BOB, CAROL]
    assert lock.alive(BOB) == about(PATIENCE)


def test_a_free_lock_is_the_first_ones(lock: FairLock, server: Server) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.release(ALICE)
    assert lock.acquire(CAROL) is not None
    assert lock.acquire(DAVE) is not None
    assert lock.line == [BOB, CAROL, DAVE]
    assert lock.acquire(BOB) is None
    assert lock.line == [CAROL, DAVE]
    lock.release(BOB)
    assert lock.acquire(CAROL) is None
    lock.release(CAROL)
    assert lock.acquire(DAVE) is None
    assert server.keys() == {NAME}


def test_a_try_takes_no_place(lock: FairLock, server: Server) -> None:
    lock.acquire(ALICE)
    assert lock.attempt(BOB) is not None
    assert server.keys() == {NAME}


def test_a_try_does_not_overtake(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.release(ALICE)
    assert lock.attempt(CAROL) == 1
    assert lock.holds == {}
    assert lock.attempt(BOB) is None
    assert lock.line == []


def test_a_holder_does_not_stand_in_line_for_another_hold(lock: FairLock) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    assert lock.acquire(ALICE, 5 * MINUTE, count=2) is None
    assert lock.holds == {ALICE: b"2"}
    assert lock.line == [BOB]
    assert lock.left == about(5 * MINUTE)


def test_a_further_hold_never_cuts_the_lease(lock: FairLock) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    assert lock.left == about(5 * MINUTE)


@pytest.mark.parametrize("taken", [False, True])
def test_a_further_hold_of_a_lock_gone_is_refused_and_takes_no_place(
    lock: FairLock, taken: bool
) -> None:
    if taken:
        lock.acquire(BOB)
    assert lock.acquire(ALICE, count=2) == -3
    assert lock.line == []
    assert ALICE not in lock.holds


@pytest.mark.servers("real")  # fakeredis breaks its protocol when Lua itself fails
def test_a_lease_that_is_no_number_changes_nothing(lock: FairLock, server: Server) -> None:
    with pytest.raises(redis.ResponseError):
        lock.acquire(ALICE, "soon")
    assert server.keys() == set()


# ---- release


def test_the_last_release_tells_the_first_in_line_only(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    assert lock.release(ALICE) == 1
    assert lock.told == 1
    assert lock.left == -2
    assert listener.messages() == word_to(BOB)
    assert lock.line == [BOB, CAROL]


def test_without_a_queue_nothing_is_published(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    assert lock.release(ALICE) == 1
    assert lock.told == 0
    assert listener.messages() == []


def test_a_release_passes_over_the_dead(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, PATIENCE)
    assert lock.release(ALICE) == 1
    assert listener.messages() == word_to(CAROL)
    assert lock.line == [CAROL]


def test_a_partial_release_sets_the_count_and_keeps_the_lease(
    lock: FairLock, listener: Listener
) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    lock.acquire(BOB)
    assert lock.release(ALICE, count=1) == 0
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)
    assert listener.messages() == []


@pytest.mark.parametrize("count", [0, 1])
def test_release_by_another_changes_nothing(lock: FairLock, listener: Listener, count: int) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(BOB)
    assert lock.release(CAROL, count) is None
    assert lock.holds == {ALICE: b"1"}
    assert lock.line == [BOB]
    assert listener.messages() == []


# ---- leaving the line


def test_who_gives_up_leaves_the_line(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    for waiter in (BOB, CAROL, DAVE):
        lock.acquire(waiter)
    assert lock.release(CAROL) is None
    assert lock.line == [BOB, DAVE]
    assert lock.release(BOB) is None
    assert lock.line == [DAVE]
    assert lock.holds == {ALICE: b"1"}
    assert listener.messages() == []


def test_the_last_to_give_up_leaves_no_keys(lock: FairLock, server: Server) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.release(BOB)
    assert server.keys() == {NAME}


def test_a_notified_waiter_that_gives_up_notifies_the_next(
    lock: FairLock, listener: Listener
) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.release(ALICE)
    listener.messages()
    assert lock.release(BOB) is None
    assert listener.messages() == word_to(CAROL)


def test_who_gives_up_behind_the_dead_tells_the_next(lock: FairLock, listener: Listener) -> None:
    for owner in (ALICE, BOB, CAROL, DAVE):
        lock.acquire(owner)
    lock.release(ALICE)
    listener.messages()
    lock.let_age(BOB, PATIENCE)
    assert lock.release(CAROL) is None
    assert listener.messages() == word_to(DAVE)
    assert lock.line == [DAVE]


def test_a_waiter_without_a_turn_that_gives_up_notifies_no_waiter(
    lock: FairLock, listener: Listener
) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.release(ALICE)
    listener.messages()
    assert lock.release(CAROL) is None
    assert listener.messages() == []


# ---- force release


def test_force_release_frees_all_holds_and_tells_the_first(
    lock: FairLock, listener: Listener
) -> None:
    lock.acquire(ALICE)
    lock.acquire(ALICE, count=2)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, PATIENCE)
    assert lock.force_release() == 1
    assert lock.left == -2
    assert listener.messages() == word_to(CAROL)
    assert lock.line == [CAROL]


def test_force_release_of_a_free_lock_changes_nothing(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.acquire(BOB)
    lock.release(ALICE)
    listener.messages()
    assert lock.force_release() == 0
    assert lock.line == [BOB]
    assert listener.messages() == []


# ---- extend


def test_extend_tells_the_first_in_line_of_a_lease_that_ends_sooner(
    lock: FairLock, listener: Listener
) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(BOB, PATIENCE)
    assert lock.extend(ALICE, 10 * MINUTE) == 1
    assert lock.left == about(10 * MINUTE)
    assert listener.messages() == []
    assert lock.extend(ALICE, MINUTE) == 1
    assert lock.left == about(MINUTE)
    assert listener.messages() == word_to(CAROL)


def test_extend_by_who_does_not_hold_it_changes_nothing(lock: FairLock, listener: Listener) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    lock.acquire(BOB)
    assert lock.extend(BOB, MINUTE) == 0
    assert lock.left == about(5 * MINUTE)
    assert listener.messages() == []


# ---- all steps


@pytest.mark.parametrize("step", ["release", "force_release"])
def test_spublish_reaches_the_shard_channel_only(lock: FairLock, server: Server, step: str) -> None:
    with Listener(server, CHANNEL + b":" + BOB) as listener:
        lock.acquire(ALICE)
        lock.acquire(BOB)
        arguments = (ALICE, 0, "spublish") if step == "release" else ("spublish",)
        assert getattr(lock, step)(*arguments) == 1
        assert listener.messages() == [Message("smessage", CHANNEL + b":" + BOB, b"0")]


@pytest.mark.parametrize("step", FAIR_STEPS)
def test_a_key_of_another_type_is_an_error_and_stays(
    lock: FairLock, server: Server, step: str
) -> None:
    server.inspect.set(NAME, "not a lock", px=MINUTE)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        FAIR_STEPS[step](lock)
    assert server.inspect.type(NAME) == b"string"
    assert server.keys() == {NAME}
