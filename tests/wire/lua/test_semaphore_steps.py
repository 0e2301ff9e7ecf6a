"""What each step of the semaphore answers, leaves behind and tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.counters import FOUR, MEMORY, MOST, ONE, THREE, TWO, Semaphore
from tests.wire.lua.steps import Listener, Message

STEPS: dict[str, Callable[[Semaphore], Any]] = {
    "acquire": lambda semaphore: semaphore.acquire(ONE, 2),
    "undo": lambda semaphore: semaphore.undo(ONE),
    "add permits": lambda semaphore: semaphore.add_permits(ONE, 2),
    "take permits away": lambda semaphore: semaphore.add_permits(ONE, -5),
    "release": lambda semaphore: semaphore.release_if_exists(ONE, 2),
    "set permits": lambda semaphore: semaphore.try_set_permits(ONE, 7),
    "drain permits": lambda semaphore: semaphore.drain_permits(ONE),
    "delete": lambda semaphore: semaphore.delete(ONE),
}
VALUES = (None, -2, 0, 1, 2, 9)


@pytest.fixture
def semaphore(server: Server) -> Semaphore:
    return Semaphore(server.inspect)


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    with Listener(server, Semaphore.channel) as listener:
        yield listener


def test_the_number_is_read(semaphore: Semaphore, server: Server) -> None:
    assert semaphore.read() is None
    for value in (-2, 0, 9):
        semaphore.put(value)
        assert semaphore.read() == value


def test_an_acquire_sets_the_number_up(semaphore: Semaphore, listener: Listener) -> None:
    assert semaphore.acquire(ONE, 2, 5) is None
    assert semaphore.acquire(TWO, 4, 5) == 3
    assert (semaphore.value, listener.messages()) == (3, told(3))


def test_more_than_it_would_set_up_are_named(semaphore: Semaphore) -> None:
    semaphore.put(9)
    assert semaphore.acquire(ONE, 2, 5) == [1, 9]
    assert semaphore.value == 7


def told(*numbers: int) -> list[Message]:
    channel = str(Semaphore.channel).encode()
    return [Message("message", channel, b"%d" % number) for number in numbers]


# ---- acquire


def test_permits_are_taken(semaphore: Semaphore) -> None:
    semaphore.put(5)
    assert semaphore.acquire(ONE) is None
    assert semaphore.value == 4
    assert semaphore.acquire(TWO, 4) is None
    assert semaphore.value == 0


@pytest.mark.parametrize("free", [None, -3, 0, 1])
def test_a_request_for_more_than_are_free_gets_their_number(
    semaphore: Semaphore, server: Server, free: int | None
) -> None:
    if free is not None:
        semaphore.put(free)
    before = server.keys()
    assert semaphore.acquire(ONE, 2) == (free or 0)
    assert semaphore.value == free
    assert server.keys() == before


def test_permits_are_compared_as_numbers(semaphore: Semaphore) -> None:
    semaphore.put(9)
    assert semaphore.acquire(ONE, 10) == 9
    semaphore.put(10)
    assert semaphore.acquire(TWO, 9) is None


def test_a_repeated_acquire_takes_once(semaphore: Semaphore) -> None:
    semaphore.put(5)
    for _ in range(3):
        assert semaphore.acquire(ONE, 2) is None
    assert semaphore.value == 3
    semaphore.drain_permits(TWO)
    assert semaphore.acquire(ONE, 2) is None
    assert semaphore.value == 0


def test_a_refused_acquire_may_be_granted_later(semaphore: Semaphore) -> None:
    assert semaphore.acquire(ONE) == 0
    semaphore.put(1)
    assert semaphore.acquire(ONE) is None
    assert semaphore.value == 0


# ---- undo


def test_an_undone_acquire_gives_back_what_it_took(
    semaphore: Semaphore, listener: Listener
) -> None:
    semaphore.put(5)
    semaphore.acquire(ONE, 3)
    assert semaphore.undo(ONE) == 3
    assert semaphore.value == 5
    assert listener.messages() == told(5)


def test_what_was_undone_takes_nothing_when_it_arrives_late(semaphore: Semaphore) -> None:
    semaphore.put(5)
    assert semaphore.undo(ONE) == 0
    assert semaphore.acquire(ONE, 3) == 0
    assert semaphore.value == 5


def test_what_was_granted_and_undone_is_not_granted_again(semaphore: Semaphore) -> None:
    semaphore.put(1)
    semaphore.acquire(ONE)
    semaphore.undo(ONE)
    assert semaphore.acquire(ONE) == 0
    assert semaphore.value == 1


def test_an_undo_leaves_other_requests_alone(semaphore: Semaphore) -> None:
    semaphore.put(5)
    semaphore.acquire(ONE, 2)
    assert semaphore.undo(TWO) == 0
    assert semaphore.value == 3


def test_what_was_taken_from_a_deleted_semaphore_is_not_given_back(
    semaphore: Semaphore, listener: Listener
) -> None:
    semaphore.put(1)
    semaphore.acquire(ONE)
    semaphore.delete(TWO)
    assert semaphore.undo(ONE) == 0
    assert semaphore.value is None
    assert listener.messages() == []


def test_an_undo_publishes_nothing_while_permits_are_owed(
    semaphore: Semaphore, listener: Listener
) -> None:
    semaphore.put(1)
    semaphore.acquire(ONE)
    semaphore.put(-1)
    assert semaphore.undo(ONE) == 1
    assert semaphore.value == 0
    assert listener.messages() == []


# ---- permits added, set, drained


@pytest.mark.parametrize("before", [None, 0, 4])
def test_added_permits_are_published_as_the_new_sum(
    semaphore: Semaphore, listener: Listener, before: int | None
) -> None:
    if before is not None:
        semaphore.put(before)
    expected = (before or 0) + 3
    assert semaphore.add_permits(ONE, 3) == expected
    assert semaphore.value == expected
    assert listener.messages() == told(expected)


@pytest.mark.parametrize(("before", "told_of"), [(None, []), (0, [3]), (-4, []), (4, [7])])
def test_a_release_of_what_is_there_is_published_as_the_new_sum(
    semaphore: Semaphore, listener: Listener, before: int | None, told_of: list[int]
) -> None:
    if before is not None:
        semaphore.put(before)
    for _ in range(2):
        assert semaphore.release_if_exists(ONE, 3) == (0 if before is None else 1)
        assert semaphore.value == (None if before is None else before + 3)
    assert listener.messages() == told(*told_of)


@pytest.mark.parametrize(("before", "added"), [(None, -2), (3, -3), (-3, 2), (-1, 1)])
def test_no_permits_are_not_published(
    semaphore: Semaphore, listener: Listener, before: int | None, added: int
) -> None:
    if before is not None:
        semaphore.put(before)
    expected = (before or 0) + added
    assert semaphore.add_permits(ONE, added) == expected
    assert semaphore.value == expected
    assert listener.messages() == []


def test_fewer_permits_are_published_while_there_are_some(
    semaphore: Semaphore, listener: Listener
) -> None:
    semaphore.put(5)
    assert semaphore.add_permits(ONE, -3) == 2
    assert semaphore.add_permits(TWO, -1) == 1
    assert listener.messages() == told(2, 1)


def test_permits_are_added_up_to_the_greatest_number_of_java(semaphore: Semaphore) -> None:
    assert semaphore.add_permits(ONE, MOST) == MOST
    assert semaphore.value == MOST


@pytest.mark.parametrize(("before", "added"), [(1, MOST), (MOST, 1), (MOST, MOST)])
def test_more_permits_than_that_are_an_error(
    semaphore: Semaphore, server: Server, listener: Listener, before: int, added: int
) -> None:
    semaphore.put(before)
    keys = server.keys()
    with pytest.raises(redis.ResponseError, match="OVERFLOW"):
        semaphore.add_permits(ONE, added)
    assert semaphore.value == before
    assert server.keys() == keys
    assert listener.messages() == []


def test_the_semaphore_is_set_once(semaphore: Semaphore, listener: Listener) -> None:
    assert semaphore.try_set_permits(ONE, 3) == 1
    assert semaphore.try_set_permits(TWO, 9) == 0
    assert semaphore.value == 3
    assert listener.messages() == told(3)


def test_a_semaphore_without_free_permits_is_there(semaphore: Semaphore) -> None:
    semaphore.put(0)
    assert semaphore.try_set_permits(ONE, 3) == 0
    assert semaphore.value == 0


def test_zero_permits_can_be_set_and_are_not_published(
    semaphore: Semaphore, listener: Listener
) -> None:
    assert semaphore.try_set_permits(ONE, 0) == 1
    assert semaphore.value == 0
    assert listener.messages() == []


@pytest.mark.parametrize("before", [-4, 0, 6])
def test_all_permits_are_drained(semaphore: Semaphore, listener: Listener, before: int) -> None:
    semaphore.put(before)
    assert semaphore.drain_permits(ONE) == before
    assert semaphore.value == 0
    assert listener.messages() == []


def test_draining_makes_no_semaphore(semaphore: Semaphore) -> None:
    assert semaphore.drain_permits(ONE) == 0
    assert semaphore.value is None


def test_a_semaphore_is_deleted(semaphore: Semaphore, listener: Listener) -> None:
    semaphore.put(3)
    assert semaphore.delete(ONE) == 1
    assert semaphore.value is None
    assert semaphore.delete(TWO) == 0
    assert listener.messages() == []


def test_a_time_to_live_is_kept(semaphore: Semaphore, server: Server) -> None:
    semaphore.put(9)
    server.inspect.pexpire(Semaphore.name, 60_000)
    semaphore.acquire(ONE)
    semaphore.undo(ONE)
    semaphore.add_permits(TWO, 1)
    semaphore.add_permits(THREE, -1)
    semaphore.drain_permits(FOUR)
    assert 50_000 < server.inspect.pttl(Semaphore.name) <= 60_000


# ---- of every step


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("step", STEPS)
def test_a_repeat_changes_nothing_and_tells_the_same(
    semaphore: Semaphore, listener: Listener, step: str, value: int | None
) -> None:
    if value is not None:
        semaphore.put(value)
    answer = STEPS[step](semaphore)
    after = semaphore.value
    listener.messages()
    assert STEPS[step](semaphore) == (0 if step == "undo" else answer)
    assert semaphore.value == after
    assert listener.messages() == []


@pytest.mark.parametrize("step", STEPS)
def test_a_repeat_is_known_whatever_has_happened_since(
    semaphore: Semaphore, listener: Listener, step: str
) -> None:
    semaphore.put(3)
    answer = STEPS[step](semaphore)
    for value in (None, 0, 100):
        if value is None:
            semaphore.delete(TWO)
        else:
            semaphore.put(value)
        listener.messages()
        assert STEPS[step](semaphore) == (0 if step == "undo" else answer)
        assert semaphore.value == value
        assert listener.messages() == []


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_is_kept_for_a_while_only(
    semaphore: Semaphore, server: Server, step: str
) -> None:
    semaphore.put(3)
    STEPS[step](semaphore)
    assert server.keys() - {b"mySemaphore"} == {semaphore.request(ONE).encode()}
    assert MEMORY - 5000 < server.inspect.pttl(semaphore.request(ONE)) <= MEMORY


@pytest.mark.parametrize("step", [step for step in STEPS if step != "undo"])
def test_a_key_that_is_no_semaphore_is_an_error(
    semaphore: Semaphore, server: Server, step: str
) -> None:
    server.inspect.hset(Semaphore.name, "field", "value")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        STEPS[step](semaphore)
    assert server.inspect.hgetall(Semaphore.name) == {b"field": b"value"}
    assert server.keys() == {b"mySemaphore"}


@pytest.mark.servers("real")
def test_messages_go_where_the_command_sends_them(semaphore: Semaphore, listener: Listener) -> None:
    semaphore.try_set_permits(ONE, 2, publish="spublish")
    semaphore.add_permits(TWO, 2, publish="spublish")
    semaphore.acquire(THREE)
    semaphore.undo(THREE, publish="spublish")
    assert [message.kind for message in listener.messages()] == ["smessage"] * 3


# ---- without memory


class TestOutOfMemory:
    """What gives permits back works; what takes or makes some is refused whole."""

    @pytest.fixture
    def full(self, private_server: Server) -> Semaphore:
        semaphore = Semaphore(private_server.inspect)
        semaphore.put(5)
        semaphore.acquire(TWO, 2)
        private_server.inspect.config_set("maxmemory", 1)
        return semaphore

    def test_permits_are_given_back(self, full: Semaphore) -> None:
        assert full.add_permits(ONE, 2) == 5
        assert full.add_permits(ONE, 2) == 5
        assert full.value == 5

    def test_permits_are_released_to_what_is_there(self, full: Semaphore) -> None:
        assert full.release_if_exists(ONE, 2) == 1
        assert full.value == 5

    def test_an_acquisition_is_undone(self, full: Semaphore) -> None:
        assert full.undo(TWO) == 2
        assert full.undo(TWO) == 0
        assert full.undo(THREE) == 0
        assert full.value == 5

    def test_a_semaphore_is_deleted(self, full: Semaphore) -> None:
        assert full.delete(ONE) == 1
        assert full.delete(ONE) == 1
        assert full.value is None

    @pytest.mark.parametrize("step", ["acquire", "drain permits"])
    def test_nothing_is_taken(self, full: Semaphore, private_server: Server, step: str) -> None:
        keys = private_server.keys()
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            STEPS[step](full)
        assert full.value == 3
        assert private_server.keys() == keys

    def test_a_request_for_too_many_is_refused(self, full: Semaphore) -> None:
        assert full.acquire(ONE, 4) == 3
        assert full.acquire(TWO, 2) is None
        assert full.value == 3
