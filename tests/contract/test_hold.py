"""A hold as an object: it belongs to no thread and no task, and ends once."""

from __future__ import annotations

import copy
import gc
import pickle
from functools import partial
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import eventually, timed_out


def test_any_owner_may_use_and_release_it(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock()
    hold = alice.do(lock.hold)
    assert (hold.lock, hold.name, hold.lost, hold.loss) == (lock, lock.name, False, None)
    assert 0 < bob.do(lambda: hold.left) <= 30
    assert len(stage.holds()) == 1
    assert not alice.do(lock.owned)
    bob.do(hold.release)
    assert (hold.left, hold.lost, hold.loss, hold.token) == (None, False, None, None)
    assert stage.all_keys() == set()


def test_another_hold_waits_for_it(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    rival = stage.rival(wait=0.05)
    for wait in ({}, {"wait": 0}, {"wait": 0.05}):
        timed_out(partial(alice.do, rival.hold, **wait), NAME)
    assert not alice.do(rival.acquire, blocking=False)
    waiting = alice.begin(rival.hold, wait=None)
    stage.actor().do(hold.release)
    alice.do(waiting.result().release)
    assert stage.all_keys() == set()


def test_with_releases_it(alice: Any, bob: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    assert bob.inside(hold, lambda held: held) is hold
    assert stage.all_keys() == set()

    def fails(_: Any) -> None:
        raise KeyError(NAME)

    hold = alice.do(stage.lock().hold)
    with pytest.raises(KeyError):
        bob.inside(hold, fails)
    assert stage.all_keys() == set()


def test_it_is_released_once(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock()
    hold = alice.do(lock.hold)
    alice.do(hold.release)
    alice.do(lock.acquire)
    for actor in (alice, bob):
        with pytest.raises(holdfast.NotOwnedError, match="released already"):
            actor.do(hold.release)
    assert not alice.do(hold.extend, 5)
    assert alice.do(lock.owned)
    alice.do(lock.release)


@pytest.mark.costly
@pytest.mark.realtime
def test_it_is_renewed_or_has_its_lease(alice: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(lease=KEPT))
    hold = alice.do(lock.hold)
    stage.see_renewals(2)
    assert not hold.lost
    assert alice.do(hold.extend, 5)
    assert KEPT < hold.left <= 5
    alice.do(hold.release)
    hold = alice.do(lock.hold, lease=7)
    assert KEPT < hold.left <= 7
    alice.do(hold.release)


@pytest.mark.realtime
def test_its_loss_is_reported_once(alice: Any, stage: Stage) -> None:
    told: list[Any] = []
    lock = stage.lock(stage.client(lease=KEPT), on_lost=told.append)
    hold = alice.do(lock.hold)
    stage.take_away()
    eventually(lambda: hold.lost and told)
    assert told == [hold]
    assert "no longer has it" in hold.loss
    assert hold.left is None
    with pytest.raises(holdfast.LockLostError, match="no longer has it"):
        alice.do(hold.release)
    with pytest.raises(holdfast.NotOwnedError) as info:
        alice.do(hold.release)
    assert info.type is holdfast.NotOwnedError
    assert hold.lost
    assert told == [hold]


@pytest.mark.realtime
def test_a_collected_hold_expires_with_its_lease(alice: Any, stage: Stage) -> None:
    """forgotten-hold."""
    lock = stage.lock(stage.client(lease=SHORT), on_lost=lambda _: None)
    with pytest.warns(ResourceWarning, match=NAME):
        alice.do(_acquires_and_forgets, lock)
    eventually(lambda: stage.all_keys() == set())


def _acquires_and_forgets(lock: Any) -> Any:
    hold = yield lock.hold()
    del hold
    gc.collect()


def test_it_is_not_copied(alice: Any, stage: Stage) -> None:
    hold = alice.do(stage.lock().hold)
    for how in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Hold"):
            how(hold)
    assert repr(hold).startswith("<Hold on ")
    alice.do(hold.release)
    assert repr(hold).endswith("not held>")


def test_bad_arguments_are_refused(alice: Any, deaf: Any, kind: Any) -> None:
    lock = kind.make(deaf, NAME)
    nan, inf = float("nan"), float("inf")
    for option, value, error in (
        ("wait", "1", TypeError),
        ("wait", -1, ValueError),
        ("wait", nan, ValueError),
        ("lease", "1", TypeError),
        ("lease", 0, ValueError),
        ("lease", inf, ValueError),
    ):
        with pytest.raises(error, match=option):
            alice.do(lock.hold, **{option: value})


def test_one_that_does_not_wait_is_not_reported_as_waiting(
    alice: Any, bob: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the lock is held for so long that a waiter would be reported."""
    held = alice.do(stage.rival(stage.client()).hold, lease=3600)
    with pytest.raises(holdfast.LockTimeout):
        bob.do(stage.lock().hold, wait=0)
    # Reports come in their order: after a later one there is none to come.
    later = stage.default_client.lock("later")
    bob.do(later.acquire)
    bob.do(later.force_release)
    eventually(lambda: "'later'" in caplog.text)
    assert "waits for" not in caplog.text
    alice.do(held.release)
