"""Tokens minted by Java and Python; what holds for every lock is in test_lock.py."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LockKey
from tests.support.waiting import eventually

WITH_TOKENS = ["4.7.0"]
"""The releases that have a fenced lock; 3.17.6 has none."""

pytestmark = pytest.mark.parametrize("release", WITH_TOKENS, indirect=True, scope="session")


def test_tokens_grow_from_grant_to_grant_over_both_languages(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.fenced_lock(key.name), python.fenced_lock(key.name)
    tokens = []
    for _ in range(5):
        tokens.append(java.lock_and_get_token())
        assert not mine.acquire(blocking=False)
        assert mine.token is None
        java.unlock()
        assert mine.acquire(lease=LONG)
        assert mine.token is not None
        tokens.append(mine.token)
        assert java.token() == mine.token
        assert java.begin_try_lock_and_get_token(0, LONG).result(SOON).value is None
        mine.release()
        assert mine.token is None
    assert tokens == sorted(set(tokens))


def test_grants_without_a_token_in_java_count_too(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.fenced_lock(key.name), python.fenced_lock(key.name)
    with mine:
        first = mine.token
    java.lock(lease=LONG)
    java.lock(lease=LONG)
    java.unlock()
    java.unlock()
    with mine:
        second = mine.token
    assert first is not None
    assert second is not None
    assert second >= first + 2


def test_a_grant_after_a_wait_has_a_higher_token_in_both_languages(
    peer: JavaPeer, python: holdfast.Client, python_thread: ThreadPoolExecutor, key: LockKey
) -> None:
    java, mine = peer.fenced_lock(key.name), python.fenced_lock(key.name)

    def wait_for_it() -> int | None:
        assert mine.acquire(timeout=20, lease=LONG)
        return mine.token

    first = java.lock_and_get_token()
    asleep = key.next_waiter_sleeps()
    second = python_thread.submit(wait_for_it)
    eventually(asleep)
    java.unlock()
    assert (second.result(SOON) or 0) > first
    asleep = key.next_waiter_sleeps()
    third = java.begin_try_lock_and_get_token(20, LONG)
    eventually(asleep)
    python_thread.submit(mine.release).result(SOON)
    assert third.result(SOON).value > (second.result(SOON) or 0)
    java.unlock()


def test_tokens_grow_on_in_java_after_the_counter_was_lost(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.fenced_lock(key.name), python.fenced_lock(key.name)
    before = java.lock_and_get_token()
    java.unlock()
    assert key.server.inspect.delete(f"redisson_lock_token:{{{key.name}}}") == 1
    lost = time.time_ns() // 1000
    with mine:
        assert mine.token is not None
        assert mine.token > before
        assert mine.token >= lost
        again = mine.token
    assert java.lock_and_get_token() == again + 1
    java.unlock()
