"""What each step of the lock answers and leaves behind."""

from __future__ import annotations

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import (
    ALICE,
    BOB,
    CAROL,
    CHANNEL,
    MINUTE,
    NAME,
    SECOND,
    STEPS,
    Listener,
    Lock,
    Message,
    about,
)

FREED = [Message("message", CHANNEL, b"0")]


# ---- acquire


def test_a_free_lock_is_granted_for_the_lease(lock: Lock) -> None:
    assert lock.acquire(ALICE, MINUTE) is None
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)


def test_a_held_lock_is_refused_with_the_time_that_is_left(lock: Lock) -> None:
    lock.acquire(ALICE, MINUTE)
    assert lock.acquire(BOB, 5 * MINUTE) == about(MINUTE)
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)


def test_a_lock_held_without_expiry_is_refused_with_minus_one(lock: Lock, server: Server) -> None:
    server.inspect.hset(NAME, CAROL, 1)
    assert lock.acquire(ALICE) == -1
    assert lock.holds == {CAROL: b"1"}
    assert lock.left == -1


def test_a_further_hold_sets_the_count_that_it_is_sent(lock: Lock) -> None:
    lock.acquire(ALICE)
    assert lock.acquire(ALICE, count=2) is None
    assert lock.acquire(ALICE, count=3) is None
    assert lock.holds == {ALICE: b"3"}


def test_a_further_hold_raises_the_lease(lock: Lock) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, 5 * MINUTE, count=2)
    assert lock.left == about(5 * MINUTE)


def test_a_further_hold_never_cuts_the_lease(lock: Lock) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    assert lock.left == about(5 * MINUTE)


def test_a_further_hold_gives_a_lock_without_expiry_its_lease(lock: Lock, server: Server) -> None:
    lock.acquire(ALICE, MINUTE)
    server.inspect.persist(NAME)
    assert lock.acquire(ALICE, MINUTE, count=2) is None
    assert lock.left == about(MINUTE)


def test_leases_are_compared_as_numbers(lock: Lock) -> None:
    lock.acquire(ALICE, 100 * SECOND)
    lock.acquire(ALICE, 20 * SECOND, count=2)
    assert lock.left == about(100 * SECOND)


def test_the_longest_lease_is_granted(lock: Lock) -> None:
    assert lock.acquire(ALICE, 2**53) is None
    assert lock.left == about(2**53)


@pytest.mark.servers("real")  # fakeredis breaks its protocol when Lua itself fails
def test_a_lease_that_is_no_number_changes_nothing(lock: Lock, server: Server) -> None:
    with pytest.raises(redis.ResponseError):
        lock.acquire(ALICE, "soon")
    assert server.keys() == set()


def test_a_further_hold_of_a_lock_gone_is_refused(lock: Lock, server: Server) -> None:
    assert lock.acquire(ALICE, count=2) == -3
    assert server.keys() == set()


def test_a_further_hold_of_a_lock_lost_to_another_is_refused(lock: Lock) -> None:
    lock.acquire(BOB, MINUTE)
    assert lock.acquire(ALICE, 5 * MINUTE, count=2) == -3
    assert lock.holds == {BOB: b"1"}
    assert lock.left == about(MINUTE)


# ---- release


def test_the_last_release_deletes_the_key_and_publishes(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE)
    assert lock.release(ALICE) == 1
    assert lock.left == -2
    assert listener.messages() == FREED


def test_a_release_returns_the_number_of_subscribers(lock: Lock) -> None:
    lock.acquire(ALICE)
    lock.release(ALICE)
    assert lock.told == 0


def test_a_release_counts_a_listener(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.release(ALICE)
    assert lock.told == 1
    assert listener.messages() == FREED


def test_the_last_release_frees_however_many_holds_there_are(lock: Lock) -> None:
    lock.acquire(ALICE)
    lock.acquire(ALICE, count=2)
    assert lock.release(ALICE, count=0) == 1
    assert lock.left == -2


def test_a_partial_release_sets_the_count_and_keeps_the_lease(
    lock: Lock, listener: Listener
) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    assert lock.release(ALICE, count=1) == 0
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)
    assert listener.messages() == []


@pytest.mark.parametrize("count", [0, 1])
def test_release_by_another_changes_nothing(lock: Lock, listener: Listener, count: int) -> None:
    lock.acquire(ALICE, MINUTE)
    assert lock.release(BOB, count) is None
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(MINUTE)
    assert listener.messages() == []


@pytest.mark.parametrize("count", [0, 1])
def test_release_of_a_free_lock_changes_nothing(
    lock: Lock, listener: Listener, server: Server, count: int
) -> None:
    assert lock.release(ALICE, count) is None
    assert server.keys() == set()
    assert listener.messages() == []


def test_release_never_takes_a_field_of_another_owner(lock: Lock, server: Server) -> None:
    lock.acquire(ALICE)
    server.inspect.hset(NAME, CAROL, 1)
    assert lock.release(ALICE) == 1
    assert lock.holds == {CAROL: b"1"}
    assert lock.left == about(30 * SECOND)


# ---- transfer


