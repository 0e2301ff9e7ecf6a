"""What the steps of the writer, and those of both sides, answer and leave behind."""

from __future__ import annotations

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.read_write_lock import (
    BY_READERS,
    BY_WRITER,
    CHANNEL,
    READS,
    STATES,
    STEPS,
    WRITES,
    ReadWriteLock,
)
from tests.wire.lua.steps import ALICE, BOB, CAROL, MINUTE, NAME, Listener, Message, about

# ---- writing


def test_a_writer_has_a_separate_field(rw: ReadWriteLock, server: Server) -> None:
    assert rw.write_acquire(ALICE, MINUTE) is None
    assert rw.holds == WRITES | {ALICE + b":write": b"1"}
    assert rw.left == about(MINUTE)
    assert server.keys() == {NAME}


@pytest.mark.parametrize("state", ["read", "read by another", "written by another"])
def test_a_writer_waits_for_all_others_and_for_its_own_reading(
    rw: ReadWriteLock, state: str
) -> None:
    for step in STATES[state]:
        step(rw)
    before = rw.holds
    assert rw.write_acquire(ALICE, 5 * MINUTE) == about(2 * MINUTE)
    assert rw.write_acquire(ALICE, 5 * MINUTE, 2) == -3
    assert rw.holds == before


@pytest.mark.parametrize("leases", [(MINUTE, 5 * MINUTE), (5 * MINUTE, MINUTE)])
def test_of_write_leases_the_longer_counts_and_they_do_not_add_up(
    rw: ReadWriteLock, leases: tuple[int, int]
) -> None:
    for count, lease in enumerate(leases, 1):
        assert rw.write_acquire(ALICE, lease, count) is None
    assert rw.holds == WRITES | {ALICE + b":write": b"2"}
    assert rw.left == about(5 * MINUTE)


def test_a_release_of_one_write_hold_keeps_the_lease(
    rw: ReadWriteLock, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE, 5 * MINUTE)
    rw.write_acquire(ALICE, MINUTE, 2)
    assert rw.write_release(ALICE, 1) == 0
    assert rw.holds == WRITES | {ALICE + b":write": b"1"}
    assert rw.left == about(5 * MINUTE)
    assert rw_listener.messages() == []


def test_the_last_write_release_frees_the_lock(
    rw: ReadWriteLock, server: Server, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE)
    assert rw.write_release(ALICE) == 1
    assert server.keys() == set()
    assert rw_listener.messages() == BY_WRITER


def test_a_downgrade_lets_readers_in_and_tells_them(
    rw: ReadWriteLock, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE, 5 * MINUTE)
    rw.read_acquire(ALICE, MINUTE)
    assert rw.write_release(ALICE) == 0
    assert rw.holds == READS | {ALICE: b"1"}
    assert rw.left == about(MINUTE)
    assert rw_listener.messages() == BY_WRITER
    assert rw.read_acquire(BOB) is None
    assert rw.write_acquire(CAROL) == about(MINUTE)


def test_a_downgrade_to_read_holds_whose_time_is_over_frees_the_lock(
    rw: ReadWriteLock, server: Server, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE, 5 * MINUTE)
    rw.read_acquire(ALICE, MINUTE)
    server.inspect.delete(rw.timeout(ALICE))
    assert rw.write_release(ALICE) == 1
    assert server.keys() == set()
    assert rw_listener.messages() == BY_WRITER


@pytest.mark.parametrize("state", ["free", "read", "read by another", "written by another"])
def test_release_by_who_does_not_write_changes_nothing(
    rw: ReadWriteLock, rw_listener: Listener, state: str
) -> None:
    for step in STATES[state]:
        step(rw)
    before = rw.holds
    for count in (0, 1):
        assert rw.write_release(ALICE, count) is None
    assert rw.write_extend(ALICE, 5 * MINUTE) == 0
    assert rw.holds == before
    assert rw.left <= 2 * MINUTE
    assert rw_listener.messages() == []


def test_extend_sets_the_writers_lease_but_not_below_its_read_holds(
    rw: ReadWriteLock, rw_listener: Listener
) -> None:
    rw.write_acquire(ALICE, MINUTE)
    for lease in (10 * MINUTE, 2 * MINUTE):
        assert rw.write_extend(ALICE, lease) == 1
        assert rw.left == about(lease)
    assert rw_listener.messages() == BY_WRITER
    rw.read_acquire(ALICE, 5 * MINUTE)
    assert rw.write_extend(ALICE, MINUTE) == 1
    assert rw.left == about(5 * MINUTE)
    assert rw_listener.messages() == []


# ---- force release, locked


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("state", STATES)
def test_force_release_is_for_its_mode(
    rw: ReadWriteLock, server: Server, rw_listener: Listener, mode: str, state: str
) -> None:
    for step in STATES[state]:
        step(rw)
    before = rw.holds
    if before.get(b"mode") == mode.encode():
        assert rw.force_release(mode) == 1
        assert server.keys() == set()
        assert rw_listener.messages() == (BY_READERS if mode == "read" else BY_WRITER)
    else:
        assert rw.force_release(mode) == 0
        assert rw.holds == before
        assert rw_listener.messages() == []


@pytest.mark.parametrize("state", STATES)
def test_locked_is_about_readers_or_the_writer(rw: ReadWriteLock, state: str) -> None:
    for step in STATES[state]:
        step(rw)
    assert rw.locked("read") == int("read" in state)
    assert rw.locked("write") == int("written" in state)


# ---- all steps


@pytest.mark.parametrize("step", ["read_release", "write_release", "force_release"])
def test_spublish_reaches_the_shard_channel_only(
    rw: ReadWriteLock, rw_listener: Listener, step: str
) -> None:
    if step == "write_release":
        rw.write_acquire(ALICE)
    else:
        rw.read_acquire(ALICE)
    arguments = ("read", "spublish") if step == "force_release" else (ALICE, 0, "spublish")
    assert getattr(rw, step)(*arguments) == 1
    payload = b"1" if step == "write_release" else b"0"
    assert rw_listener.messages() == [Message("smessage", CHANNEL, payload)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["string", "list"])
def test_a_key_of_another_type_is_an_error_and_stays(
    rw: ReadWriteLock, server: Server, rw_listener: Listener, step: str, kind: str
) -> None:
    if kind == "string":
        server.inspect.set(NAME, "not a lock", px=MINUTE)
    else:
        server.inspect.rpush(NAME, "not a lock")
        server.inspect.pexpire(NAME, MINUTE)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        STEPS[step](rw)
    assert server.inspect.type(NAME) == kind.encode()
    assert server.keys() == {NAME}
    assert rw.left == about(MINUTE)
    assert rw_listener.messages() == []
