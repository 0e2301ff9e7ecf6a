"""What the steps of readers answer and leave behind."""

from __future__ import annotations

import pytest

from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.wire.lua.read_write_lock import (
    BY_READERS,
    READS,
    STATES,
    WRITES,
    ReadWriteLock,
)
from tests.wire.lua.steps import ALICE, BOB, CAROL, MINUTE, NAME, SECOND, Listener, about


def run_out(server: Server, rw: ReadWriteLock, owner: bytes) -> None:
    """Let a reader's time be over, while its field is still there."""
    assert server.inspect.pexpire(rw.timeout(owner), 1)
    eventually(lambda: rw.read_left(owner) == -2)


# ---- reading


def test_a_reader_is_a_field_and_a_timeout_key(rw: ReadWriteLock, server: Server) -> None:
    assert rw.read_acquire(ALICE, MINUTE) is None
    assert rw.holds == READS | {ALICE: b"1"}
    assert rw.left == about(MINUTE)
    assert rw.timeouts == {b"{myStep}:" + ALICE + b":rwlock_timeout:1"}
    assert server.inspect.get(rw.timeout(ALICE)) == b"1"
    assert rw.read_left(ALICE) == about(MINUTE)


def test_readers_share(rw: ReadWriteLock) -> None:
    for owner in (ALICE, BOB, CAROL):
        assert rw.read_acquire(owner, MINUTE) is None
    assert rw.holds == READS | {ALICE: b"1", BOB: b"1", CAROL: b"1"}


@pytest.mark.parametrize("leases", [(MINUTE, 5 * MINUTE), (5 * MINUTE, MINUTE)])
def test_the_lock_lives_as_long_as_its_longest_reader(
    rw: ReadWriteLock, leases: tuple[int, int]
) -> None:
    for owner, lease in zip((ALICE, BOB), leases, strict=True):
        rw.read_acquire(owner, lease)
        assert rw.read_left(owner) == about(lease)
    assert rw.left == about(5 * MINUTE)


@pytest.mark.parametrize("leases", [(MINUTE, 5 * MINUTE), (5 * MINUTE, MINUTE)])
def test_all_holds_of_a_reader_share_the_longest_lease(
    rw: ReadWriteLock, leases: tuple[int, int]
) -> None:
    for count, lease in enumerate(leases, 1):
        assert rw.read_acquire(ALICE, lease, count) is None
    assert rw.holds == READS | {ALICE: b"2"}
    assert rw.timeouts == {rw.timeout(ALICE, 1), rw.timeout(ALICE, 2)}
    assert [rw.read_left(ALICE, n) for n in (1, 2)] == [about(5 * MINUTE)] * 2
    assert rw.left == about(5 * MINUTE)


def test_leases_are_compared_as_numbers(rw: ReadWriteLock) -> None:
    rw.read_acquire(ALICE, 100 * SECOND)
    rw.read_acquire(ALICE, 20 * SECOND, 2)
    rw.read_acquire(BOB, 30 * SECOND)
    assert rw.left == about(100 * SECOND)
    assert rw.read_left(ALICE, 2) == about(100 * SECOND)


def test_the_longest_lease_is_granted(rw: ReadWriteLock) -> None:
    assert rw.read_acquire(ALICE, 2**53) is None
    assert rw.left == about(2**53)
    assert rw.read_left(ALICE) == about(2**53)


def test_a_writer_keeps_readers_out(rw: ReadWriteLock) -> None:
    rw.write_acquire(ALICE, MINUTE)
    assert rw.read_acquire(BOB, 5 * MINUTE) == about(MINUTE)
    assert rw.holds == WRITES | {ALICE + b":write": b"1"}
    assert rw.timeouts == set()


def test_the_writer_may_read(rw: ReadWriteLock) -> None:
    rw.write_acquire(ALICE, MINUTE)
    assert rw.read_acquire(ALICE, 5 * MINUTE) is None
    assert rw.read_acquire(ALICE, 5 * MINUTE, 2) is None
    assert rw.holds == WRITES | {ALICE + b":write": b"1", ALICE: b"2"}
    assert rw.left == about(5 * MINUTE)
    assert rw.read_acquire(BOB) == about(5 * MINUTE)


@pytest.mark.parametrize("state", ["free", "read by another", "written by another", "written"])
def test_a_further_read_hold_without_the_earlier_is_lost(rw: ReadWriteLock, state: str) -> None:
    for step in STATES[state]:
        step(rw)
    before = rw.holds
    assert rw.read_acquire(ALICE, MINUTE, 2) == -3
    assert rw.holds == before
    assert rw.timeout(ALICE, 2) not in rw.timeouts


def test_a_further_read_hold_after_the_time_of_the_earlier_is_lost(
    rw: ReadWriteLock, server: Server
) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(BOB, MINUTE)
    run_out(server, rw, ALICE)
    assert rw.read_acquire(ALICE, MINUTE, 2) == -3
    assert rw.read_acquire(ALICE, MINUTE, 1) is None


