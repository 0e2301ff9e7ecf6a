"""The loss of a nested hold is reported to every lock object with a hold, and to no other."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.support.renewals import KEPT
from tests.support.waiting import eventually, stays

ROUNDS = 30


@pytest.fixture
def told() -> list[Any]:
    """The lock objects that received a loss."""
    return []


def _pair(stage: Stage, told: list[Any], client: Any = None) -> tuple[Any, Any]:
    """Two lock objects of one client and name with `on_lost`."""
    client = client or stage.client(lease=KEPT)
    return stage.lock(client, on_lost=told.append), stage.lock(client, on_lost=told.append)


def _lose(stage: Stage, owner: Any, lock: Any) -> None:
    """Return when the owner can know that its hold is gone."""
    stage.take_away()
    eventually(lambda: owner.do(lambda: lock.lost))


@pytest.mark.realtime
def test_a_loss_is_reported_to_all_objects_with_a_hold(
    alice: Any, stage: Stage, told: list[Any]
) -> None:
    outer, inner = _pair(stage, told)
    for lock in (outer, inner, inner):
        alice.do(lock.acquire)
    _lose(stage, alice, outer)
    eventually(lambda: set(told) == {outer, inner})
    with pytest.raises(holdfast.LockLostError):
        alice.do(inner.release)
    stays(lambda: len(told) == 2, during=0.1)
    assert outer._client._listeners == {}


@pytest.mark.realtime
def test_a_loss_is_not_reported_to_an_object_that_has_released(
    alice: Any, stage: Stage, told: list[Any]
) -> None:
    outer, inner = _pair(stage, told)
    for lock in (outer, inner, inner):
        alice.do(lock.acquire)
    for _ in range(2):
        alice.do(inner.release)
    _lose(stage, alice, outer)
    eventually(lambda: told == [outer])
    with pytest.raises(holdfast.LockLostError):
        alice.do(outer.release)
    stays(lambda: told == [outer], during=0.1)


@pytest.mark.realtime
def test_a_loss_is_reported_to_the_inner_object_after_the_outer_has_released(
    alice: Any, stage: Stage, told: list[Any]
) -> None:
    outer, inner = _pair(stage, told)
    alice.do(outer.acquire)
    alice.do(inner.acquire)
    alice.do(outer.release)
    _lose(stage, alice, inner)
    eventually(lambda: told == [inner])
    with pytest.raises(holdfast.LockLostError):
        alice.do(inner.release)
    stays(lambda: told == [inner], during=0.1)


@pytest.mark.realtime
def test_a_loss_is_not_reported_to_an_object_without_a_grant(
    alice: Any, bob: Any, stage: Stage, told: list[Any]
) -> None:
    mine, theirs = _pair(stage, told)
    alice.do(mine.acquire)
    assert bob.do(stage.rival(on_lost=told.append).acquire, blocking=False) is False
    if not stage.kind.shared:
        assert bob.do_briefly(theirs.acquire, timeout=0.01) is False
    _lose(stage, alice, mine)
    eventually(lambda: told == [mine])
    stays(lambda: told == [mine], during=0.1)


def test_after_orderly_use_no_listener_is_left(
    alice: Any, bob: Any, stage: Stage, told: list[Any]
) -> None:
    client = stage.client()
    outer, inner = _pair(stage, told, client)
    rival = stage.rival(client, on_lost=told.append)
    for first, second in ((outer, inner), (inner, outer)):
        for lock in (outer, inner, outer):
            alice.do(lock.acquire)
        assert bob.do(rival.acquire, blocking=False) is False
        for lock in (first, second, outer):
            alice.do(lock.release)
        assert bob.do(rival.acquire, blocking=False) is True
        bob.do(rival.release)
    alice.inside(outer, lambda _: None)
    eventually(lambda: client._listeners == {})
    assert [each._watchers for each in (outer, inner, rival)] == [{}, {}, {}]
    assert told == []


@pytest.mark.values("by", ["the same", "another"])
def test_a_loss_that_an_acquire_finds_is_reported(
    alice: Any, stage: Stage, told: list[Any], by: str
) -> None:
    client = stage.client()
    for name in (f"lock {number}" for number in range(ROUNDS)):
        lock, other = (stage.lock(client, name, on_lost=told.append) for _ in range(2))
        alice.do(lock.acquire)
        stage.take_away(name)
        with pytest.raises(holdfast.LockLostError):
            alice.do((lock if by == "the same" else other).acquire)
        eventually(lambda: told)
        assert told == [lock]
        told.clear()
    assert client._listeners == {}
