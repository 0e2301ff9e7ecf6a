"""A server out of memory: nothing is half done, and a lock can be released, renewed and freed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.read_write_lock import CHANNEL, ReadWriteLock
from tests.wire.lua.steps import ALICE, BOB, MINUTE, Listener


@pytest.fixture
def listener(private_server: Server) -> Iterator[Listener]:
    with Listener(private_server, CHANNEL) as listener:
        yield listener


@pytest.fixture
def lock(private_server: Server) -> ReadWriteLock:
    return ReadWriteLock(private_server.inspect)


def fill(server: Server) -> None:
    server.inspect.config_set("maxmemory", 1)


def read_by_two(lock: ReadWriteLock) -> None:
    """Alice reads twice for five minutes, Bob once for one."""
    lock.read_acquire(ALICE, 5 * MINUTE)
    lock.read_acquire(ALICE, 5 * MINUTE, 2)
    lock.read_acquire(BOB, MINUTE)


def test_read_releases_work(
    lock: ReadWriteLock, private_server: Server, listener: Listener
) -> None:
    read_by_two(lock)
    fill(private_server)
    assert lock.read_release(ALICE, 1) == 0
    assert lock.holds[ALICE] == b"1"
    assert lock.read_release(ALICE) == 0
    assert lock.left <= MINUTE
    assert lock.read_release(BOB) == 1
    assert private_server.keys() == set()
    assert [message.payload for message in listener.messages()] == [b"0", b"0"]


def test_write_release_and_downgrade_work(
    lock: ReadWriteLock, private_server: Server, listener: Listener
) -> None:
    lock.write_acquire(ALICE, MINUTE)
    lock.read_acquire(ALICE, MINUTE)
    fill(private_server)
    assert lock.write_release(ALICE) == 0
    assert lock.holds == {b"mode": b"read", ALICE: b"1"}
    assert lock.read_release(ALICE) == 1
    assert private_server.keys() == set()
    assert [message.payload for message in listener.messages()] == [b"1", b"0"]


def test_renew_extend_and_force_release_work(lock: ReadWriteLock, private_server: Server) -> None:
    read_by_two(lock)
    fill(private_server)
    assert lock.read_renew(BOB, 10 * MINUTE) > 0
    assert lock.left > 9 * MINUTE
    assert lock.read_extend(BOB, MINUTE) == 1
    assert lock.left <= 5 * MINUTE
    assert lock.force_release("read") == 1
    assert private_server.keys() == set()


@pytest.mark.parametrize(
    "step",
    [
        lambda lock: lock.read_acquire(ALICE, 10 * MINUTE, 3),
        lambda lock: lock.read_acquire(b"new", 10 * MINUTE),
    ],
    ids=["a further hold", "a new reader"],
)
def test_a_grant_is_refused_whole(
    lock: ReadWriteLock, private_server: Server, step: Callable[[ReadWriteLock], object]
) -> None:
    read_by_two(lock)
    holds, timeouts = lock.holds, lock.timeouts
    fill(private_server)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        step(lock)
    assert (lock.holds, lock.timeouts) == (holds, timeouts)
    assert lock.left <= 5 * MINUTE


def test_a_partial_write_release_is_refused_whole(
    lock: ReadWriteLock, private_server: Server
) -> None:
    lock.write_acquire(ALICE, MINUTE)
    lock.write_acquire(ALICE, MINUTE, 2)
    holds = lock.holds
    fill(private_server)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        lock.write_release(ALICE, 1)
    assert lock.holds == holds
    assert lock.write_release(ALICE) == 1
