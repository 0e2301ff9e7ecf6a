"""A lock that Redisson holds, and its messages, made by hand: holdfast respects and hears them.

Nothing expires here before the bound of a test, unless the test says so: a waiter that wakes has
been woken.
"""

from __future__ import annotations

import re
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

import holdfast
from tests.support.recording import Recording
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"
JAVA = b"0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37"
OWNER = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9][0-9]*")
MINUTE = 60_000


def java_holds(server: Server, count: int = 1, lease: int | None = MINUTE) -> None:
    """Make the hash that a Redisson client leaves when it holds the lock."""
    server.inspect.hset(NAME, JAVA, count)
    if lease is not None:
        server.inspect.pexpire(NAME, lease)


def java_releases(server: Server, payload: str = "0") -> None:
    """What Redisson's release does, in its order."""
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, payload)


def tries(recording: Recording) -> int:
    """How often the lock was tried."""
    return recording.count()["EVALSHA"] + recording.count()["EVAL"]


def has_grown(recording: Recording, before: int) -> bool:
    return tries(recording) > before


def wait_for(server: Server, actor: Any, client: Any) -> Future[Any]:
    """Let an actor wait for the lock; returns when it listens."""
    waiting: Future[Any] = actor.begin(client.lock(NAME).acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    return waiting


def test_our_hold_is_a_hash_as_redissons(server: Server, client: Any, alice: Any) -> None:
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    assert server.keys() == {NAME.encode()}
    [(owner, count)] = server.inspect.hgetall(NAME).items()
    assert OWNER.fullmatch(owner)
    assert owner.startswith(f"{client.id}:".encode())
    assert count == b"2"


@pytest.mark.parametrize("count", [1, 3])
def test_a_lock_held_elsewhere_is_held(server: Server, client: Any, alice: Any, count: int) -> None:
    java_holds(server, count)
    lock = client.lock(NAME)
    assert alice.do(lock.acquire, blocking=False) is False
    assert alice.do(lock.locked) is True
    assert alice.do(lock.owned) is False
    assert alice.do(lock.hold_count) == 0
    assert alice.do(lock.ttl) == pytest.approx(MINUTE / 1000, abs=5)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)
    assert alice.do(lock.extend, 5) is False
    assert server.inspect.hgetall(NAME) == {JAVA: b"%d" % count}
    assert server.inspect.pttl(NAME) == pytest.approx(MINUTE, abs=5000)


def test_a_release_elsewhere_wakes_the_waiter(server: Server, client: Any, alice: Any) -> None:
    java_holds(server)
    waiting = wait_for(server, alice, client)
    java_releases(server)
    assert waiting.result(BOUND) is True
    assert JAVA not in server.inspect.hgetall(NAME)


def test_a_lock_without_expiry_is_waited_for(server: Server, client: Any, alice: Any) -> None:
    java_holds(server, lease=None)
    waiting = wait_for(server, alice, client)
    java_releases(server)
    assert waiting.result(BOUND) is True


def test_a_lease_that_runs_out_elsewhere_ends_the_wait(
    server: Server, client: Any, alice: Any
) -> None:
    java_holds(server, lease=300)
    assert alice.begin(client.lock(NAME).acquire).result(BOUND) is True


@pytest.mark.parametrize("payload", ["1", "-5", "", "no number"])
def test_any_message_may_mean_that_it_is_free(
    server: Server, client: Any, alice: Any, payload: str
) -> None:
    java_holds(server)
    waiting = wait_for(server, alice, client)
    java_releases(server, payload)
    assert waiting.result(BOUND) is True


@pytest.mark.servers("real")
def test_a_message_that_means_nothing_is_survived(server: Server, client: Any, alice: Any) -> None:
    java_holds(server)
    waiting = wait_for(server, alice, client)
    with server.recording() as recording:
        for _ in range(3):
            before = tries(recording)
            server.inspect.publish(CHANNEL, "0")
            eventually(partial(has_grown, recording, before))
    assert not waiting.done()
    assert server.inspect.hgetall(NAME) == {JAVA: b"1"}
    java_releases(server)
    assert waiting.result(BOUND) is True


def test_a_lock_taken_over_elsewhere_is_not_released(
    server: Server, client: Any, alice: Any
) -> None:
    lock = client.lock(NAME)
    # The server has to know the script: fakeredis hangs up after NOSCRIPT, and then a release that
    # finds nothing counts as the repeat of one that was done.
    alice.do(lock.acquire)
    alice.do(lock.release)
    alice.do(lock.acquire, lease=30)
    server.inspect.delete(NAME)
    java_holds(server)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert server.inspect.hgetall(NAME) == {JAVA: b"1"}


def test_a_forced_release_frees_a_lock_held_elsewhere(
    server: Server, client: Any, alice: Any, bob: Any
) -> None:
    java_holds(server, count=2)
    waiting = wait_for(server, alice, client)
    assert bob.do(client.lock(NAME).force_release) is True
    assert waiting.result(BOUND) is True