@pytest.mark.parametrize("ask", ["read_acquire", "write_acquire"])
def test_another_kind_of_lock_is_in_the_way(rw: ReadWriteLock, server: Server, ask: str) -> None:
    server.inspect.hset(NAME, CAROL, 1)
    assert getattr(rw, ask)(ALICE) == -1
    server.inspect.pexpire(NAME, MINUTE)
    assert getattr(rw, ask)(ALICE) == about(MINUTE)
    assert rw.holds == {CAROL: b"1"}
    assert rw.force_release("read") == rw.force_release("write") == 0
    assert rw.locked("read") == rw.locked("write") == 0


# ---- read release


def test_the_last_reader_frees_the_lock(
    rw: ReadWriteLock, server: Server, rw_listener: Listener
) -> None:
    rw.read_acquire(ALICE)
    rw.read_acquire(BOB)
    assert rw.read_release(ALICE) == 0
    assert rw.holds == READS | {BOB: b"1"}
    assert rw_listener.messages() == []
    assert rw.read_release(BOB) == 1
    assert server.keys() == set()
    assert rw_listener.messages() == BY_READERS


def test_a_release_of_one_read_hold_keeps_the_lease(rw: ReadWriteLock) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(ALICE, 5 * MINUTE, 2)
    assert rw.read_release(ALICE, 1) == 0
    assert rw.holds == READS | {ALICE: b"1"}
    assert rw.timeouts == {rw.timeout(ALICE)}
    assert rw.left == about(5 * MINUTE)


def test_all_read_holds_may_go_at_once(rw: ReadWriteLock, server: Server) -> None:
    for count in (1, 2, 3):
        rw.read_acquire(ALICE, MINUTE, count)
    assert rw.read_release(ALICE, 0) == 1
    assert server.keys() == set()


def test_the_lease_falls_to_the_longest_that_is_left(
    rw: ReadWriteLock, rw_listener: Listener
) -> None:
    """Who waits must hear of it, to look again when that one's time is over."""
    for owner, lease in ((ALICE, MINUTE), (BOB, 10 * MINUTE), (CAROL, 5 * MINUTE)):
        rw.read_acquire(owner, lease)
    assert rw.read_release(BOB) == 0
    assert rw.left == about(5 * MINUTE)
    assert rw_listener.messages() == BY_READERS
    assert rw.read_release(ALICE) == 0
    assert rw.left == about(5 * MINUTE)
    assert rw_listener.messages() == []
    rw.read_release(CAROL)
    assert rw.left == -2


def test_the_lease_falls_though_it_ends_a_moment_after_the_longest_reader(
    rw: ReadWriteLock, server: Server, rw_listener: Listener
) -> None:
    """Before Redis 7.2 time goes on in a script that sets a lease by another key's PTTL."""
    for owner, lease in ((ALICE, MINUTE), (BOB, 10 * MINUTE)):
        rw.read_acquire(owner, lease)
    later = "return redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[2]) + 3)"
    server.inspect.eval(later, 2, NAME, rw.timeout(BOB, 1))  # at one time, however busy it is
    assert rw.read_release(BOB) == 0
    assert rw.left == about(MINUTE)
    assert rw_listener.messages() == BY_READERS


def test_readers_whose_time_is_over_do_not_keep_the_lock(
    rw: ReadWriteLock, server: Server, rw_listener: Listener
) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(BOB, 5 * MINUTE)
    run_out(server, rw, ALICE)
    assert rw.read_release(BOB) == 1
    assert server.keys() == set()
    assert rw_listener.messages() == BY_READERS


def test_readers_whose_time_is_over_are_removed(rw: ReadWriteLock, server: Server) -> None:
    for owner, lease in ((ALICE, MINUTE), (BOB, 2 * MINUTE), (CAROL, 5 * MINUTE)):
        rw.read_acquire(owner, lease)
    run_out(server, rw, ALICE)
    assert rw.read_release(CAROL) == 0
    assert rw.holds == READS | {BOB: b"1"}
    assert rw.left == about(2 * MINUTE)


def test_a_late_release_of_a_reader_removes_it(rw: ReadWriteLock, server: Server) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(BOB, 5 * MINUTE)
    run_out(server, rw, ALICE)
    assert rw.read_release(ALICE) == 0
    assert rw.holds == READS | {BOB: b"1"}
    assert rw.left == about(5 * MINUTE)


def test_a_writers_read_release_keeps_the_writer_and_its_lease(
    rw: ReadWriteLock, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE, 5 * MINUTE)
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(ALICE, MINUTE, 2)
    assert rw.read_release(ALICE, 1) == 0
    assert rw.read_release(ALICE) == 0
    assert rw.holds == WRITES | {ALICE + b":write": b"1"}
    assert rw.left == about(5 * MINUTE)
    assert rw.timeouts == set()
    assert rw_listener.messages() == []


