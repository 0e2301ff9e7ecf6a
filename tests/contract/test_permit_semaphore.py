"""The permit semaphore: permits with ids, their leases, and who may give them back."""

from __future__ import annotations

import logging
import re
import warnings
from typing import Any

import pytest

import holdfast
from holdfast._locks import permit_semaphore as _permit_semaphore
from tests.contract.permits import NAME, TIMEOUTS, UNKNOWN, Permits
from tests.support.owners import MakeClient
from tests.support.renewals import KEPT, SHORT
from tests.support.waiting import eventually, timed_out

# ---- taking and giving back


def test_each_permit_has_a_different_id(permits: Permits) -> None:
    semaphore = permits.semaphore(3)
    ids = [permits.take(semaphore), permits.take(semaphore), permits.take(permits.semaphore())]
    assert all(re.fullmatch("[0-9a-f]{32}", permit) for permit in ids)
    assert len(set(ids)) == 3
    assert set(permits.out) == set(ids)


def test_no_more_permits_are_granted_than_were_set(permits: Permits) -> None:
    semaphores = [permits.semaphore(3), permits.semaphore()]
    taken = [permits.do(semaphores[n % 2].acquire, blocking=False) for n in range(5)]
    assert [permit is not None for permit in taken] == [True] * 3 + [False] * 2
    assert permits.do(semaphores[0].available_permits) == 0


def test_a_release_makes_room(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore)
    assert permits.do(semaphore.release, permit) is None
    assert permits.do(semaphore.available_permits) == 1
    assert permits.take(semaphore) != permit


@pytest.mark.parametrize("lease", [None, 60], ids=["renewed", "leased"])
def test_any_client_may_give_a_permit_back(permits: Permits, lease: float | None) -> None:
    mine, other = permits.semaphore(2), permits.semaphore()
    first, second = permits.take(mine, lease=lease), permits.take(mine, lease=lease)
    permits.do(other.release, first)
    assert permits.do(other.try_release, second.upper()) is True
    assert permits.do(mine.available_permits) == 2


@pytest.mark.parametrize("lease", [None, 60], ids=["renewed", "leased"])
def test_a_permit_is_given_back_once(permits: Permits, lease: float | None) -> None:
    semaphore, other = permits.semaphore(2), permits.semaphore()
    permit = permits.take(semaphore, lease=lease)
    permits.do(semaphore.release, permit)
    for again in (semaphore, other):
        with pytest.raises(holdfast.NotOwnedError, match=permit):
            permits.do(again.release, permit)
        assert permits.do(again.try_release, permit) is False
    assert permits.do(semaphore.available_permits) == 2


