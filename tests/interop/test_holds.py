"""Holds that Python passes on, and locks that it keeps closed, as Java sees them."""

from __future__ import annotations

import pytest

import holdfast
from tests.interop.conftest import LONG
from tests.interop.java_peer import JavaPeer
from tests.interop.lock_kinds import LOCK_KINDS, SharedLock
from tests.interop.wire import LockKey
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

ROUNDS = 20
AT_LEAST = 2.0

MOVABLE = [kind for kind in LOCK_KINDS if kind.word != "spin"]


@pytest.mark.parametrize("kind", MOVABLE, ids=[kind.word for kind in MOVABLE])
def test_java_never_gets_in_while_a_hold_is_passed_on(
    peer: JavaPeer, python: holdfast.Client, redis_server: Server, shared: SharedLock
) -> None:
    java = shared.java(peer)
    owner = java.owner  # asked of the thread that will wait
    with holdfast.Client(redis_server.url) as other:
        hold = shared.python(python).hold()
        asleep = shared.key.next_waiter_sleeps(java)
        waiting = java.begin_lock(lease=LONG)
        eventually(asleep)
        for _ in range(ROUNDS):
            for client in (other, python):
                ticket = hold.detach(LONG)
                assert not waiting.done()
                hold = client.attach(ticket)
                assert not waiting.done()
        assert list(shared.key.holds()) != [owner]
        hold.release()
        assert waiting.result(BOUND)
        assert list(shared.key.holds()) == [owner]
        java.unlock()


def test_java_waits_for_the_minimum_hold_time(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java = peer.lock(key.name)
    mine = python.lock(key.name, at_least=AT_LEAST)
    assert mine.acquire(blocking=False)
    mine.release()
    assert list(key.holds()) == [f"{python.id}:0"]
    assert java.is_locked()
    assert not java.try_lock()
    left = java.remain_time_to_live()
    assert 0 < left <= AT_LEAST
    assert java.begin_lock(lease=LONG).result(BOUND)
    assert list(key.holds()) == [java.owner]
    java.unlock()
