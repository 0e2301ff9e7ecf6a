"""A lost hold is reported by `lost`, `on_lost` and `LockLostError`, once; other holds never are."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.support.losses import run_out
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import eventually, stays

FIXED = 2.0
"""One without renewal: it is to outlive a nested acquire, and a look, on a busy machine."""


def _deleted(stage: Stage) -> None:
    stage.take_away()


def _forced_by_another_client(stage: Stage) -> None:
    assert stage.actor().do(stage.lock(stage.client()).force_release)


def _forced_by_the_same_client(stage: Stage) -> None:
    assert stage.actor().do(stage.lock().force_release)


def _taken_over(stage: Stage) -> None:
    stage.take_away()
    assert stage.actor().do(stage.lock(stage.client()).acquire, blocking=False)


def _ran_out(stage: Stage) -> None:
    for key in stage.keys_of():
        run_out(stage.server, key)


CAUSES = (_deleted, _forced_by_another_client, _forced_by_the_same_client, _taken_over, _ran_out)

Cause = Callable[[Stage], None]


class Told:
    """An `on_lost` that remembers its calls."""

    def __init__(self) -> None:
        self.locks: list[Any] = []

    def __call__(self, lock: Any) -> None:
        self.locks.append(lock)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.mark.realtime
@pytest.mark.values("cause", CAUSES, ids=lambda cause: cause.__name__.strip("_"))
@pytest.mark.values("lease", [None, FIXED], ids=["renewed", "fixed"])
def test_a_loss_is_reported(
    alice: Any, stage: Stage, told: Told, cause: Cause, lease: float | None
) -> None:
    """changed-key."""
    default_client = stage.client(lease=KEPT)
    lock = stage.lock(default_client, on_lost=told)
    alice.do(lock.acquire, lease=lease)
    alice.do(lock.acquire, lease=lease)
    cause(stage)
    eventually(lambda: alice.do(lambda: lock.lost))
    eventually(lambda: told.locks)
    before = stage.holds()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert told.locks == [lock]
    assert stage.holds() == before


@pytest.mark.costly
@pytest.mark.realtime
def test_a_fixed_lease_that_ran_out_is_reported(alice: Any, stage: Stage, told: Told) -> None:
    lock = stage.lock(on_lost=told)
    alice.do(lock.acquire, lease=FIXED)
    assert not alice.do(lambda: lock.lost)
    eventually(lambda: alice.do(lambda: lock.lost))
    eventually(lambda: told.locks == [lock])


@pytest.mark.realtime
def test_the_next_grant_clears_lost(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    alice.do(lock.acquire, lease=SHORT)
    eventually(lambda: alice.do(lambda: lock.lost))
    assert alice.do(lock.acquire)
    assert not alice.do(lambda: lock.lost)
    assert alice.do(lock.hold_count) == 1
    alice.do(lock.release)


@pytest.mark.awaited
def test_lost_is_the_callers_own(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    stage.take_away()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert alice.do(lambda: lock.lost) is True
    assert bob.do(lambda: lock.lost) is False


@pytest.mark.costly
@pytest.mark.realtime
def test_what_was_released_is_not_lost(alice: Any, stage: Stage, told: Told) -> None:
    lock = stage.lock(stage.client(lease=KEPT), on_lost=told)
    for lease in (None, KEPT):
        alice.do(lock.acquire, lease=lease)
        alice.do(lock.release)
    stays(lambda: not alice.do(lambda: lock.lost), during=1.2 * KEPT)
    assert told.locks == []


@pytest.mark.costly
@pytest.mark.realtime
def test_other_holds_stay(alice: Any, stage: Stage, told: Told) -> None:
    client = stage.client(lease=KEPT)
    gone, kept = stage.lock(client), stage.lock(client, "another", on_lost=told)
    alice.do(gone.acquire)
    alice.do(kept.acquire)
    stage.take_away()
    eventually(lambda: alice.do(lambda: gone.lost))
    stage.see_renewals(2, "another")
    assert not alice.do(lambda: kept.lost)
    assert told.locks == []
    alice.do(kept.release)


@pytest.mark.realtime
def test_an_error_of_on_lost_is_logged(
    alice: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: Any) -> None:
        raise KeyError("in the callback")

    lock = stage.lock(stage.client(lease=KEPT), on_lost=fails)
    with caplog.at_level(logging.ERROR, logger="holdfast"):
        alice.do(lock.acquire, lease=SHORT)
        eventually(lambda: "in the callback" in caplog.text)
    assert alice.do(lambda: lock.lost)
    assert alice.do(lock.acquire)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
@pytest.mark.realtime
def test_an_on_lost_that_wants_to_exit_ends_nothing(
    alice: Any, stage: Stage, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    client = stage.client()
    exits = stage.lock(client, on_lost=lambda _: sys.exit("from the callback"))
    lock = stage.lock(client, "another", on_lost=told)
    with caplog.at_level(logging.ERROR, logger="holdfast"):
        for _ in range(2):
            alice.do(exits.acquire)
            alice.do(lock.acquire)
            assert alice.do(exits.force_release)
            eventually(lambda: "from the callback" in caplog.text)
            assert alice.do(lock.force_release)
            eventually(lambda: told.locks == [lock])
            caplog.clear()
            told.locks.clear()


@pytest.mark.realtime
def test_on_lost_may_use_the_library(alice: Any, stage: Stage) -> None:
    seen: list[Any] = []
    lock = stage.lock(on_lost=lambda lock: seen.append((lock.name, repr(lock), lock.lost)))
    alice.do(lock.acquire, lease=SHORT)
    eventually(lambda: seen)
    assert seen[0][0] == stage.kind.title(NAME)


@pytest.mark.flavours("asyncio")
@pytest.mark.realtime
def test_asyncio_calls_on_lost_on_the_owners_loop(alice: Any, stage: Stage) -> None:
    loops: list[Any] = []
    lock = stage.lock(on_lost=lambda _: loops.append(asyncio.get_running_loop()))
    alice.do(lock.acquire, lease=SHORT)
    eventually(lambda: loops)
    assert loops == [alice.do(asyncio.get_running_loop)]


@pytest.mark.realtime
def test_a_loss_is_logged_with_the_name(
    alice: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    lock = stage.lock(stage.client(lease=KEPT))
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        alice.do(lock.acquire)
        stage.take_away()
        eventually(lambda: NAME in caplog.text)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
