"""A server out of memory: a fair lock can still be freed, and who stands in line loses nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.fair_steps import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    PATIENCE,
    FairLock,
    listen,
    word_to,
)
from tests.wire.lua.steps import MINUTE, Listener, about


@pytest.fixture
def listener(private_server: Server) -> Iterator[Listener]:
    with listen(private_server) as listener:
        yield listener


@pytest.fixture
def full(private_server: Server, listener: Listener) -> FairLock:
    """A lock held twice for a minute, with a line, on a server that has just run out of memory."""
    lock = FairLock(private_server.inspect)
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    lock.acquire(BOB)
    lock.acquire(CAROL)
    lock.let_age(CAROL, PATIENCE // 2)
    private_server.inspect.config_set("maxmemory", 1)
    return lock


def test_the_last_release_tells_the_first_in_line(full: FairLock, listener: Listener) -> None:
    assert full.release(ALICE) == 1
    assert full.holds == {}
    assert listener.messages() == word_to(BOB)


def test_force_release_tells_the_first_in_line(full: FairLock, listener: Listener) -> None:
    assert full.force_release() == 1
    assert full.holds == {}
    assert listener.messages() == word_to(BOB)


def test_a_waiter_keeps_its_place(full: FairLock) -> None:
    assert full.acquire(CAROL) > 0
    assert full.line == [BOB, CAROL]
    assert full.alive(CAROL) == about(PATIENCE)


def test_a_waiter_leaves_the_line(full: FairLock) -> None:
    full.release(BOB)
    assert full.line == [CAROL]


def test_a_waiter_gets_the_lock_in_its_turn(full: FairLock) -> None:
    full.release(ALICE)
    assert full.acquire(BOB) is None
    assert full.holds == {BOB: b"1"}
    assert full.line == [CAROL]


def test_a_newcomer_is_refused_whole(full: FairLock) -> None:
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        full.acquire(DAVE)
    assert full.line == [BOB, CAROL]


def test_a_partial_release_is_refused_whole(full: FairLock) -> None:
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        full.release(ALICE, count=1)
    assert full.holds == {ALICE: b"2"}
