"""Waiting for a permit: who is woken, by what, and what a wait leaves behind."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tests.contract.permits import NAME, TIMEOUTS, Permits
from tests.support.waiting import BOUND, eventually

LONG = 600
"""A lease that no test waits for: a waiter that gets in was woken by a message."""


def ids(waiting: list[Future[Any]]) -> set[Any]:
    """The permits of waiters that must all get one."""
    return {each.result(BOUND) for each in waiting}


def done(waiting: list[Future[Any]]) -> int:
    return sum(each.done() for each in waiting)


def test_a_release_wakes_a_waiter(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    first = permits.take(semaphore, lease=LONG)
    waiting = permits.wait(semaphore, lease=LONG)
    permits.do(semaphore.release, first)
    assert [waiting.result(BOUND)] == list(permits.out)


def test_a_release_wakes_a_waiter_of_another_client(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    first = permits.take(semaphore)
    waiting = permits.wait(permits.semaphore())
    permits.do(semaphore.release, first)
    assert [waiting.result(BOUND)] == list(permits.out)


def test_a_waiter_waits_for_permits_to_be_set(permits: Permits) -> None:
    waiting = permits.wait(permits.semaphore())
    permits.semaphore(1)
    assert waiting.result(BOUND) is not None


@pytest.mark.parametrize("renewed", [True, False], ids=["renewed", "leased"])
@pytest.mark.parametrize("clients", [1, 3])
def test_one_message_of_n_permits_lets_n_waiters_in(
    permits: Permits, clients: int, renewed: bool
) -> None:
    lease = None if renewed else LONG
    semaphores = [permits.semaphore() for _ in range(clients)]
    waiting = [permits.wait(semaphores[n % clients], lease=lease) for n in range(7)]
    eventually(lambda: permits.subscribers == clients)
    permits.semaphore(5)
    eventually(lambda: done(waiting) == 5)
    assert permits.free == 0
    assert set(permits.out) == {each.result() for each in waiting if each.done()}
    permits.do(semaphores[0].delete)
    permits.semaphore(2)
    assert None not in ids(waiting)


@pytest.mark.parametrize("clients", [1, 3])
def test_n_releases_let_n_waiters_in(permits: Permits, clients: int) -> None:
    holder = permits.semaphore(5)
    held = [permits.take(holder, lease=LONG) for _ in range(5)]
    semaphores = [permits.semaphore() for _ in range(clients)]
    waiting = [permits.wait(semaphores[n % clients], lease=LONG) for n in range(5)]
    eventually(lambda: permits.subscribers == clients)
    for permit in held:
        permits.do(holder.release, permit)
    assert ids(waiting) == set(permits.out)


def test_n_permits_that_expire_let_n_waiters_in(permits: Permits) -> None:
    semaphore = permits.semaphore(3)
    for _ in range(3):
        permits.take(semaphore, lease=0.3)
    waiting = [permits.wait(semaphore, lease=LONG) for _ in range(3)]
    assert ids(waiting) == set(permits.out)


@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
def test_the_next_in_line_knows_when_the_next_permit_expires(
    permits: Permits, lease: float | None
) -> None:
    semaphore = permits.semaphore(2)
    first = permits.take(semaphore, lease=LONG)
    permits.take(semaphore, lease=0.5)
    waiting = [permits.wait(semaphore, lease=lease) for _ in range(2)]
    permits.do(semaphore.release, first)
    assert len(ids(waiting)) == 2  # the second by the end of the half second


def test_a_permit_whose_lease_is_cut_is_waited_for_no_longer(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore, lease=LONG)
    waiting = permits.wait(semaphore)
    assert permits.do(semaphore.extend, permit, 0.1) is True
    assert waiting.result(BOUND) is not None


def test_a_permit_that_never_expires_is_waited_for(permits: Permits) -> None:
    semaphore = permits.semaphore(0)
    permits.server.inspect.zadd(TIMEOUTS, {b"a Java permit 16": 922337203685477})
    waiting = permits.wait(semaphore)
    permits.do(semaphore.release, b"a Java permit 16".hex())
    assert waiting.result(BOUND) is not None


def test_a_release_elsewhere_wakes_a_waiter(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore)
    waiting = permits.wait(semaphore)
    permits.take_away(permit)
    permits.server.inspect.incr(NAME)
    permits.server.inspect.publish("redisson_sc:{mySemaphore}", "1")
    assert waiting.result(BOUND) is not None


@pytest.mark.servers("real")
def test_one_waiter_of_a_client_tries_at_a_time(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore, lease=LONG)
    waiting = [permits.wait(semaphore, lease=LONG) for _ in range(20)]
    with permits.server.recording() as recording:
        permits.do(semaphore.release, permit)
        eventually(lambda: done(waiting) == 1)
        assert recording.count()["EVALSHA"] <= 3
    permits.do(semaphore.delete)
    permits.semaphore(19)
    ids(waiting)


def test_who_gives_up_leaves_nothing(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore)
    assert permits.wait(semaphore, timeout=1).result(BOUND) is None
    eventually(lambda: permits.subscribers == 0)
    assert (permits.free, list(permits.out)) == (0, [permit])
    permits.do(semaphore.release, permit)
    assert (permits.free, permits.out) == (1, {})


@pytest.mark.flavours("asyncio", "trio")
@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
def test_who_is_cancelled_leaves_nothing(permits: Permits, lease: float | None) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore)
    actor, behind = permits.flavour.actor(), permits.flavour.actor()
    waiting = actor.begin(semaphore.acquire, lease=lease)
    eventually(lambda: permits.subscribers == 1)
    second = behind.begin(semaphore.acquire, lease=lease)
    actor.cancel()
    eventually(waiting.done)
    permits.do(semaphore.release, permit)
    assert [second.result(BOUND)] == list(permits.out)
    permits.do(semaphore.release, second.result())
    eventually(lambda: permits.subscribers == 0)
    assert (permits.free, permits.out) == (1, {})
