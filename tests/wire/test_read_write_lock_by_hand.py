"""A read-write lock that Redisson holds, made by hand: holdfast respects, joins and outlives it."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLock"
CHANNEL = "redisson_rwlock:{myLock}"
JAVA = "0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37"
MINUTE = 60_000


def java_reads(server: Server, holds: int = 1, lease: int = MINUTE) -> None:
    """Make what a Redisson client leaves when it has read holds."""
    server.inspect.hset(NAME, mapping={"mode": "read", JAVA: holds})
    for n in range(1, holds + 1):
        server.inspect.set(f"{{{NAME}}}:{JAVA}:rwlock_timeout:{n}", 1, px=lease)
    server.inspect.pexpire(NAME, max(lease, server.inspect.pttl(NAME)))


def java_writes(server: Server, holds: int = 1) -> None:
    server.inspect.hset(NAME, mapping={"mode": "write", f"{JAVA}:write": holds})
    server.inspect.pexpire(NAME, MINUTE)


def test_readers_of_redisson_are_joined(server: Server, client: Any, alice: Any) -> None:
    java_reads(server, holds=2, lease=2 * MINUTE)
    rw = client.read_write_lock(NAME)
    assert alice.do(rw.read.acquire, blocking=False, lease=200)
    assert not alice.do(client.read_write_lock(NAME).write.locked)
    assert server.inspect.hget(NAME, JAVA) == b"2"
    alice.do(rw.read.release)
    assert MINUTE < server.inspect.pttl(NAME) <= 2 * MINUTE
    assert server.inspect.hgetall(NAME) == {b"mode": b"read", JAVA.encode(): b"2"}


def test_readers_of_redisson_keep_a_writer_out(server: Server, client: Any, alice: Any) -> None:
    java_reads(server)
    rw = client.read_write_lock(NAME)
    assert not alice.do(rw.write.acquire, blocking=False)
    waiting = alice.begin(rw.write.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, "0")
    assert waiting.result(BOUND) is True


@pytest.mark.parametrize("side", ["read", "write"])
def test_a_writer_of_redisson_keeps_everybody_out(
    server: Server, client: Any, alice: Any, side: str
) -> None:
    java_writes(server, holds=2)
    lock = getattr(client.read_write_lock(NAME), side)
    assert not alice.do(lock.acquire, blocking=False)
    assert alice.do(lock.locked) is (side == "write")
    assert not alice.do(lock.owned)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)
    waiting = alice.begin(lock.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, "1")
    assert waiting.result(BOUND) is True


def test_a_silent_downgrade_of_redisson_lets_readers_in_with_the_next_message(
    server: Server, client: Any, alice: Any
) -> None:
    java_writes(server)
    waiting = alice.begin(client.read_write_lock(NAME).read.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    server.inspect.hdel(NAME, f"{JAVA}:write")
    java_reads(server)
    server.inspect.publish(CHANNEL, "0")
    assert waiting.result(BOUND) is True
    assert server.inspect.hlen(NAME) == 3


def test_a_reader_of_redisson_that_is_over_goes_with_our_last(
    server: Server, client: Any, alice: Any
) -> None:
    rw = client.read_write_lock(NAME)
    alice.do(rw.read.acquire, lease=100)
    server.inspect.hset(NAME, JAVA, 1)
    with server.listening(CHANNEL) as messages:
        alice.do(rw.read.release)
        assert server.keys() == set()
        assert messages.received() == [b"0"]