def test_read_release_by_another_changes_nothing(rw: ReadWriteLock, rw_listener: Listener) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(ALICE, MINUTE, 2)
    for count in (0, 1):
        assert rw.read_release(BOB, count) is None
    assert rw.holds == READS | {ALICE: b"2"}
    assert len(rw.timeouts) == 2
    assert rw_listener.messages() == []


@pytest.mark.parametrize("count", [0, 2])
def test_what_a_lost_reader_left_behind_is_removed_by_its_release(
    rw: ReadWriteLock, server: Server, count: int
) -> None:
    for holds in (1, 2, 3):
        rw.read_acquire(ALICE, MINUTE, holds)
    server.inspect.delete(NAME)
    assert rw.read_release(ALICE, count) is None
    assert server.keys() == set()


# ---- renew, extend, holds


def test_renew_raises_the_readers_own_lease_only(rw: ReadWriteLock) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(ALICE, MINUTE, 2)
    rw.read_acquire(BOB, MINUTE)
    assert rw.read_renew(ALICE, 5 * MINUTE) == about(MINUTE)
    assert [rw.read_left(ALICE, n) for n in (1, 2)] == [about(5 * MINUTE)] * 2
    assert rw.read_left(BOB) == about(MINUTE)
    assert rw.left == about(5 * MINUTE)


def test_renew_never_cuts(rw: ReadWriteLock) -> None:
    rw.read_acquire(ALICE, 5 * MINUTE)
    rw.read_acquire(BOB, 10 * MINUTE)
    assert rw.read_renew(ALICE, MINUTE) == about(5 * MINUTE)
    assert rw.read_left(ALICE) == about(5 * MINUTE)
    assert rw.left == about(10 * MINUTE)


def test_renew_replies_what_was_left_of_the_lock_or_the_readers_own(
    rw: ReadWriteLock, server: Server
) -> None:
    rw.read_acquire(ALICE, 5 * MINUTE)
    server.inspect.pexpire(NAME, MINUTE)
    assert rw.read_renew(ALICE, 5 * MINUTE) == about(MINUTE)
    server.inspect.pexpire(rw.timeout(ALICE), 2 * MINUTE)
    assert rw.read_renew(ALICE, 5 * MINUTE) == about(2 * MINUTE)
    assert rw.read_renew(ALICE, 5 * MINUTE) == about(5 * MINUTE)


def test_renew_takes_a_key_that_never_expires_for_a_whole_lease(
    rw: ReadWriteLock, server: Server
) -> None:
    rw.read_acquire(ALICE, 5 * MINUTE)
    server.inspect.persist(NAME)
    assert rw.read_renew(ALICE, 5 * MINUTE) == about(5 * MINUTE)
    assert rw.left == about(5 * MINUTE)


def test_extend_sets_the_readers_lease(rw: ReadWriteLock, rw_listener: Listener) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(ALICE, MINUTE, 2)
    rw.read_acquire(BOB, 5 * MINUTE)
    for lease, left in ((10 * MINUTE, 10 * MINUTE), (2 * MINUTE, 5 * MINUTE)):
        assert rw.read_extend(ALICE, lease) == 1
        assert [rw.read_left(ALICE, n) for n in (1, 2)] == [about(lease)] * 2
        assert rw.left == about(left)
    assert rw_listener.messages() == BY_READERS
    assert rw.read_extend(ALICE, MINUTE) == 1
    assert rw_listener.messages() == []


def test_a_writers_read_extend_never_cuts_the_lock(rw: ReadWriteLock) -> None:
    rw.write_acquire(ALICE, 5 * MINUTE)
    rw.read_acquire(ALICE, MINUTE)
    for lease, left in ((2 * MINUTE, 5 * MINUTE), (10 * MINUTE, 10 * MINUTE)):
        assert rw.read_extend(ALICE, lease) == 1
        assert rw.read_left(ALICE) == about(lease)
        assert rw.left == about(left)


def test_a_reader_whose_time_is_over_holds_nothing(rw: ReadWriteLock, server: Server) -> None:
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(BOB, MINUTE)
    assert rw.read_holds(ALICE) == 1
    run_out(server, rw, ALICE)
    before = rw.holds
    assert rw.read_holds(ALICE) == 0
    assert rw.read_renew(ALICE) == 0
    assert rw.read_extend(ALICE) == 0
    assert rw.holds == before
    assert rw.timeout(ALICE) not in rw.timeouts


def test_who_does_not_read_has_no_read_holds(rw: ReadWriteLock) -> None:
    for state in ("free", "read by another", "written by another", "written"):
        rw.force_release("read")
        rw.force_release("write")
        for step in STATES[state]:
            step(rw)
        before, left = rw.holds, rw.left
        for step in (rw.read_holds, rw.read_renew, rw.read_extend):
            assert step(ALICE) == 0
        assert rw.holds == before
        assert rw.left == pytest.approx(left, abs=SECOND)
