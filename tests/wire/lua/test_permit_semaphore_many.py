"""The steps of the permit semaphore for several permits at once, and for their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.wire.lua.counters import MOST
from tests.wire.lua.permit_steps import (
    CHANNEL,
    MINUTE,
    NAME,
    NEVER,
    ONE,
    QUESTIONS,
    REQUESTS,
    THREE,
    TIMEOUTS,
    TWO,
    PermitSemaphore,
    R,
    about,
    dump,
    told,
)
from tests.wire.lua.steps import Listener, Message

NEXT = f"{R}#2"


@pytest.fixture
def semaphore(server: Server) -> PermitSemaphore:
    """A semaphore of four, two of which are in use."""
    semaphore = PermitSemaphore(server.inspect)
    semaphore.try_set_permits(4)
    semaphore.acquire(ONE + TWO, MINUTE)
    return semaphore


@pytest.fixture
def listener(server: Server, semaphore: PermitSemaphore) -> Iterator[Listener]:
    """A subscriber of the semaphore's channel."""
    with Listener(server, CHANNEL) as listener:
        yield listener


# ---- acquire


def test_several_are_taken_with_one_lease(semaphore: PermitSemaphore, listener: Listener) -> None:
    assert semaphore.free == 2
    assert semaphore.out == {ONE: about(MINUTE), TWO: about(MINUTE)}
    assert listener.messages() == []


def test_too_few_are_refused_with_their_number_and_the_next_end(
    semaphore: PermitSemaphore, server: Server
) -> None:
    before = dump(server)
    assert semaphore.acquire(THREE + b"4" * 16 + b"5" * 16) == [-2, about(MINUTE)]
    assert dump(server) == before


def test_none_free_is_refused_as_for_one(semaphore: PermitSemaphore) -> None:
    semaphore.acquire(THREE + b"4" * 16, 2 * MINUTE)
    assert semaphore.acquire(b"5" * 16 + b"6" * 16) == about(MINUTE)


def test_a_repeat_takes_no_further_ones_and_starts_the_leases_anew(
    semaphore: PermitSemaphore,
) -> None:
    assert semaphore.acquire(ONE + TWO, 2 * MINUTE) == [2, about(2 * MINUTE)]
    assert semaphore.out == {ONE: about(2 * MINUTE), TWO: about(2 * MINUTE)}


def test_a_repeat_does_not_take_again_what_has_been_given_back_since(
    semaphore: PermitSemaphore,
) -> None:
    semaphore.release(TWO)
    assert semaphore.acquire(ONE + TWO, 2 * MINUTE)[0] == 3
    assert semaphore.out == {ONE: about(2 * MINUTE)}


# ---- release of those that are there


