"""How long a hold lives: fixed leases, the watchdog, nested leases, `extend`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

import holdfast
from holdfast._locks import base as _synchronizer
from tests.contract.conftest import Stage
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import BOUND, Stopwatch, eventually


@pytest.fixture
def kept(stage: Stage) -> Any:
    """A lock of a client with a short watchdog lease, which a busy machine keeps."""
    return stage.lock(stage.client(lease=KEPT))


def test_a_fixed_lease_is_set_on_the_server(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire, lease=100)
    assert 95 < stage.left() <= 100
    assert 95 < alice.do(lock.ttl) <= 100


def test_a_locks_own_lease(alice: Any, stage: Stage) -> None:
    lock = stage.lock(lease=50)
    alice.do(lock.acquire)
    assert 45 < stage.left() <= 50
    alice.do(lock.release)
    alice.do(lock.acquire, lease=70)
    assert 65 < stage.left() <= 70


def test_the_watchdogs_lease_is_the_clients(alice: Any, stage: Stage) -> None:
    alice.do(stage.lock(stage.client(lease=40.0)).acquire)
    assert 35 < stage.left() <= 40


def test_the_watchdogs_lease_is_thirty_seconds(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    assert 25 < stage.left() <= 30


@pytest.mark.values(("lease", "meant"), [(0.05, "less than 0.1 s"), (7201, "more than two hours")])
def test_a_lease_that_looks_like_another_unit_is_logged_once(
    alice: Any, stage: Stage, caplog: pytest.LogCaptureFixture, lease: float, meant: str
) -> None:
    lock, permits = stage.lock(), stage.client().permit_semaphore("permits")
    for give in (
        lambda: stage.lock(lease=lease),
        lambda: alice.do(lock.acquire, blocking=False, lease=lease),
        lambda: alice.do(permits.acquire, blocking=False, lease=lease),
        lambda: stage.client().permit_semaphore("permits", lease=lease),
    ):
        _synchronizer._doubts.clear()
        caplog.clear()
        for _ in range(2):
            with suppress(holdfast.LockLostError):  # a lease of 0.05 s on a busy machine
                give()
        logged = [each.getMessage() for each in caplog.records if "seconds" in each.getMessage()]
        assert len(logged) == 1
        assert f"is {lease:g} s, {meant}" in logged[0]


def test_a_plausible_lease_is_not_logged(
    alice: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    _synchronizer._doubts.clear()
    for lease in (0.1, 7200, None):
        stage.lock(lease=lease)
    lock = stage.lock()
    alice.do(lock.acquire)
    alice.do(lock.extend, 30_000)
    logged = [each.getMessage() for each in caplog.records]
    assert [each for each in logged if "the lease of" in each] == []


def test_a_very_long_lease(alice: Any, lock: Any) -> None:
    year = 365.25 * 24 * 3600
    assert alice.do(lock.acquire, lease=year)
    assert year - 1 < alice.do(lock.ttl) <= year


def test_a_lease_below_a_millisecond_counts_as_one(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.begin(lock.acquire, blocking=False, lease=1e-6).exception(BOUND)
    eventually(lambda: stage.all_keys() == set())
    assert bob.do(lock.acquire, timeout=BOUND)


@pytest.mark.realtime
def test_a_fixed_lease_ends_and_the_next_gets_in(
    alice: Any, bob: Any, lock: Any, rival: Any
) -> None:
    watch = Stopwatch()
    alice.do(lock.acquire, lease=SHORT)
    assert bob.do(rival.acquire, timeout=BOUND) is True
    assert watch.seconds >= SHORT * 0.95
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert bob.do(rival.owned)


@pytest.mark.costly
@pytest.mark.realtime
def test_the_watchdog_keeps_a_hold_past_its_lease(alice: Any, kept: Any, stage: Stage) -> None:
    alice.do(kept.acquire)
    stage.see_renewals(2)
    assert not alice.do(lambda: kept.lost)
    alice.do(kept.release)


@pytest.mark.costly
@pytest.mark.realtime
def test_renewal_stops_with_the_release(alice: Any, bob: Any, kept: Any, stage: Stage) -> None:
    alice.do(kept.acquire)
    alice.do(kept.release)
    bob.do(kept.acquire, lease=SHORT)
    eventually(lambda: stage.holds() == {})


def test_a_partial_release_keeps_the_lease(alice: Any, stage: Stage) -> None:
    lock, same = stage.lock(), stage.lock()
    alice.do(lock.acquire, lease=3600)
    alice.do(lock.acquire, lease=3600)
    alice.do(same.release)
    assert stage.left() > 3590


@pytest.mark.values("leases", [(100, 10), (10, 100)], ids=str)
def test_of_nested_leases_the_longer_counts(
    alice: Any, lock: Any, stage: Stage, leases: tuple[int, int]
) -> None:
    for lease in leases:
        alice.do(lock.acquire, lease=lease)
    assert 95 < stage.left() <= 100
    alice.do(lock.release)
    assert 95 < stage.left() <= 100


@pytest.mark.costly
@pytest.mark.realtime
def test_a_nested_fixed_lease_does_not_cut_the_watchdogs(
    alice: Any, kept: Any, stage: Stage
) -> None:
    alice.do(kept.acquire)
    alice.do(kept.acquire, lease=KEPT / 3)
    assert stage.left() > KEPT / 3
    stage.see_renewals(2)
    alice.do(kept.release)
    stage.see_renewals()
    assert not alice.do(lambda: kept.lost)
    alice.do(kept.release)


@pytest.mark.costly
@pytest.mark.realtime
def test_renewed_while_any_nested_hold_has_no_lease(alice: Any, kept: Any, stage: Stage) -> None:
    alice.do(kept.acquire, lease=KEPT)
    alice.do(kept.acquire)
    stage.see_renewals()
    alice.do(kept.release)
    assert list(stage.holds().values()) == [1]
    eventually(lambda: stage.holds() == {})


def test_extend_sets_a_new_lease(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire, lease=10)
    assert alice.do(lock.extend, 200) is True
    assert 195 < stage.left() <= 200
    assert alice.do(lock.extend, 20) is True
    assert 15 < stage.left() <= 20


def test_extend_of_a_lock_that_is_not_owned(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    assert alice.do(lock.extend, 10) is False
    assert stage.all_keys() == set()
    bob.do(lock.acquire, lease=100)
    assert alice.do(lock.extend, 1000) is False
    assert stage.left() <= 100


def test_extend_of_a_lock_that_is_gone(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire, lease=10)
    stage.take_away()
    assert alice.do(lock.extend, 10) is False
    assert stage.all_keys() == set()


@pytest.mark.costly
@pytest.mark.realtime
def test_extend_ends_the_renewal(alice: Any, bob: Any, kept: Any, rival: Any) -> None:
    alice.do(kept.acquire)
    assert alice.do(kept.extend, SHORT)
    assert bob.do(rival.acquire, timeout=BOUND) is True
    with pytest.raises(holdfast.LockLostError):
        alice.do(kept.release)


@pytest.mark.realtime
def test_a_waiter_hears_of_a_lease_that_was_made_shorter(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire, lease=4 * BOUND)
    waiting = stage.wait(bob, stage.rival(stage.client()))
    assert alice.do(lock.extend, SHORT)
    assert waiting.result(BOUND) is True


@pytest.mark.realtime
def test_a_waiter_wakes_when_a_silent_lease_ends(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    for key in stage.keys_of():
        stage.server.inspect.hset(key, mapping=stage.kind.foreign("somebody-else:1", 1))
        stage.server.inspect.pexpire(key, int(SHORT * 1000))
    waiting = stage.wait(bob, rival)
    assert waiting.result(BOUND) is True
