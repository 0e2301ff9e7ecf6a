"""A lock with a minimum hold time stays closed for it after an early release."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.contract.kinds import KINDS, Kind
from tests.support.renewals import SHORT
from tests.support.waiting import BOUND, let_pass

pytestmark = pytest.mark.awaited

WITH_MINIMUM = {"lock", "fenced_lock", "spin_lock"}


@pytest.fixture(params=[kind for kind in KINDS if kind.name in WITH_MINIMUM], ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Of the kinds those that know a minimum hold time."""
    kind: Kind = request.param
    return kind


def test_no_owner_enters_before_the_minimum_is_over(alice: Any, bob: Any, stage: Stage) -> None:
    """minimum-hold-time."""
    client = stage.default_client
    lock = stage.lock(at_least=20)
    alice.do(lock.acquire)
    waiting = stage.wait(bob, stage.lock(stage.client()), timeout=1)
    with stage.messages() as messages:
        alice.do(lock.release)
        assert messages.received() == [stage.kind.payload]
    assert list(stage.holds()) == [f"{client.id}:0".encode()]
    assert 10 < stage.left() <= 20
    assert not waiting.result()
    for again in (lock, stage.lock()):
        assert not alice.do(again.acquire, blocking=False)
    with pytest.raises(holdfast.LockTimeout):
        alice.do(lock.hold, wait=0)
    assert not alice.do(lock.owned)
    assert alice.do(lock.locked)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)
    assert alice.do(lock.force_release)
    assert stage.all_keys() == set()


def test_a_waiter_of_the_same_client_waits_too(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(at_least=20)
    alice.do(lock.acquire)
    waiting = stage.wait(bob, lock, timeout=1)
    alice.do(lock.release)
    assert not waiting.result()
    assert list(stage.holds()) == [f"{stage.default_client.id}:0".encode()]


@pytest.mark.costly
@pytest.mark.realtime
def test_it_is_free_when_the_minimum_is_over(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(at_least=SHORT)
    alice.do(lock.acquire)
    alice.do(lock.release)
    assert bob.do(lock.acquire, timeout=BOUND)
    # Released later than that, it is free at once.
    let_pass(SHORT)
    bob.do(lock.release)
    assert stage.all_keys() == set()


def test_of_nested_grants_the_longest_minimum_counts(alice: Any, stage: Stage) -> None:
    longest, shorter, none = stage.lock(at_least=25), stage.lock(at_least=5), stage.lock()
    for lock in (shorter, longest, none):
        alice.do(lock.acquire)
    for lock in (longest, shorter, none):
        assert alice.do(lock.owned)
        alice.do(lock.release)
    assert 15 < stage.left() <= 25
    assert list(stage.holds()) == [f"{stage.default_client.id}:0".encode()]


def test_a_hold_and_its_ticket_keep_the_minimum(alice: Any, stage: Stage) -> None:
    lock, other = stage.lock(at_least=25), stage.client()
    hold = alice.do(lock.hold)
    if stage.kind.name != "spin_lock":
        hold = alice.do(other.attach, alice.do(hold.detach, 100))
    alice.do(hold.release)
    assert 15 < stage.left() <= 25
    [keeper] = stage.holds()
    assert keeper.endswith(b":0")


def test_bad_minimums_are_refused(alice: Any, stage: Stage, deaf: Any) -> None:
    def make(**options: Any) -> Any:
        return stage.kind.make(deaf, NAME, **options)

    for value, error in (
        (0, ValueError),
        (-1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (31, ValueError),  # longer than the client's lease
        ("1", TypeError),
        (True, TypeError),
    ):
        with pytest.raises(error, match="at_least"):
            make(at_least=value)
    with pytest.raises(ValueError, match="at_least"):
        make(at_least=6, lease=5)
    lock = make(at_least=5, lease=5)
    for take in (lock.acquire, lock.hold):
        with pytest.raises(ValueError, match="at_least"):
            alice.do(take, lease=4)
    with pytest.raises(TypeError, match="at_least"):
        deaf.fair_lock(NAME, at_least=5)
