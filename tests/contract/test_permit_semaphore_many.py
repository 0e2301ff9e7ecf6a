"""Several permits of a permit semaphore at once, and their number."""

from __future__ import annotations

import math
import re
from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from tests.contract.permits import NAME, TIMEOUTS, UNKNOWN, Permits
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import BOUND, eventually

LONG = 600
LEASES = pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])


def wait_for(permits: Permits, semaphore: Any, n: int, **how: Any) -> Future[Any]:
    """Let a new owner wait for `n` permits; returns once it waits, or has them."""
    before = permits.flavour.actor()
    waiting: Future[Any] = before.begin(semaphore.acquire_many, n, **how)
    eventually(lambda: waiting.done() or permits.subscribers > 0)
    return waiting


# ---- taking


@LEASES
def test_all_are_taken_with_different_ids(permits: Permits, lease: float | None) -> None:
    semaphore = permits.semaphore(5)
    ids = permits.do(semaphore.acquire_many, 3, lease=lease)
    assert len(set(ids)) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", permit) for permit in ids)
    assert set(permits.out) == set(ids)
    assert permits.free == 2


@LEASES
def test_too_few_free_are_left_alone(permits: Permits, lease: float | None) -> None:
    semaphore = permits.semaphore(2)
    assert permits.do(semaphore.acquire_many, 3, blocking=False, lease=lease) is None
    assert permits.do(semaphore.acquire_many, 3, timeout=1, lease=lease) is None
    assert (permits.free, permits.out) == (2, {})
    assert permits.do(semaphore.acquire_many, 2, blocking=False, lease=lease) is not None


@pytest.mark.realtime
def test_each_has_the_lease_that_was_asked_for(permits: Permits) -> None:
    semaphore = permits.semaphore(2, lease=SHORT)
    permits.do(semaphore.acquire_many, 2, lease=LONG)
    assert all(LONG - 10 < left <= LONG for left in permits.out.values())


@pytest.mark.realtime
def test_each_is_renewed(permits: Permits) -> None:
    semaphore = permits.semaphore(3, lease=KEPT)
    ids = permits.do(semaphore.acquire_many, 3)
    eventually(lambda: semaphore._client.stats().renewals >= 4 * len(ids))
    assert set(permits.out) == set(ids)
    assert semaphore.lost is False
    permits.do(semaphore.release_many, ids)
    assert (permits.free, permits.out) == (3, {})


@LEASES
def test_each_can_be_given_back_alone(permits: Permits, lease: float | None) -> None:
    semaphore, other = permits.semaphore(3), permits.semaphore()
    first, second, third = permits.do(semaphore.acquire_many, 3, lease=lease)
    permits.do(semaphore.release, second)
    permits.do(other.release, first)
    assert set(permits.out) == {third}
    assert permits.do(semaphore.extend, third, LONG) is True


@pytest.mark.realtime
def test_the_loss_of_each_is_reported(permits: Permits) -> None:
    lost: list[str] = []
    client = permits.semaphore(3, lease=KEPT)._client
    semaphore = client.permit_semaphore(NAME, on_lost=lost.append)
    first, second, third = permits.do(semaphore.acquire_many, 3)
    permits.take_away(first)
    permits.take_away(third)
    eventually(lambda: sorted(lost) == sorted([first, third]))
    assert semaphore.lost is True
    with pytest.raises(holdfast.LockLostError):
        permits.do(semaphore.release, first)
    permits.do(semaphore.release, second)
    with pytest.raises(holdfast.LockLostError):
        permits.do(semaphore.release, third)
    assert semaphore.lost is False


# ---- waiting


@LEASES
def test_a_waiter_for_many_gets_them_when_there_are_enough(
    permits: Permits, lease: float | None
) -> None:
    semaphore = permits.semaphore(3)
    held = [permits.take(semaphore) for _ in range(3)]
    waiting = wait_for(permits, semaphore, 2, lease=lease)
    permits.do(semaphore.release, held[0])
    permits.do(semaphore.release, held[1])
    assert {held[2], *waiting.result(BOUND)} == set(permits.out)


def test_a_waiter_for_many_holds_up_no_waiter_for_fewer(permits: Permits) -> None:
    semaphore = permits.semaphore(3)
    held = [permits.take(semaphore) for _ in range(2)]
    many = wait_for(permits, semaphore, 3)
    third = permits.wait(semaphore)  # one is free
    assert third.result(BOUND) is not None
    waiting = [wait_for(permits, semaphore, n) for n in (2, 1, 1)]
    permits.do(semaphore.release, held[0])
    eventually(lambda: sum(each.done() for each in waiting) == 1)
    permits.do(semaphore.release, held[1])
    eventually(lambda: sum(each.done() for each in waiting) == 2)
    assert permits.free == 0
    assert not many.done()
    permits.do(semaphore.delete)
    permits.semaphore(5)
    assert len(many.result(BOUND)) == 3
    assert all(each.result(BOUND) for each in waiting)


