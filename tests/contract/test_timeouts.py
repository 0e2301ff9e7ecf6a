"""`blocking` and `timeout` are threading's, and a wait ends when it should."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from tests.contract.conftest import Stage
from tests.support.waiting import BOUND, Stopwatch, eventually

ACCEPTED = (-1, -1.0, 0, 0.0, 1, 0.5, 1e-9, 3600, threading.TIMEOUT_MAX, None)
REFUSED: tuple[tuple[bool, Any, type[Exception]], ...] = (
    (True, -2, ValueError),
    (True, -0.5, ValueError),
    (True, math.nan, ValueError),
    (True, math.inf, OverflowError),
    (True, threading.TIMEOUT_MAX * 2, OverflowError),
    (True, 1e300, OverflowError),
    (True, "1", TypeError),
    (True, [1], TypeError),
    (False, 0, ValueError),
    (False, 1, ValueError),
    (False, 0.5, ValueError),
)


@pytest.mark.values("timeout", ACCEPTED, ids=str)
def test_timeouts_that_threading_accepts(alice: Any, lock: Any, timeout: float | None) -> None:
    assert alice.do(lock.acquire, timeout=timeout) is True
    assert alice.do(lock.acquire, True, timeout) is True


def test_without_blocking_no_timeout_is_no_timeout(alice: Any, lock: Any) -> None:
    assert alice.do(lock.acquire, False, -1) is True
    assert alice.do(lock.acquire, blocking=False, timeout=-1) is True


@pytest.mark.values(("blocking", "timeout", "error"), REFUSED, ids=str)
def test_what_threading_refuses_is_refused_alike(
    alice: Any, lock: Any, blocking: bool, timeout: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        threading.RLock().acquire(blocking, timeout)
    with pytest.raises(error, match="timeout"):
        alice.do(lock.acquire, blocking, timeout)
    assert not alice.do(lock.locked)


@pytest.mark.values("timeout", [None, -1, threading.TIMEOUT_MAX], ids=str)
def test_a_wait_without_limit_waits(
    alice: Any, bob: Any, lock: Any, stage: Stage, timeout: float | None
) -> None:
    alice.do(lock.acquire)
    waiting = stage.wait(bob, stage.rival(), timeout=timeout)
    assert not waiting.done()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


@pytest.mark.realtime
@pytest.mark.values("timeout", [0.05, 0.4])
def test_a_wait_ends_at_its_timeout(
    alice: Any, bob: Any, lock: Any, stage: Stage, timeout: float
) -> None:
    alice.do(lock.acquire)
    before = stage.holds()
    watch = Stopwatch()
    assert bob.do(stage.rival().acquire, timeout=timeout) is False
    assert watch.seconds >= timeout
    assert stage.holds() == before


@pytest.mark.realtime
def test_a_timeout_counts_from_the_call_not_from_the_last_wake_up(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    watch = Stopwatch()
    waiting = stage.wait(bob, rival, timeout=1)

    def woken_in_vain() -> bool:
        for channel in stage.channels():
            stage.server.inspect.publish(channel, "0")
        return waiting.done()

    eventually(woken_in_vain, what="the wait is over")
    assert waiting.result() is False
    assert watch.seconds >= 1