def test_of_several_those_that_are_out_are_given_back(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    assert semaphore.release(ONE + THREE) == 1
    assert semaphore.out == {TWO: about(MINUTE)}
    assert listener.messages() == told(3)
    assert semaphore.release(ONE + THREE) is None
    assert listener.messages() == []


# ---- release of all or none


def test_all_are_given_back_and_their_number_is_published(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    assert semaphore.release_many(R, ONE, TWO) == 2
    assert (semaphore.free, semaphore.out) == (4, {})
    assert listener.messages() == told(2)


@pytest.mark.parametrize("gone", ["unknown", "expired"])
def test_one_that_is_not_out_keeps_all(
    semaphore: PermitSemaphore, listener: Listener, gone: str
) -> None:
    if gone == "expired":
        semaphore.acquire(THREE)
        semaphore.let_expire(THREE)
    free, out = semaphore.free, set(semaphore.out)
    assert semaphore.release_many(R, ONE, THREE, TWO) == -2
    assert (semaphore.free, set(semaphore.out)) == (free, out)
    assert listener.messages() == []
    assert semaphore.requests == set()


def test_a_repeated_release_gives_back_once_and_tells_once(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.release_many(R, ONE, TWO)
    semaphore.acquire(ONE)
    assert semaphore.release_many(R, ONE, TWO) == 2
    assert (semaphore.free, set(semaphore.out)) == (3, {ONE})
    assert listener.messages() == told(2)
    assert semaphore.release_many(NEXT, ONE) == 1


def test_permits_that_are_owed_are_not_announced(
    semaphore: PermitSemaphore, listener: Listener, server: Server
) -> None:
    server.inspect.set(NAME, -3)
    assert semaphore.release_many(R, ONE, TWO) == 2
    assert semaphore.free == -1
    assert listener.messages() == []


# ---- their number


@pytest.mark.parametrize(("n", "free", "message"), [(3, 5, [3]), (-1, 1, []), (-3, -1, [])])
def test_added_permits_are_published_by_their_number(
    semaphore: PermitSemaphore, listener: Listener, n: int, free: int, message: list[int]
) -> None:
    for _ in range(2):
        assert semaphore.add_permits(R, n) == free
        assert semaphore.free == free
    assert listener.messages() == told(*message)


def test_permits_are_added_to_a_semaphore_that_was_not_there(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.delete()
    assert semaphore.add_permits(R, 3) == 3
    assert semaphore.free == 3
    assert listener.messages() == told(3)


def test_more_than_java_counts_are_an_error(semaphore: PermitSemaphore) -> None:
    with pytest.raises(redis.ResponseError, match="OVERFLOW"):
        semaphore.add_permits(R, MOST - 1)
    assert (semaphore.free, semaphore.requests) == (2, set())
    assert semaphore.add_permits(R, MOST - 2) == MOST


@pytest.mark.parametrize(("n", "free", "message"), [(6, 4, [6]), (4, 2, []), (1, -1, [])])
def test_the_number_that_is_set_counts_those_in_use(
    semaphore: PermitSemaphore, listener: Listener, n: int, free: int, message: list[int]
) -> None:
    for _ in range(2):
        assert semaphore.set_permits(R, n) == free
        assert semaphore.free == free
    assert set(semaphore.out) == {ONE, TWO}
    assert listener.messages() == told(*message)


def test_a_late_copy_sets_no_number_again(semaphore: PermitSemaphore) -> None:
    semaphore.set_permits(R, 9)
    semaphore.set_permits(NEXT, 3)
    semaphore.set_permits(R, 9)
    assert semaphore.free == 1


def test_a_number_for_a_semaphore_that_is_gone_drops_those_in_use(
    semaphore: PermitSemaphore, server: Server, listener: Listener
) -> None:
    server.inspect.delete(NAME)
    assert semaphore.set_permits(R, 3) == 3
    assert (semaphore.free, semaphore.out) == (3, {})
    assert listener.messages() == told(3)


# ---- questions


def test_all_permits_and_those_in_use_are_counted(semaphore: PermitSemaphore) -> None:
    assert (semaphore.permits(), semaphore.acquired_permits()) == (4, 2)
    semaphore.let_expire(ONE)
    assert (semaphore.permits(), semaphore.acquired_permits()) == (4, 1)
    semaphore.delete()
    assert (semaphore.permits(), semaphore.acquired_permits()) == (0, 0)


def test_the_answer_is_the_lease_of_a_permit(semaphore: PermitSemaphore, server: Server) -> None:
    assert semaphore.lease_left(ONE) == about(MINUTE)
    assert semaphore.lease_left(THREE) is None
    semaphore.let_expire(ONE)
    assert semaphore.lease_left(ONE) is None
    server.inspect.zadd(TIMEOUTS, {TWO: NEVER})
    assert semaphore.lease_left(TWO) == -1


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_changes_nothing(
    semaphore: PermitSemaphore, server: Server, ask: Callable[[PermitSemaphore], Any]
) -> None:
    semaphore.let_expire(TWO)
    before = dump(server)
    ask(semaphore)
    assert dump(server) == before


# ---- all of them


@pytest.mark.parametrize("step", REQUESTS.values(), ids=REQUESTS)
def test_a_counter_of_another_type_is_an_error_and_stays(
    semaphore: PermitSemaphore, server: Server, step: Callable[[PermitSemaphore], Any]
) -> None:
    server.inspect.delete(NAME)
    server.inspect.hset(NAME, "a", "b")
    before = dump(server)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        step(semaphore)
    assert dump(server) == before


@pytest.mark.servers("real")
@pytest.mark.parametrize("step", REQUESTS)
def test_what_is_published_goes_the_way_that_is_asked_for(
    semaphore: PermitSemaphore, listener: Listener, step: str
) -> None:
    arguments: dict[str, tuple[Any, ...]] = {"release_many": (ONE,), "add_permits": (1,)}
    getattr(semaphore, step)(R, *arguments.get(step, (5,)), publish="spublish")
    number = b"5" if step == "set_permits" else b"1"
    assert eventually(listener.messages) == [Message("smessage", CHANNEL, number)]


@pytest.mark.servers("real")
def test_several_are_given_back_without_memory(private_server: Server) -> None:
    semaphore = PermitSemaphore(private_server.inspect)
    semaphore.try_set_permits(4)
    semaphore.acquire(ONE + TWO, MINUTE)
    private_server.inspect.config_set("maxmemory", 1)
    assert semaphore.release_many(R, ONE, TWO) == 2
    assert (semaphore.free, semaphore.out) == (4, {})