def test_what_is_added_in_small_numbers_is_enough_in_the_end(permits: Permits) -> None:
    """A message says how many are new, not how many are free."""
    semaphore, other = permits.semaphore(1), permits.semaphore()
    waiting = wait_for(permits, semaphore, 5)
    for _ in range(2):
        permits.do(other.add_permits, 2)
    assert len(waiting.result(BOUND)) == 5


def test_waiters_for_many_of_several_clients_all_get_theirs(permits: Permits) -> None:
    semaphores = [permits.semaphore(2), permits.semaphore(), permits.semaphore()]

    def use(semaphore: Any, n: int) -> Any:
        for _ in range(10):
            ids = yield semaphore.acquire_many(n)
            assert len(ids) == n
            yield semaphore.release_many(ids)

    owners = [(semaphore, n) for semaphore in semaphores for n in (1, 2, 1)]
    running = [permits.flavour.actor().begin(use, *owner) for owner in owners]
    for each in running:
        each.result(BOUND)
    assert (permits.free, permits.out) == (2, {})


@pytest.mark.realtime
def test_permits_that_expire_are_enough_for_a_waiter_for_many(permits: Permits) -> None:
    semaphore = permits.semaphore(3)
    for lease in (0.2, 0.4):
        permits.take(semaphore, lease=lease)
    waiting = wait_for(permits, semaphore, 3, lease=LONG)
    assert set(waiting.result(BOUND)) == set(permits.out)


@LEASES
@pytest.mark.flavours("asyncio", "trio")
def test_a_cancelled_waiter_for_many_leaves_nothing(permits: Permits, lease: float | None) -> None:
    semaphore = permits.semaphore(2)
    permit = permits.take(semaphore)
    actor = permits.flavour.actor()
    waiting = actor.begin(semaphore.acquire_many, 2, lease=lease)
    eventually(lambda: permits.subscribers == 1)
    behind = permits.wait(semaphore)  # one is free
    assert behind.result(BOUND) is not None
    actor.cancel()
    eventually(waiting.done)
    permits.do(semaphore.release, permit)
    permits.do(semaphore.release, behind.result())
    eventually(lambda: permits.subscribers == 0)
    assert (permits.free, permits.out) == (2, {})


# ---- giving back


@LEASES
@pytest.mark.parametrize("mine", [True, False], ids=["own", "of another client"])
def test_all_are_given_back_with_one_message(
    permits: Permits, lease: float | None, mine: bool
) -> None:
    semaphore, other = permits.semaphore(4), permits.semaphore()
    ids = permits.do(semaphore.acquire_many, 3, lease=lease)
    with permits.server.listening("redisson_sc:{mySemaphore}") as messages:
        assert permits.do((semaphore if mine else other).release_many, ids) is None
        assert messages.received() == [b"3"]
    assert (permits.free, permits.out) == (4, {})


def test_any_iterable_of_ids_will_do(permits: Permits) -> None:
    semaphore = permits.semaphore(2)
    ids = permits.do(semaphore.acquire_many, 2)
    permits.do(semaphore.release_many, (permit.upper() for permit in ids))
    assert permits.free == 2


@LEASES
def test_one_that_is_not_in_use_keeps_all(permits: Permits, lease: float | None) -> None:
    semaphore = permits.semaphore(3)
    ids = permits.do(semaphore.acquire_many, 2, lease=lease)
    with pytest.raises(holdfast.NotOwnedError, match=f"{UNKNOWN}.*none was released"):
        permits.do(semaphore.release_many, [ids[0], UNKNOWN, ids[1]])
    assert set(permits.out) == set(ids)
    permits.do(semaphore.release_many, ids)
    assert permits.free == 3


@pytest.mark.realtime
def test_what_was_not_released_is_renewed_as_before(permits: Permits) -> None:
    semaphore = permits.semaphore(2, lease=KEPT)
    ids = permits.do(semaphore.acquire_many, 2)
    with pytest.raises(holdfast.NotOwnedError):
        permits.do(semaphore.release_many, [*ids, UNKNOWN])
    eventually(lambda: semaphore._client.stats().renewals >= 4 * len(ids))
    assert set(permits.out) == set(ids)
    assert semaphore.lost is False


