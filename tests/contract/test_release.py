"""Only the owner releases, and learns once that its hold was gone."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage


def test_the_error_of_a_release_is_what_threading_users_expect() -> None:
    assert issubclass(holdfast.NotOwnedError, RuntimeError)
    assert issubclass(holdfast.LockLostError, holdfast.NotOwnedError)


def test_release_of_a_free_lock(alice: Any, lock: Any, stage: Stage) -> None:
    with pytest.raises(holdfast.NotOwnedError) as refused:
        alice.do(lock.release)
    assert not isinstance(refused.value, holdfast.LockLostError)
    assert NAME in str(refused.value)
    assert stage.all_keys() == set()


def test_release_by_another_owner_changes_nothing(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire, lease=100)
    alice.do(lock.acquire, lease=100)
    before = stage.holds()
    with pytest.raises(holdfast.NotOwnedError) as refused:
        bob.do(lock.release)
    assert not isinstance(refused.value, holdfast.LockLostError)
    assert stage.holds() == before
    assert 95_000 < stage.server.inspect.pttl(NAME) <= 100_000
    alice.do(lock.release)
    alice.do(lock.release)


def test_release_by_another_client_changes_nothing(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    before = stage.holds()
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(stage.lock(stage.client()).release)
    assert stage.holds() == before


def test_one_release_too_many(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    alice.do(lock.release)
    with pytest.raises(holdfast.NotOwnedError) as refused:
        alice.do(lock.release)
    assert not isinstance(refused.value, holdfast.LockLostError)
    assert stage.all_keys() == set()


def test_a_hold_that_is_gone_is_reported_once(alice: Any, lock: Any, stage: Stage) -> None:
    for _ in range(3):
        alice.do(lock.acquire)
    stage.take_away()
    with pytest.raises(holdfast.LockLostError, match=NAME):
        alice.do(lock.release)
    assert alice.do(lambda: lock.lost) is True
    with pytest.raises(holdfast.NotOwnedError) as refused:
        alice.do(lock.release)
    assert not isinstance(refused.value, holdfast.LockLostError)
    assert stage.all_keys() == set()


@pytest.mark.awaited
def test_a_late_release_leaves_the_new_owner_alone(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    stage.take_away()
    assert bob.do(lock.acquire, blocking=False, lease=100)
    before = stage.holds()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert stage.holds() == before
    assert stage.server.inspect.pttl(NAME) > 99_000
    bob.do(lock.release)


@pytest.mark.awaited
def test_a_lost_lock_can_be_acquired_again(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    stage.take_away()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert alice.do(lock.acquire)
    assert not alice.do(lambda: lock.lost)
    assert alice.do(lock.hold_count) == 1
    alice.do(lock.release)


def test_forced_release_by_another_client(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    theirs = stage.lock(stage.client())
    assert bob.do(theirs.force_release) is False
    assert stage.forced() == []
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    owners = sorted(owner.decode().removesuffix(":write") for owner in stage.holds())
    assert bob.do(theirs.force_release) is True
    assert stage.all_keys() == set()
    assert stage.forced() == [owners]
    assert bob.do(theirs.force_release) is False
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)


def test_forced_release_of_the_callers_own_hold(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    assert alice.do(lock.force_release) is True
    assert stage.all_keys() == set()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)


def test_forced_release_wakes_waiters(
    alice: Any, bob: Any, carol: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire, lease=3600)
    waiting = stage.wait(bob, stage.rival())
    assert carol.do(lock.force_release) is True
    assert waiting.result(5) is True
