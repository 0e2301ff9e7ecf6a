"""`threading.Condition` works over a lock, as over a `threading.RLock`."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import pytest

from tests.contract.conftest import Stage
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.flavours("sync")


@pytest.fixture
def condition(stage: Stage) -> threading.Condition:
    return threading.Condition(stage.lock())


def test_a_notified_waiter_goes_on(
    alice: Any, bob: Any, condition: threading.Condition, stage: Stage
) -> None:
    items: deque[str] = deque()

    def take() -> str:
        with condition:
            assert condition.wait_for(lambda: items, BOUND)
            return items.popleft()

    def put() -> None:
        with condition:
            items.append("item")
            condition.notify()

    taking = alice.begin(take)
    bob.do(put)
    assert taking.result(BOUND) == "item"
    eventually(lambda: stage.all_keys() == set())


def test_waiting_gives_all_nested_holds_up_and_takes_them_again(
    alice: Any, bob: Any, condition: threading.Condition, stage: Stage
) -> None:
    lock = stage.lock()
    notified: list[bool] = []

    def wait_nested() -> int:
        with condition, condition, condition:
            condition.wait_for(lambda: notified, BOUND)
            return int(lock.hold_count())

    def notify() -> None:
        with condition:
            notified.append(True)
            condition.notify_all()

    waiting = alice.begin(wait_nested)
    eventually(lambda: len(condition._waiters) == 1)  # type: ignore[attr-defined]
    bob.do(notify)
    assert waiting.result(BOUND) == 3
    eventually(lambda: stage.all_keys() == set())


def test_a_wait_that_times_out_holds_the_lock_again(
    alice: Any, condition: threading.Condition, stage: Stage
) -> None:
    def wait_briefly() -> tuple[bool, int]:
        with condition:
            return condition.wait(0.01), stage.lock().hold_count()

    assert alice.do(wait_briefly) == (False, 1)
    eventually(lambda: stage.all_keys() == set())


def test_without_the_lock_nothing_can_be_waited_for(
    alice: Any, condition: threading.Condition
) -> None:
    with pytest.raises(RuntimeError, match="un-acquired"):
        alice.do(condition.wait, 0.01)
    with pytest.raises(RuntimeError, match="un-acquired"):
        alice.do(condition.notify)


def test_waiting_keeps_a_fixed_lease(alice: Any, bob: Any, stage: Stage) -> None:
    """What was acquired with a lease is not renewed after the wait; the holds around it are."""
    lock = stage.lock()
    condition = threading.Condition(lock)
    notified: list[bool] = []

    def wait_leased() -> list[int]:
        lock.acquire(lease=None)
        lock.acquire(lease=7)
        try:
            condition.wait_for(lambda: notified, BOUND)
            return list(lock._core.known_levels(0))
        finally:
            lock.release()
            lock.release()

    def notify() -> None:
        with condition:
            notified.append(True)
            condition.notify_all()

    waiting = alice.begin(wait_leased)
    eventually(lambda: len(condition._waiters) == 1)  # type: ignore[attr-defined]
    bob.do(notify)
    assert waiting.result(BOUND) == [0, 7000]
