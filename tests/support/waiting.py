"""Waiting with a bound: the one place in the tests that sleeps, but for the torture's workers.

Nothing here synchronises by time. `eventually` polls a condition and fails loudly when its bound
is over; `stays` watches that a condition holds for a while and is meant for the few tests marked
`realtime`, where the passing of time is the subject.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import holdfast

T = TypeVar("T")

BOUND = 60.0
"""Seconds after which a test gives up on what takes milliseconds: only what hangs lasts so long.

A test that tells what happens at once from what happens some seconds later makes the latter last
longer than this, by a long lease or time-out, and measures no time.
"""

SOON = 4.5
"""Seconds in which a waiter that is woken returns, of a key without a time to live.

Without a message, such a waiter looks again 5 seconds after it has looked last.
"""

_FIRST_STEP, _LAST_STEP = 0.002, 0.025
_STEP_OF_THE_WAIT = 0.05
"""A wait looks again after this part of the time that it has lasted, within the steps above.

Most conditions ask a server: every 2 ms, that would cost more of the machine than the tests do.
"""

_WATCH_STEP = 0.01


def eventually(condition: Callable[[], T], within: float = BOUND, what: str = "") -> T:
    """Return the first true value of `condition`, or fail after `within` seconds.

    An AssertionError of the condition counts as "not yet"; the last one is the cause of the
    failure. Other errors come out at once.
    """
    begun = time.monotonic()
    while True:
        value, reason = _attempt(condition)
        if value:
            return value
        waited = time.monotonic() - begun
        if waited > within:
            raise AssertionError(f"not within {within} s: {what or condition}") from reason
        time.sleep(min(max(_FIRST_STEP, waited * _STEP_OF_THE_WAIT), _LAST_STEP))


def timed_out(ask: Callable[[], object], match: str = "") -> holdfast.LockTimeout:
    """Return the LockTimeout of `ask`, a call with a short time, once it says this.

    On a busy machine no reply may come within that time, or none that names the owner.
    """

    def says() -> holdfast.LockTimeout | None:
        try:
            ask()
        except holdfast.LockTimeout as late:
            return late if re.search(match, str(late)) else None
        except holdfast.ConnectionError:
            return None
        raise AssertionError("the call has not timed out")

    return eventually(says, what=f"a time-out that says {match!r}")


def settled(value: Callable[[], T], quiet: float = 0.1) -> T:
    """Return a value that has not changed for `quiet` seconds."""
    last, since = value(), time.monotonic()

    def is_settled() -> bool:
        nonlocal last, since
        if (now := value()) != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since >= quiet

    eventually(is_settled, what="a value that does not change")
    return last


def _attempt(condition: Callable[[], T]) -> tuple[T | None, AssertionError | None]:
    try:
        return condition(), None
    except AssertionError as reason:
        return None, reason


def stays(condition: Callable[[], object], during: float, what: str = "") -> None:
    """Fail as soon as `condition` is false within the next `during` seconds."""
    deadline = time.monotonic() + during
    while time.monotonic() < deadline:
        assert condition(), f"no longer true: {what or condition}"
        time.sleep(_WATCH_STEP)


def let_pass(seconds: float) -> None:
    """Let time pass: only for faults that have a duration, never to wait for something."""
    time.sleep(seconds)


def _library() -> Any:
    """asyncio, or trio where that runs."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else asyncio


async def taking(seconds: float) -> None:
    """The same in a task: the body of a block, or a callback, that takes so long."""
    await _library().sleep(seconds)


async def turns(number: int = 1) -> None:
    """Let the loop turn so often, and others of its tasks run; no time has to pass."""
    for _ in range(number):
        await _library().sleep(0)


class Stopwatch:
    """Seconds since it was made, on the clock that the tests measure with."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started