def test_transfer_changes_the_owner_without_a_message(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    assert lock.transfer(ALICE, BOB, 5 * MINUTE) == 1
    assert lock.holds == {BOB: b"1"}
    assert lock.left == about(5 * MINUTE)
    assert listener.messages() == []


def test_transfer_sets_a_shorter_lease_too_and_tells_the_waiters(
    lock: Lock, listener: Listener
) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    assert lock.transfer(ALICE, BOB, MINUTE) == 1
    assert lock.left == about(MINUTE)
    assert listener.messages() == FREED


def test_transfer_of_a_lock_held_by_a_third_changes_nothing(lock: Lock) -> None:
    lock.acquire(CAROL, MINUTE)
    assert lock.transfer(ALICE, BOB, 5 * MINUTE) is None
    assert lock.holds == {CAROL: b"1"}
    assert lock.left == about(MINUTE)


def test_transfer_of_a_free_lock_changes_nothing(lock: Lock, server: Server) -> None:
    assert lock.transfer(ALICE, BOB) is None
    assert server.keys() == set()


# ---- renew


@pytest.mark.parametrize(("lease", "left"), [(MINUTE, 5 * MINUTE), (10 * MINUTE, 10 * MINUTE)])
def test_renew_raises_the_lease_and_never_cuts_it(lock: Lock, lease: int, left: int) -> None:
    """One that arrives late must not cut a lease that was set since."""
    lock.acquire(ALICE, 5 * MINUTE)
    assert lock.renew(ALICE, lease) == 1
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(left)


@pytest.mark.parametrize("lease", [MINUTE, 10 * MINUTE])
def test_extend_sets_the_lease(lock: Lock, lease: int) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    assert lock.extend(ALICE, lease) == 1
    assert lock.holds == {ALICE: b"1"}
    assert lock.left == about(lease)


def test_a_lease_that_ends_sooner_is_published(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE, 5 * MINUTE)
    lock.extend(ALICE, 10 * MINUTE)
    assert listener.messages() == []
    lock.extend(ALICE, MINUTE)
    assert listener.messages() == FREED


def test_extend_by_another_changes_nothing(lock: Lock) -> None:
    lock.acquire(ALICE, MINUTE)
    assert lock.extend(BOB, 5 * MINUTE) == 0
    assert lock.left == about(MINUTE)


def test_renew_by_another_changes_nothing(lock: Lock) -> None:
    """changed-key."""
    lock.acquire(ALICE, MINUTE)
    assert lock.renew(BOB, 5 * MINUTE) == 0
    assert lock.left == about(MINUTE)


def test_renew_of_a_free_lock_changes_nothing(lock: Lock, server: Server) -> None:
    assert lock.renew(ALICE) == 0
    assert server.keys() == set()


# ---- force release


def test_force_release_frees_all_holds_and_publishes(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.acquire(ALICE, count=2)
    assert lock.force_release() == 1
    assert lock.left == -2
    assert listener.messages() == FREED


def test_force_release_of_a_free_lock_publishes_nothing(lock: Lock, listener: Listener) -> None:
    assert lock.force_release() == 0
    assert listener.messages() == []


# ---- ttl


def test_ttl_tells_what_is_left(lock: Lock, server: Server) -> None:
    assert lock.ttl() == -2
    lock.acquire(ALICE, MINUTE)
    assert lock.ttl() == about(MINUTE)
    server.inspect.persist(NAME)
    assert lock.ttl() == -1


# ---- all steps


@pytest.mark.parametrize("step", ["release", "force_release"])
def test_spublish_reaches_the_shard_channel_only(lock: Lock, listener: Listener, step: str) -> None:
    lock.acquire(ALICE)
    arguments = (ALICE, 0, "spublish") if step == "release" else ("spublish",)
    assert getattr(lock, step)(*arguments) == 1
    assert listener.messages() == [Message("smessage", CHANNEL, b"0")]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["string", "list"])
def test_a_key_of_another_type_is_an_error_and_stays(
    lock: Lock, server: Server, listener: Listener, step: str, kind: str
) -> None:
    if kind == "string":
        server.inspect.set(NAME, "not a lock", px=MINUTE)
    else:
        server.inspect.rpush(NAME, "not a lock")
        server.inspect.pexpire(NAME, MINUTE)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        STEPS[step](lock)
    assert server.inspect.type(NAME) == kind.encode()
    assert lock.left == about(MINUTE)
    assert listener.messages() == []


ODD_NAMES = [
    b"\0",
    b"a\nb\r\n",
    b" a  b ",
    b"{",
    b"}",
    b"{}",
    b"x{y",
    b"x}y",
    b"a{tag}b",
    b"\"'\\]]--",
    "héllo ключ 🔒".encode(),
    b"\xff\xfe\x80",
    b"x" * 100_000,
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=lambda name: ascii(name)[:20])
def test_any_bytes_name_a_lock(server: Server, name: bytes) -> None:
    channel = b"channel:{" + name + b"}"
    lock = Lock(server.inspect, name, channel)
    with Listener(server, channel) as listener:
        assert lock.acquire(ALICE, MINUTE) is None
        assert lock.acquire(BOB) == about(MINUTE)
        assert server.keys() == {name}
        assert lock.renew(ALICE, 5 * MINUTE) == 1
        assert lock.ttl() == about(5 * MINUTE)
        assert lock.release(ALICE) == 1
        assert lock.force_release() == 0
        assert server.keys() == set()
        assert listener.messages() == [Message("message", channel, b"0")]
