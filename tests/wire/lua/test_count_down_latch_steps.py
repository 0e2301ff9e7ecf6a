"""What each step of the latch answers, leaves behind and tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.counters import MEMORY, ONE, THREE, TWO, Latch
from tests.wire.lua.steps import Listener, Message

OPEN, CLOSED = "0", "1"

STEPS: dict[str, Callable[[Latch], Any]] = {
    "set count": lambda latch: latch.try_set_count(ONE, 3),
    "count down": lambda latch: latch.count_down(ONE),
    "delete": lambda latch: latch.delete(ONE),
}
VALUES = (None, -1, 0, 1, 2)


@pytest.fixture
def latch(server: Server) -> Latch:
    return Latch(server.inspect)


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    with Listener(server, Latch.channel) as listener:
        yield listener


def told(*payloads: str) -> list[Message]:
    channel = str(Latch.channel).encode()
    return [Message("message", channel, payload.encode()) for payload in payloads]


def test_a_latch_is_closed_with_its_count(latch: Latch, listener: Listener) -> None:
    assert latch.try_set_count(ONE, 2) == 1
    assert latch.value == 2
    assert listener.messages() == told(CLOSED)


def test_a_closed_latch_keeps_its_count(latch: Latch, listener: Listener) -> None:
    latch.put(2)
    assert latch.try_set_count(ONE, 9) == 0
    assert latch.value == 2
    assert listener.messages() == []


def test_counting_down_to_zero_opens_and_publishes(latch: Latch, listener: Listener) -> None:
    latch.put(2)
    assert latch.count_down(ONE) == 1
    assert latch.value == 1
    assert listener.messages() == []
    assert latch.count_down(TWO) == 0
    assert latch.value is None
    assert listener.messages() == told(OPEN)


@pytest.mark.parametrize("value", [None, 0, -1])
def test_counting_down_an_open_latch_does_nothing(
    latch: Latch, listener: Listener, value: int | None
) -> None:
    if value is not None:
        latch.put(value)
    assert latch.count_down(ONE) == 0
    assert latch.value is None
    assert listener.messages() == []


def test_an_open_latch_is_closed_again(latch: Latch, listener: Listener) -> None:
    latch.put(1)
    latch.count_down(ONE)
    assert latch.try_set_count(TWO, 1) == 1
    assert latch.count_down(THREE) == 0
    assert listener.messages() == told(OPEN, CLOSED, OPEN)


def test_a_latch_is_deleted_and_its_waiters_woken(latch: Latch, listener: Listener) -> None:
    latch.put(2)
    assert latch.delete(ONE) == 1
    assert latch.value is None
    assert listener.messages() == told(CLOSED)
    assert latch.delete(TWO) == 0
    assert listener.messages() == []


def test_a_repeated_count_down_counts_once(latch: Latch) -> None:
    latch.put(5)
    for _ in range(3):
        assert latch.count_down(ONE) == 4
    assert latch.value == 4


def test_a_count_down_of_an_open_latch_is_not_repeated_on_a_closed_one(latch: Latch) -> None:
    latch.count_down(ONE)
    latch.try_set_count(TWO, 2)
    assert latch.count_down(ONE) == 0
    assert latch.value == 2


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("step", STEPS)
def test_a_repeat_changes_nothing_and_tells_the_same(
    latch: Latch, listener: Listener, step: str, value: int | None
) -> None:
    if value is not None:
        latch.put(value)
    answer = STEPS[step](latch)
    after = latch.value
    listener.messages()
    assert STEPS[step](latch) == answer
    assert latch.value == after
    assert listener.messages() == []


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_is_kept_for_a_while_only(latch: Latch, server: Server, step: str) -> None:
    latch.put(3)
    STEPS[step](latch)
    assert server.keys() - {b"myLatch"} == {latch.request(ONE).encode()}
    assert MEMORY - 5000 < server.inspect.pttl(latch.request(ONE)) <= MEMORY


@pytest.mark.parametrize("step", STEPS)
def test_a_key_that_is_no_latch_is_an_error(latch: Latch, server: Server, step: str) -> None:
    server.inspect.hset(Latch.name, "field", "value")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        STEPS[step](latch)
    assert server.inspect.hgetall(Latch.name) == {b"field": b"value"}
    assert server.keys() == {b"myLatch"}


@pytest.mark.servers("real")
def test_messages_go_where_the_command_sends_them(latch: Latch, listener: Listener) -> None:
    latch.try_set_count(ONE, 1, publish="spublish")
    latch.count_down(TWO, publish="spublish")
    latch.put(1)
    latch.delete(THREE, publish="spublish")
    assert [message.kind for message in listener.messages()] == ["smessage"] * 3


class TestOutOfMemory:
    """A latch can be opened; it cannot be closed."""

    @pytest.fixture
    def full(self, private_server: Server) -> Latch:
        latch = Latch(private_server.inspect)
        latch.put(2)
        private_server.inspect.config_set("maxmemory", 1)
        return latch

    def test_it_is_counted_down(self, full: Latch) -> None:
        assert [full.count_down(ONE), full.count_down(ONE), full.count_down(TWO)] == [1, 1, 0]
        assert full.value is None

    def test_it_is_deleted(self, full: Latch) -> None:
        assert full.delete(ONE) == 1
        assert full.value is None

    def test_it_is_not_closed(self, full: Latch, private_server: Server) -> None:
        private_server.inspect.delete(Latch.name)
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            full.try_set_count(ONE, 1)
        assert private_server.keys() == set()
