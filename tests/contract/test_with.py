"""`with lock:` and `async with lock:` hold the lock inside, and never hide an error of the body."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from typing import Any, NoReturn

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.support.losses import fields_of
from tests.support.waiting import BOUND, Stopwatch, eventually, timed_out


def test_with_holds_inside_and_gives_the_lock(alice: Any, lock: Any, stage: Stage) -> None:
    def body(held: Any) -> Generator[Any, Any, None]:
        assert held is lock
        assert (yield held.owned())
        assert list(stage.holds().values()) == [1]

    alice.inside(lock, body)
    assert stage.all_keys() == set()


def test_with_nests(alice: Any, lock: Any, stage: Stage) -> None:
    def outer(_: Any) -> Generator[Any, Any, None]:
        assert (yield lock.acquire())
        assert (yield lock.hold_count()) == 2
        yield lock.release()

    alice.inside(lock, outer)
    assert stage.all_keys() == set()


def test_with_waits_for_the_holder(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    inside = stage.wait_inside(bob, rival, lambda held: held.name)
    assert not inside.done()
    alice.do(lock.release)
    assert inside.result(BOUND) == stage.kind.title(NAME)


def test_with_that_may_not_wait_times_out(alice: Any, bob: Any, stage: Stage) -> None:
    alice.do(stage.lock().acquire)
    before = stage.holds()
    with pytest.raises(holdfast.LockTimeout, match=NAME) as refused:
        bob.inside(stage.rival(wait=0), lambda _: pytest.fail("the body ran"))
    assert isinstance(refused.value, TimeoutError)
    assert isinstance(refused.value, holdfast.LockError)
    assert stage.holds() == before


@pytest.mark.realtime
def test_with_waits_as_long_as_it_may(alice: Any, bob: Any, stage: Stage) -> None:
    alice.do(stage.lock().acquire)
    watch = Stopwatch()
    timed_out(lambda: bob.inside(stage.rival(wait=0.2), lambda _: pytest.fail("the body ran")))
    assert watch.seconds >= 0.2
    eventually(lambda: stage.subscribers() == 0)


def test_with_takes_the_locks_lease(alice: Any, stage: Stage) -> None:
    alice.inside(stage.lock(lease=77), lambda _: _between(76, stage.left(), 77))


def test_an_error_of_the_body_comes_out_and_the_lock_is_free(
    alice: Any, lock: Any, stage: Stage
) -> None:
    error = KeyError("of the body")
    with pytest.raises(KeyError) as seen:
        alice.inside(lock, lambda _: _raise(error))
    assert seen.value is error
    eventually(lambda: stage.all_keys() == set())


def test_even_an_error_that_is_no_exception(alice: Any, lock: Any, stage: Stage) -> None:
    class Ended(BaseException):
        pass

    with pytest.raises(Ended):
        alice.inside(lock, lambda _: _raise(Ended()))
    eventually(lambda: stage.all_keys() == set())


@pytest.mark.awaited
def test_a_loss_in_the_body_comes_out_at_its_end(alice: Any, lock: Any, stage: Stage) -> None:
    with pytest.raises(holdfast.LockLostError, match=NAME):
        alice.inside(lock, lambda _: stage.take_away())


@pytest.mark.awaited
def test_an_error_of_the_body_is_never_masked_by_the_release(
    alice: Any, lock: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """error-in-block."""
    error = KeyError("of the body")

    def body(_: Any) -> None:
        stage.take_away()
        raise error

    with caplog.at_level(logging.WARNING, logger="holdfast"), pytest.raises(KeyError) as seen:
        alice.inside(lock, body)
    assert seen.value is error
    assert NAME in caplog.text
    failed = fields_of(caplog, "release_failed")
    assert (failed["name"], failed["kind"]) == (lock.name, lock._kind)
    if sys.version_info >= (3, 11):
        assert any(NAME in note for note in error.__notes__)


def test_releasing_once_too_often_in_the_body(alice: Any, lock: Any, stage: Stage) -> None:
    with pytest.raises(holdfast.NotOwnedError):
        alice.inside(lock, lambda held: held.release())
    assert stage.all_keys() == set()


def _raise(error: BaseException) -> NoReturn:
    raise error


def _between(low: float, value: float, high: float) -> None:
    assert low < value <= high
