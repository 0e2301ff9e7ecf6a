"""Batches of renewals: each hold has its own answer, whatever is beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.permit_steps import ONE, TIMEOUTS, TWO, PermitSemaphore
from tests.wire.lua.read_write_lock import ReadWriteLock
from tests.wire.lua.steps import ALICE, BOB, CAROL, MINUTE, Lock, about, embedded

MANY = 50
"""The most keys of a batch that the engine makes."""


def locks(server: Server, count: int) -> list[Lock]:
    return [Lock(server.inspect, b"lock:%d" % number) for number in range(count)]


def run(server: Server, step: str, keys: Sequence[object], lease: int, *owners: bytes) -> Any:
    return server.inspect.eval(embedded()[step], len(keys), *keys, lease, *owners)


def renew(server: Server, batch: Sequence[Lock], lease: int, *owners: bytes) -> Any:
    return run(server, "lock/renew", [lock.name for lock in batch], lease, *owners)


def test_all_locks_of_a_batch_are_renewed(server: Server) -> None:
    batch = locks(server, MANY)
    owners = [(ALICE, BOB)[number % 2] for number in range(MANY)]
    for lock, owner in zip(batch, owners, strict=True):
        lock.acquire(owner, MINUTE)
    assert renew(server, batch, 5 * MINUTE, *owners) == []
    assert [lock.left for lock in batch] == [about(5 * MINUTE)] * MANY
    assert [lock.holds for lock in batch] == [{owner: b"1"} for owner in owners]


def test_the_numbers_of_locks_that_are_not_held_are_the_answer(server: Server) -> None:
    free, theirs, ours, cut, other = batch = locks(server, 5)
    theirs.acquire(BOB, MINUTE)
    ours.acquire(ALICE, MINUTE)
    other.acquire(CAROL, MINUTE)
    assert renew(server, batch, 5 * MINUTE, *[ALICE] * 4, CAROL) == [1, 2, 4]
    assert [lock.left for lock in batch] == [
        -2,
        about(MINUTE),
        about(5 * MINUTE),
        -2,
        about(5 * MINUTE),
    ]
    assert theirs.holds == {BOB: b"1"}
    assert server.keys() == {theirs.name, ours.name, other.name}
    assert free.holds == cut.holds == {}


def test_a_longer_lease_in_a_batch_is_kept(server: Server) -> None:
    long, short = batch = locks(server, 2)
    long.acquire(ALICE, 10 * MINUTE)
    short.acquire(ALICE, MINUTE)
    assert renew(server, batch, 5 * MINUTE, ALICE, ALICE) == []
    assert [long.left, short.left] == [about(10 * MINUTE), about(5 * MINUTE)]


def test_a_batch_without_holds_does_nothing(server: Server) -> None:
    for step in ("lock/renew", "read_write_lock/read_renew", "permit_semaphore/renew"):
        assert run(server, step, [], MINUTE) == []
    assert server.keys() == set()


def test_a_key_of_another_type_is_an_error_of_the_batch(server: Server) -> None:
    first, wrong, last = batch = locks(server, 3)
    first.acquire(ALICE, MINUTE)
    last.acquire(ALICE, MINUTE)
    server.inspect.set(wrong.name, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        renew(server, batch, 5 * MINUTE, ALICE, ALICE, ALICE)
    server.inspect.connection_pool.disconnect()  # fakeredis has closed the connection
    assert server.inspect.get(wrong.name) == b"text"
    assert [first.left, last.left] == [about(5 * MINUTE), about(MINUTE)]


def test_each_reader_of_a_batch_learns_what_it_had_left(server: Server) -> None:
    batch = [ReadWriteLock(server.inspect, name) for name in (b"one", b"two")]
    one, two = batch
    one.read_acquire(ALICE, 2 * MINUTE)
    one.read_acquire(ALICE, 2 * MINUTE, 2)
    one.read_acquire(BOB, 3 * MINUTE)
    two.write_acquire(CAROL, MINUTE)
    readers = [(one, ALICE), (two, ALICE), (one, BOB)]
    keys = [key for lock, owner in readers for key in (lock.name, lock.prefix, lock.timeout(owner))]
    found = run(server, "read_write_lock/read_renew", keys, 5 * MINUTE, ALICE, ALICE, BOB)
    assert found == [about(2 * MINUTE), 0, about(3 * MINUTE)]
    assert [one.read_left(ALICE, n) for n in (1, 2)] == [about(5 * MINUTE)] * 2
    assert [one.read_left(BOB), one.left] == [about(5 * MINUTE)] * 2
    assert two.left == about(MINUTE)


def test_each_permit_of_a_batch_is_renewed_or_gone(server: Server) -> None:
    semaphore = PermitSemaphore(server.inspect)
    semaphore.try_set_permits(3)
    semaphore.acquire(ONE)
    semaphore.acquire(TWO)
    keys = [TIMEOUTS, TIMEOUTS, b"{others}:timeout"]
    found = run(server, "permit_semaphore/renew", keys, 5 * MINUTE, ONE, TWO, ONE)
    assert found == [3]
    assert [semaphore.lease_left(permit) for permit in (ONE, TWO)] == [about(5 * MINUTE)] * 2
    semaphore.let_expire(TWO)
    assert run(server, "permit_semaphore/renew", keys[:2], 9 * MINUTE, TWO, ONE) == [1]
    assert semaphore.lease_left(ONE) == about(9 * MINUTE)
