"""The holder may acquire again; the lock is free after as many releases."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.support.waiting import BOUND


def test_hold_counts_go_up_and_down(alice: Any, lock: Any, stage: Stage) -> None:
    assert alice.do(lock.hold_count) == 0
    for expected in (1, 2, 3):
        assert alice.do(lock.acquire)
        assert alice.do(lock.hold_count) == expected
        assert list(stage.holds().values()) == [expected]
    for expected in (2, 1, 0):
        alice.do(lock.release)
        assert alice.do(lock.hold_count) == expected
    assert stage.all_keys() == set()


def test_hold_counts_are_the_callers_own(alice: Any, bob: Any, lock: Any) -> None:
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    assert bob.do(lock.hold_count) == 0


def test_a_partial_release_keeps_others_out(alice: Any, bob: Any, lock: Any, rival: Any) -> None:
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    alice.do(lock.release)
    assert not bob.do(rival.acquire, blocking=False)
    alice.do(lock.release)
    assert bob.do(rival.acquire, blocking=False)


def test_only_the_last_release_is_announced(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire, lease=3600)
    alice.do(lock.acquire, lease=3600)
    waiting = stage.wait(bob, stage.rival(stage.client()))
    with stage.messages() as messages:
        alice.do(lock.release)
        assert messages.received() == []
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        assert messages.received() == [stage.kind.payload]


def test_the_holder_never_waits_behind_others(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    waiting = stage.wait(bob, rival)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)
    assert not waiting.done()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


def test_an_acquire_that_finds_the_earlier_hold_gone_says_why(
    alice: Any, quiet_lock: Any, stage: Stage
) -> None:
    alice.do(quiet_lock.acquire)
    stage.take_away()
    with pytest.raises(holdfast.LockLostError, match=r"was lost: .*did not find it on the server"):
        alice.do(quiet_lock.acquire)
