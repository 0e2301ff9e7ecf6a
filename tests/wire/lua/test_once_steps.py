"""The step that keeps a result, and what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, MINUTE, NAME, Lock, about, evaluated

RESULT = b"holdfast_result:{myLock}"


def store(
    server: Server, owner: bytes, result: bytes, keep: int = MINUTE, needs_memory: int = 1
) -> Any:
    args = (owner, result, keep, needs_memory)
    return evaluated(server.inspect, "once/store", [NAME, RESULT], *args)


@pytest.fixture
def held(server: Server) -> Lock:
    """A lock that Alice holds."""
    lock = Lock(server.inspect)
    lock.acquire(ALICE, MINUTE)
    return lock


def test_the_owner_of_the_lock_keeps_a_result(held: Lock, server: Server) -> None:
    assert store(server, ALICE, b"\x00one", 2 * MINUTE) == 1
    assert server.inspect.get(RESULT) == b"\x00one"
    assert server.inspect.pttl(RESULT) == about(2 * MINUTE)
    assert held.holds == {ALICE: b"1"}
    assert held.left == about(MINUTE)


def test_a_repeat_keeps_the_same(held: Lock, server: Server) -> None:
    assert [store(server, ALICE, b"one") for _ in range(2)] == [1, 1]
    assert server.inspect.get(RESULT) == b"one"


def test_another_owner_keeps_nothing(held: Lock, server: Server) -> None:
    store(server, ALICE, b"one")
    assert store(server, BOB, b"two") == 0
    assert server.inspect.get(RESULT) == b"one"


def test_after_the_release_a_late_repeat_changes_nothing(held: Lock, server: Server) -> None:
    held.release(ALICE, 0)
    assert store(server, ALICE, b"one") == 0
    assert server.keys() == set()


@pytest.mark.parametrize("needs_memory", [0, 1])
def test_a_key_that_is_no_lock_is_an_error(server: Server, needs_memory: int) -> None:
    server.inspect.set(NAME, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        store(server, ALICE, b"one", needs_memory=needs_memory)
    server.inspect.connection_pool.disconnect()  # fakeredis has closed the connection
    assert server.keys() == {NAME}


def test_what_needs_no_memory_is_kept_as_a_result_is(held: Lock, server: Server) -> None:
    assert store(server, ALICE, b"xwhy", 2 * MINUTE, needs_memory=0) == 1
    assert server.inspect.get(RESULT) == b"xwhy"
    assert server.inspect.pttl(RESULT) == about(2 * MINUTE)
    assert held.holds == {ALICE: b"1"}
    assert store(server, BOB, b"xother", needs_memory=0) == 0
    assert server.inspect.get(RESULT) == b"xwhy"


@pytest.fixture
def full(private_server: Server) -> Server:
    """A server on which Alice holds the lock, and which has just run out of memory."""
    Lock(private_server.inspect).acquire(ALICE, MINUTE)
    private_server.inspect.config_set("maxmemory", 1)
    return private_server


def test_without_memory_a_result_is_refused_and_nothing_is_kept(full: Server) -> None:
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        store(full, ALICE, b"jone")
    assert full.keys() == {NAME}


def test_without_memory_it_is_kept_that_a_function_has_run(full: Server) -> None:
    assert store(full, ALICE, b"xwhy", needs_memory=0) == 1
    assert full.inspect.get(RESULT) == b"xwhy"
    assert full.inspect.pttl(RESULT) == about(MINUTE)


def test_without_memory_another_owner_keeps_nothing(full: Server) -> None:
    assert store(full, BOB, b"xwhy", needs_memory=0) == 0
    assert full.keys() == {NAME}
