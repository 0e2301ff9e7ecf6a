"""Requests of one slot: each repeat gets its answer, and what comes late changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.servers import Server
from tests.wire.lua.counters import ONE, TWO, Latch, Semaphore
from tests.wire.lua.steps import Listener


@pytest.fixture
def semaphore(server: Server) -> Semaphore:
    return Semaphore(server.inspect)


@pytest.fixture
def latch(server: Server) -> Latch:
    return Latch(server.inspect)


def nth(number: int) -> str:
    """The id of a request of one slot."""
    return f"{ONE}#{number}"


def test_acquisitions_of_one_slot(semaphore: Semaphore, server: Server) -> None:
    semaphore.put(5)
    for number in (1, 2):
        assert semaphore.acquire(nth(number)) is None
        assert semaphore.acquire(nth(number)) is None
    assert semaphore.value == 3
    assert semaphore.acquire(nth(1)) == 0
    assert semaphore.undo(nth(1)) == 0
    assert semaphore.acquire(nth(2)) is None
    assert semaphore.value == 3
    assert semaphore.undo(nth(2)) == 1
    assert semaphore.value == 4
    assert server.keys() == {b"mySemaphore", semaphore.request(ONE).encode()}


def test_an_undo_comes_before_its_acquisition(semaphore: Semaphore) -> None:
    """The slot's earlier request is not what is taken back."""
    semaphore.put(5)
    semaphore.acquire(nth(1))
    assert semaphore.undo(nth(2)) == 0
    assert semaphore.acquire(nth(2)) == 0
    assert semaphore.value == 4


def test_a_late_copy_changes_no_semaphore(semaphore: Semaphore, server: Server) -> None:
    steps: dict[str, Any] = {
        "add_permits": lambda request: semaphore.add_permits(request, 2),
        "drain_permits": semaphore.drain_permits,
        "delete": semaphore.delete,
        "try_set_permits": lambda request: semaphore.try_set_permits(request, 7),
    }
    with Listener(server, Semaphore.channel) as listener:
        for number, late in enumerate(steps.values(), 2):
            semaphore.add_permits(nth(2 * number), 3)
            value = semaphore.value
            listener.messages()
            late(nth(2 * number - 1))
            assert semaphore.value == value
            assert listener.messages() == []


def test_steps_of_a_latch_in_one_slot(latch: Latch) -> None:
    assert latch.try_set_count(nth(1), 5) == 1
    for number, left in ((2, 4), (3, 3)):
        assert latch.count_down(nth(number)) == left
        assert latch.count_down(nth(number)) == left
    latch.count_down(nth(2))
    latch.delete(nth(1))
    assert latch.value == 3
    assert latch.count_down(TWO) == 2
