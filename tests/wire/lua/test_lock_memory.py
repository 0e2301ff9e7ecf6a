"""A server out of memory: nothing is half done, and a lock can still be freed and renewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, CHANNEL, KEEPER, MINUTE, NAME, Listener, Lock, Message

FREED = [Message("message", CHANNEL, b"0")]


class Full:
    """A lock held twice for a minute, on a server that has just run out of memory."""

    def __init__(self, server: Server, listener: Listener) -> None:
        self.server = server
        self.lock = Lock(server.inspect)
        self.listener = listener
        self.lock.acquire(ALICE, MINUTE)
        self.lock.acquire(ALICE, MINUTE, count=2)
        server.inspect.config_set("maxmemory", 1)

    def refuses(self, step: Callable[[], object]) -> None:
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            step()
        assert self.server.keys() == {NAME}
        assert self.lock.holds == {ALICE: b"2"}
        assert self.lock.left == pytest.approx(MINUTE, abs=2000)
        assert self.listener.messages() == []


@pytest.fixture
def full(private_server: Server) -> Iterator[Full]:
    with Listener(private_server) as listener:
        yield Full(private_server, listener)


def test_the_last_release_works(full: Full) -> None:
    assert full.lock.release(ALICE) == 1
    assert full.server.keys() == set()
    assert full.listener.messages() == FREED


def test_force_release_works(full: Full) -> None:
    assert full.lock.force_release() == 1
    assert full.server.keys() == set()
    assert full.listener.messages() == FREED


def test_renew_works(full: Full) -> None:
    assert full.lock.renew(ALICE, 5 * MINUTE) == 1
    assert full.lock.left == pytest.approx(5 * MINUTE, abs=2000)


def test_a_release_under_either_owner_works(full: Full) -> None:
    assert full.lock.release_either(BOB, ALICE) == 1
    assert full.server.keys() == set()
    assert full.listener.messages() == FREED


def test_a_lock_can_be_kept_closed(full: Full) -> None:
    assert full.lock.retain(ALICE, ALICE, KEEPER, 5 * MINUTE) == 1
    assert full.lock.holds == {KEEPER: b"1"}
    assert full.lock.left == pytest.approx(5 * MINUTE, abs=2000)
    assert full.listener.messages() == FREED


def test_a_move_is_refused_whole(full: Full) -> None:
    full.refuses(lambda: full.lock.move(ALICE, BOB, 5 * MINUTE))


def test_other_owners_get_the_time_left(full: Full) -> None:
    assert full.lock.acquire(BOB) == pytest.approx(MINUTE, abs=2000)
    assert full.lock.acquire(BOB, count=2) == -3
    assert full.lock.ttl() == pytest.approx(MINUTE, abs=2000)


def test_a_further_hold_is_refused_whole(full: Full) -> None:
    full.refuses(lambda: full.lock.acquire(ALICE, 5 * MINUTE, count=3))


def test_a_partial_release_is_refused_whole(full: Full) -> None:
    full.refuses(lambda: full.lock.release(ALICE, count=1))


def test_a_transfer_is_refused_whole(full: Full) -> None:
    full.refuses(lambda: full.lock.transfer(ALICE, BOB, 5 * MINUTE))


def test_a_free_lock_is_refused_without_a_trace(full: Full) -> None:
    other = Lock(full.server.inspect, b"other")
    full.refuses(lambda: other.acquire(BOB))