def test_an_unknown_permit_is_not_given_back(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    with pytest.raises(holdfast.NotOwnedError, match=NAME):
        permits.do(semaphore.release, UNKNOWN)
    assert permits.do(semaphore.try_release, UNKNOWN) is False
    assert permits.do(semaphore.extend, UNKNOWN, 10) is False
    assert permits.free == 1


def test_a_permit_of_another_name_is_not_given_back(permits: Permits, client: Any) -> None:
    other = client.permit_semaphore("other")
    permits.do(other.try_set_permits, 1)
    permit = permits.do(other.acquire)
    assert permits.do(client.permit_semaphore(NAME).try_release, permit) is False
    assert permits.do(other.try_release, permit) is True


def test_permits_do_not_belong_to_threads_or_tasks(permits: Permits, alice: Any, bob: Any) -> None:
    semaphore = permits.semaphore(1)
    permit = alice.do(semaphore.acquire)
    bob.do(semaphore.release, permit)
    assert permits.free == 1


# ---- setting and removing


def test_permits_are_set_once(permits: Permits) -> None:
    semaphore = permits.semaphore(2)
    assert permits.do(semaphore.try_set_permits, 5) is False
    assert permits.do(semaphore.available_permits) == 2


def test_how_many_may_be_said_by_keyword(permits: Permits) -> None:
    semaphore = permits.semaphore()
    assert permits.do(semaphore.try_set_permits, n=3) is True
    assert permits.do(semaphore.available_permits) == 3


def test_nothing_is_free_until_permits_are_set(permits: Permits) -> None:
    semaphore = permits.semaphore()
    assert permits.do(semaphore.available_permits) == 0
    assert permits.do(semaphore.acquire, blocking=False) is None
    assert permits.do(semaphore.try_set_permits, 0) is True
    assert permits.do(semaphore.acquire, blocking=False) is None


def test_delete_removes_the_permits_too(permits: Permits) -> None:
    semaphore = permits.semaphore(2)
    permit = permits.take(semaphore, lease=60)
    assert permits.do(semaphore.delete) is True
    assert permits.do(semaphore.delete) is False
    assert permits.server.keys() == set()
    assert permits.do(semaphore.try_release, permit) is False


def test_a_delete_is_reported_as_a_loss_of_the_permit(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore)
    permits.do(semaphore.delete)
    with pytest.raises(holdfast.LockLostError, match="by force"):
        permits.do(semaphore.release, permit)


# ---- leases


def test_a_lease_ends_by_itself_and_the_permit_comes_back(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit = permits.take(semaphore, lease=0.4)
    eventually(lambda: permits.do(semaphore.available_permits) == 1)
    assert permits.do(semaphore.try_release, permit) is False
    assert permits.do(semaphore.extend, permit, 10) is False
    assert permits.free == 1


def test_the_lease_of_the_semaphore_is_that_of_its_permits(permits: Permits, client: Any) -> None:
    semaphore = client.permit_semaphore(NAME, lease=300)
    permits.do(semaphore.try_set_permits, 3)
    own, other = permits.take(semaphore), permits.take(semaphore, lease=100)
    renewed = permits.take(semaphore, lease=None)
    assert permits.out == {
        own: pytest.approx(300, abs=5),
        other: pytest.approx(100, abs=5),
        renewed: pytest.approx(30, abs=5),
    }


def test_extend_sets_the_lease_anew(permits: Permits) -> None:
    semaphore, other = permits.semaphore(2), permits.semaphore()
    for lease in (None, 60):
        permit = permits.take(semaphore, lease=lease)
        assert permits.do(semaphore.extend, permit, 100) is True
        assert permits.out[permit] == pytest.approx(100, abs=5)
        assert permits.do(other.extend, permit, 20) is True
        assert permits.out[permit] == pytest.approx(20, abs=5)
        permits.do(semaphore.release, permit)


def test_an_extended_permit_that_is_gone_is_not_given_back(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permits.do(semaphore.release, permits.take(semaphore))  # now the server knows the script
    permit = permits.take(semaphore)
    permits.do(semaphore.extend, permit, 100)
    permits.take_away(permit)
    assert permits.do(semaphore.try_release, permit) is False


def test_an_extended_permit_that_runs_out_is_reported(permits: Permits) -> None:
    lost: list[str] = []
    semaphore = permits.semaphore(1)._client.permit_semaphore(NAME, on_lost=lost.append)
    permit = permits.take(semaphore)
    assert permits.do(semaphore.extend, permit, SHORT) is True
    assert semaphore.lost is False
    eventually(lambda: lost == [permit])
    assert semaphore.lost is True
    with pytest.raises(holdfast.LockLostError, match="its lease ran out"):
        permits.do(semaphore.release, permit)
    assert semaphore.lost is False


def test_an_extend_that_does_not_find_the_permit_reports_it(permits: Permits) -> None:
    lost: list[str] = []
    semaphore = permits.semaphore(1)._client.permit_semaphore(NAME, on_lost=lost.append)
    permit = permits.take(semaphore)
    permits.take_away(permit)
    assert permits.do(semaphore.extend, permit, 100) is False
    eventually(lambda: lost == [permit])
    assert semaphore.lost is True
    with pytest.raises(holdfast.LockLostError):
        permits.do(semaphore.release, permit)


def test_an_extended_permit_counts_as_held_until_it_is_released(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    permit, stats = permits.take(semaphore), semaphore._client.stats
    permits.do(semaphore.extend, permit, 100)
    assert (stats().held, stats().released) == (1, 0)
    permits.do(semaphore.release, permit)
    assert (stats().held, stats().released) == (0, 1)


def test_extend_ends_renewal(permits: Permits) -> None:
    semaphore = permits.semaphore(1, lease=SHORT)
    permit = permits.take(semaphore)
    assert permits.do(semaphore.extend, permit, SHORT / 2) is True
    eventually(lambda: permits.do(semaphore.available_permits) == 1)


@pytest.mark.costly
@pytest.mark.realtime
def test_a_long_job_keeps_its_permits(permits: Permits) -> None:
    semaphore = permits.semaphore(2, lease=KEPT)
    taken = {permits.take(semaphore), permits.take(semaphore)}
    eventually(lambda: semaphore._client.stats().renewals >= 4 * len(taken))
    assert permits.do(semaphore.available_permits) == 0
    assert set(permits.out) == taken
    for permit in taken:
        permits.do(semaphore.release, permit)
    assert permits.free == 2


def test_a_permit_outlives_the_thread_or_task_that_took_it(permits: Permits, alice: Any) -> None:
    semaphore = permits.semaphore(1, lease=KEPT)
    permit = alice.do(semaphore.acquire)
    alice.end()
    score = permits.server.inspect.zscore
    first = score(TIMEOUTS, bytes.fromhex(permit))
    for more in (100, 300):
        eventually(lambda more=more: score(TIMEOUTS, bytes.fromhex(permit)) > first + more)
    permits.do(semaphore.release, permit)


def test_a_closed_client_renews_no_more(permits: Permits, make_client: MakeClient) -> None:
    semaphore, other = permits.semaphore(2), make_client(lease=1)
    mine = other.permit_semaphore(NAME)
    permits.take(mine)
    permits.take(mine)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        permits.do(other.close)
    assert [str(each.message).count(NAME) for each in caught] == [1]
    eventually(lambda: permits.do(semaphore.available_permits) == 2)


def test_a_renewed_permit_never_gets_the_score_that_never_expires(permits: Permits) -> None:
    permit = permits.take(permits.semaphore(1))
    assert permits.out == {permit: pytest.approx(30, abs=5)}


def test_a_permit_that_is_gone_is_reported_by_its_renewal(
    permits: Permits, caplog: pytest.LogCaptureFixture
) -> None:
    semaphore = permits.semaphore(1, lease=KEPT)
    permit = permits.take(semaphore)
    with caplog.at_level(logging.ERROR, logger="holdfast"):
        permits.take_away(permit)
        eventually(lambda: "no longer has it" in caplog.text)
    assert NAME in caplog.text
    with pytest.raises(holdfast.LockLostError, match="no longer has it"):
        permits.do(semaphore.release, permit)
    with pytest.raises(holdfast.NotOwnedError) as again:
        permits.do(semaphore.release, permit)
    assert not isinstance(again.value, holdfast.LockLostError)


def test_a_permit_that_is_gone_is_reported_by_its_release(permits: Permits) -> None:
    semaphore = permits.semaphore(1)
    # The server has to know the script: fakeredis hangs up after NOSCRIPT, and then a release that
    # finds nothing counts as the repeat of one that was done.
    permits.do(semaphore.release, permits.take(semaphore))
    permit = permits.take(semaphore)
    permits.take_away(permit)
    with pytest.raises(holdfast.LockLostError, match="no longer has it"):
        permits.do(semaphore.release, permit)
    assert permits.do(semaphore.try_release, permit) is False


# ---- with


def test_with_gives_a_permit_and_takes_it_back(permits: Permits, alice: Any) -> None:
    semaphore = permits.semaphore(1)
    inside = alice.inside(semaphore, lambda permit: (permit, permits.out))
    assert list(inside[1]) == [inside[0]]
    assert (permits.free, permits.out) == (1, {})


def test_with_can_be_nested_and_shared(permits: Permits, alice: Any, bob: Any) -> None:
    semaphore = permits.semaphore(3)
    word = "a" if permits.flavour.asyncio else ""
    enter = getattr(semaphore, f"__{word}enter__")
    leave = getattr(semaphore, f"__{word}exit__")
    outer, of_bob, inner = alice.do(enter), bob.do(enter), alice.do(enter)
    alice.do(leave, None, None, None)
    assert set(permits.out) == {outer, of_bob}
    alice.do(leave, None, None, None)
    assert set(permits.out) == {of_bob}
    bob.do(leave, None, None, None)
    assert (permits.free, inner in permits.out) == (3, False)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(leave, None, None, None)


def test_with_may_end_in_another_thread(permits: Permits, alice: Any, bob: Any) -> None:
    """It gives back the latest permit of who leaves, and the oldest where they have none."""
    semaphore = permits.semaphore(3)
    word = "a" if permits.flavour.asyncio else ""
    enter = getattr(semaphore, f"__{word}enter__")
    leave = getattr(semaphore, f"__{word}exit__")
    oldest, latest = alice.do(enter), alice.do(enter)
    bob.do(leave, None, None, None)
    assert (oldest in permits.out, latest in permits.out) == (False, True)
    bob.do(leave, None, None, None)
    assert permits.free == 3


def test_with_waits_no_longer_than_its_wait(permits: Permits, client: Any, alice: Any) -> None:
    semaphore = client.permit_semaphore(NAME, wait=0.05)
    permits.semaphore(0)
    timed_out(lambda: alice.inside(semaphore, lambda _: None), NAME)


def test_an_error_of_the_body_comes_out_itself(permits: Permits, alice: Any) -> None:
    semaphore = permits.semaphore(1)

    def fail(permit: str) -> None:
        permits.take_away(permit)
        raise KeyError(permit)

    with pytest.raises(KeyError) as caught:
        alice.inside(semaphore, fail)
    assert "LockLostError" in "".join(getattr(caught.value, "__notes__", []))


def test_a_block_that_has_released_its_permit_raises(permits: Permits, alice: Any) -> None:
    semaphore = permits.semaphore(2)
    with pytest.raises(holdfast.NotOwnedError):
        alice.inside(semaphore, semaphore.release)
    assert permits.free == 2


@pytest.mark.parametrize("lease", [None, KEPT], ids=["renewed", "leased"])
def test_a_lost_permit_is_reported_with_its_id(
    permits: Permits, make_client: MakeClient, alice: Any, lease: float | None
) -> None:
    """`lost` is true from then on until it is released; a permit that is held is no loss."""
    lost: list[str] = []
    permits.semaphore(2)
    client = make_client(lease=KEPT)
    semaphore = client.permit_semaphore(NAME, lease=lease, on_lost=lost.append)
    permit = alice.do(semaphore.acquire)
    assert (semaphore.lost, lost) == (False, [])
    if lease is None:
        permits.take_away(permit)
    eventually(lambda: lost == [permit])
    assert semaphore.lost
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(semaphore.release, permit)
    assert not semaphore.lost


def test_a_permit_that_was_released_is_not_lost(
    permits: Permits, make_client: MakeClient, alice: Any
) -> None:
    lost: list[str] = []
    permits.semaphore(1)
    client = make_client(lease=KEPT)
    taking = client.permit_semaphore(NAME, on_lost=lost.append)
    giving = client.permit_semaphore(NAME)
    alice.do(giving.release, alice.do(taking.acquire))
    assert (taking.lost, lost, client._permits) == (False, [], {})


def test_a_client_keeps_its_latest_losses_only(
    permits: Permits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where each permit is taken through another object."""
    monkeypatch.setattr(_permit_semaphore, "MOST_LOSSES", 2)
    client = permits.semaphore(4)._client
    lost: list[str] = []
    semaphores = [client.permit_semaphore(NAME, on_lost=lost.append) for _ in range(4)]
    for semaphore in semaphores:
        permits.take(semaphore, lease=0.4)
    eventually(lambda: len(lost) == 4)
    assert len(client._permits) == 2
    assert [semaphore.lost for semaphore in semaphores].count(True) == 2
