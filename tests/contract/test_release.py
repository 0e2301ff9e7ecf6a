"""Only the owner releases, and learns once that its hold was gone."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.support.waiting import BOUND

OWNER = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"


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
    """wrong-release."""
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
    """wrong-release."""
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
    """wrong-release."""
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
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    assert bob.do(theirs.force_release) is True
    assert stage.all_keys() == set()
    assert bob.do(theirs.force_release) is False
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "Ada", "age": "36"},
        {"mode": "read"},
        {"page:1": "5"},
        {OWNER: "x"},
        {f"x{OWNER}": "1"},
        {OWNER: "1", "name": "Ada"},
    ],
    ids=["record", "mode", "counter", "text", "longer", "both"],
)
def test_a_hash_that_is_no_lock_is_not_released_by_force(
    alice: Any, stage: Stage, fields: dict[str, str]
) -> None:
    """lasting-refusal."""
    for key in stage.keys_of("user:42"):
        stage.server.inspect.hset(key, mapping=fields)
    with pytest.raises(holdfast.ServerError, match=r"user:42.*WRONGTYPE.*use another name"):
        alice.do(stage.lock(name="user:42").force_release)
    for key in stage.keys_of("user:42"):
        there = stage.server.inspect.hgetall(key)
        assert there == {name.encode(): value.encode() for name, value in fields.items()}


@pytest.mark.servers("real")
def test_a_forced_release_is_one_command(
    alice: Any, bob: Any, quiet_lock: Any, stage: Stage
) -> None:
    """The owner that lost it asks who did it: `quiet_lock` does so at its next renewal only."""
    theirs = stage.lock(stage.client())
    alice.do(quiet_lock.acquire, lease=3600)
    bob.do(theirs.locked)
    with stage.server.recording() as recording:
        assert bob.do(theirs.force_release) is True
        assert sum(recording.count().values()) == len(stage.keys_of())


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
    assert waiting.result(BOUND) is True
