"""What a semaphore is given is checked before anything is sent."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.support.waiting import BOUND

NAME = "mySemaphore"
MOST = 2**31 - 1

TOO_FEW = (0, -1, -MOST)
TOO_MANY = (MOST + 1, 2**63, 10**30)
NO_NUMBERS = (1.0, 1.5, True, "1", None, math.inf, [1])


@pytest.mark.values("value", [*TOO_FEW, *TOO_MANY], ids=str)
def test_numbers_that_cannot_be(alice: Any, deaf: Any, value: int) -> None:
    semaphore = deaf.semaphore(NAME)
    with pytest.raises(ValueError, match="permits"):
        alice.do(semaphore.acquire, permits=value)
    for call in (semaphore.release, semaphore.release_if_exists):
        with pytest.raises(ValueError, match="n must be"):
            alice.do(call, value)
    if value != 0:
        with pytest.raises(ValueError, match="n must be"):
            alice.do(semaphore.try_set_permits, value)
    if abs(value) > MOST:
        for sign in (1, -1):
            with pytest.raises(ValueError, match="n must be"):
                alice.do(semaphore.add_permits, sign * value)


@pytest.mark.values("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_of_permits(alice: Any, deaf: Any, value: Any) -> None:
    semaphore = deaf.semaphore(NAME)
    with pytest.raises(TypeError, match="permits"):
        alice.do(semaphore.acquire, permits=value)
    calls = (semaphore.release, semaphore.release_if_exists, semaphore.add_permits)
    for call in (*calls, semaphore.try_set_permits):
        with pytest.raises(TypeError, match="n must be"):
            alice.do(call, value)


@pytest.mark.values(
    ("arguments", "error"),
    [
        ((True, "1"), TypeError),
        ((True, -2), ValueError),
        ((True, math.nan), ValueError),
        ((True, math.inf), OverflowError),
        ((False, 1), ValueError),
        ((False, 0), ValueError),
    ],
    ids=str,
)
def test_bad_timeouts(
    alice: Any, deaf: Any, arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error, match="timeout"):
        alice.do(deaf.semaphore(NAME).acquire, *arguments)


@pytest.mark.values("wait", [-1, math.nan, "1"], ids=repr)
def test_bad_waits(deaf: Any, wait: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="wait"):
        deaf.semaphore(NAME, wait=wait)


def test_permits_are_named(alice: Any, deaf: Any) -> None:
    with pytest.raises(TypeError):
        alice.do(deaf.semaphore(NAME).acquire, True, None, 2)


def test_a_release_of_what_exists_makes_no_semaphore_and_wakes(
    alice: Any, bob: Any, client: Any
) -> None:
    semaphore = client.semaphore(NAME)
    assert alice.do(semaphore.release_if_exists, 2) is False
    assert alice.do(semaphore.try_set_permits, 0) is True
    waiting = bob.begin(semaphore.acquire, permits=2)
    assert alice.do(semaphore.release_if_exists) is True
    assert alice.do(semaphore.release_if_exists, 2) is True
    assert waiting.result(BOUND) is True
    assert alice.do(semaphore.available_permits) == 1