@pytest.mark.realtime
def test_a_lost_one_is_reported_once_and_keeps_the_others(permits: Permits) -> None:
    semaphore = permits.semaphore(2, lease=KEPT)
    first, second = permits.do(semaphore.acquire_many, 2)
    permits.take_away(second)
    eventually(lambda: semaphore.lost)
    with pytest.raises(holdfast.LockLostError, match=f"{second}.*none was released"):
        permits.do(semaphore.release_many, [first, second])
    assert semaphore.lost is False
    with pytest.raises(holdfast.NotOwnedError, match=second):
        permits.do(semaphore.release_many, [first, second])
    assert set(permits.out) == {first}
    permits.do(semaphore.release_many, [first])


def test_no_loss_is_reported_of_what_is_released(
    permits: Permits, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[str] = []
    client = permits.semaphore(9, lease=KEPT)._client
    semaphore = client.permit_semaphore(NAME, on_lost=lost.append)
    for _ in range(30):
        permits.do(semaphore.release_many, permits.do(semaphore.acquire_many, 9))
    kept = permits.take(semaphore)  # its renewal comes with that of a hold that was left behind
    end = permits.end_of(kept)
    eventually(lambda: permits.end_of(kept) > end)
    assert (lost, semaphore.lost) == ([], False)
    logged = [record.getMessage() for record in caplog.records]
    assert [each for each in logged if "lost" in each] == []


# ---- their number


def test_the_number_can_be_set_and_changed(permits: Permits) -> None:
    semaphore = permits.semaphore(3)
    ids = permits.do(semaphore.acquire_many, 2)

    def numbers() -> tuple[int, ...]:
        calls = (semaphore.permits, semaphore.acquired_permits, semaphore.available_permits)
        return tuple(permits.do(call) for call in calls)

    assert numbers() == (3, 2, 1)
    assert permits.do(semaphore.set_permits, 5) is None
    assert numbers() == (5, 2, 3)
    assert permits.do(semaphore.add_permits, -4) is None
    assert numbers() == (1, 2, -1)
    permits.do(semaphore.release_many, ids)
    assert numbers() == (1, 0, 1)
    permits.do(semaphore.set_permits, 0)
    assert numbers() == (0, 0, 0)
    permits.do(semaphore.delete)
    assert numbers() == (0, 0, 0)


@pytest.mark.parametrize("step", ["set_permits", "add_permits"])
def test_a_new_number_wakes_waiters(permits: Permits, step: str) -> None:
    waiting = permits.wait(permits.semaphore())
    permits.do(getattr(permits.semaphore(), step), 1)
    assert waiting.result(BOUND) is not None


def test_the_answer_is_the_lease_that_is_left(permits: Permits) -> None:
    semaphore, other = permits.semaphore(3), permits.semaphore()
    renewed, leased = permits.take(semaphore), permits.take(semaphore, lease=LONG)
    assert 0 < permits.do(other.lease_left, renewed) <= 30
    assert LONG - 10 < permits.do(other.lease_left, leased) <= LONG
    assert permits.do(semaphore.lease_left, UNKNOWN) is None
    permits.server.inspect.zadd(TIMEOUTS, {bytes.fromhex(UNKNOWN): 922337203685477})
    assert permits.do(semaphore.lease_left, UNKNOWN) == math.inf


# ---- bad input


@pytest.mark.parametrize("n", [0, -1, 10_001, 2**31, True, 1.0, None, "2"])
def test_a_number_that_cannot_be_taken_is_refused(permits: Permits, deaf: Any, n: Any) -> None:
    error = ValueError if type(n) is int else TypeError
    with pytest.raises(error, match="n must be"):
        permits.do(deaf.permit_semaphore(NAME).acquire_many, n)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], ValueError),
        ([UNKNOWN, UNKNOWN.upper()], ValueError),
        (["x"], ValueError),
        ([UNKNOWN, 1], TypeError),
        (UNKNOWN, TypeError),
        (None, TypeError),
    ],
)
def test_ids_that_cannot_be_released_are_refused(
    permits: Permits, deaf: Any, given: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        permits.do(deaf.permit_semaphore(NAME).release_many, given)


@pytest.mark.parametrize("n", [-(2**31), 2**31, True, 1.0, None])
def test_a_number_that_cannot_be_set_is_refused(permits: Permits, deaf: Any, n: Any) -> None:
    semaphore = deaf.permit_semaphore(NAME)
    for step in (semaphore.set_permits, semaphore.add_permits):
        with pytest.raises((ValueError, TypeError), match="n must be"):
            permits.do(step, n)
    with pytest.raises(ValueError, match="n must be"):
        permits.do(semaphore.set_permits, -1)
