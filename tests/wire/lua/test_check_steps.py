"""The steps that say how long a hold still lasts: of locks, readers and permits."""

from __future__ import annotations

from tests.support.servers import Server
from tests.wire.lua.permit_steps import NAME as PERMITS
from tests.wire.lua.permit_steps import ONE, TIMEOUTS, PermitSemaphore
from tests.wire.lua.read_write_lock import ReadWriteLock
from tests.wire.lua.steps import ALICE, BOB, MINUTE, NAME, Lock, about


def test_a_check_says_how_long_the_owner_holds(lock: Lock, server: Server) -> None:
    assert lock.check(ALICE) == 0
    lock.acquire(ALICE, MINUTE)
    assert lock.check(ALICE) == about(MINUTE)
    assert lock.check(BOB) == 0
    server.inspect.persist(NAME)
    assert lock.check(ALICE) == -1


def test_a_check_says_how_long_the_owner_reads(rw: ReadWriteLock, server: Server) -> None:
    assert rw.read_check(ALICE) == 0
    rw.read_acquire(ALICE, MINUTE)
    rw.read_acquire(BOB, 2 * MINUTE)
    assert rw.read_check(ALICE) == about(MINUTE)
    assert rw.read_check(BOB) == about(2 * MINUTE)
    server.inspect.pexpire(rw.name, MINUTE // 2)
    assert rw.read_check(BOB) == about(MINUTE // 2)
    server.inspect.persist(rw.name)
    assert rw.read_check(BOB) == about(2 * MINUTE)
    server.inspect.persist(rw.timeout(BOB))
    assert rw.read_check(BOB) == -1
    server.inspect.pexpire(rw.name, MINUTE)
    assert rw.read_check(BOB) == about(MINUTE)
    server.inspect.delete(rw.timeout(BOB))
    assert rw.read_check(BOB) == 0
    server.inspect.hdel(rw.name, ALICE)
    assert rw.read_check(ALICE) == 0


def test_a_check_says_how_long_a_permit_lives(server: Server) -> None:
    semaphore = PermitSemaphore(server.inspect)
    assert semaphore.check(ONE) == 0
    server.inspect.set(PERMITS, 1)
    semaphore.acquire(ONE, MINUTE)
    assert semaphore.check(ONE) == about(MINUTE)
    server.inspect.zadd(TIMEOUTS, {ONE: 1})
    assert semaphore.check(ONE) == 0
