"""The step that keeps a result, and what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, MINUTE, NAME, Lock, about, evaluated

RESULT = b"holdfast_result:{myLock}"


def store(server: Server, owner: bytes, result: bytes, keep: int = MINUTE) -> Any:
    return evaluated(server.inspect, "once/store", [NAME, RESULT], owner, result, keep)


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


def test_a_key_that_is_no_lock_is_an_error(server: Server) -> None:
    server.inspect.set(NAME, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        store(server, ALICE, b"one")
    assert server.keys() == {NAME}
