"""Blocks, and losses of what they hold, for both flavours: parts of programs for actors."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import pytest

import holdfast
from tests.support.actors import REST
from tests.support.servers import Server
from tests.support.waiting import BOUND

Program = Generator[Any, Any, Any]

_RUN_OUT = """
local set, began = redis.call('pexpire', KEYS[1], 1), redis.call('time')
repeat
  local now = redis.call('time')
until (now[1] - began[1]) * 1000000 + now[2] - began[2] > 2000
return set
"""


def run_out(server: Server, key: str | bytes) -> None:
    """Let a key expire before its client, which gets a message of the change, can look at it."""
    assert server.inspect.eval(_RUN_OUT, 1, key) == 1


def entered(lock: Any) -> Any:
    """Begin a block, as `with` or `async with` does; to be yielded."""
    enter = getattr(type(lock), "__aenter__", None) or type(lock).__enter__
    return enter(lock)


def left(lock: Any, error: BaseException | None = None) -> Any:
    """End a block, whose body has raised `error`; to be yielded."""
    kind: type[BaseException] | None = None if error is None else type(error)
    traceback: TracebackType | None = None if error is None else error.__traceback__
    leave = getattr(type(lock), "__aexit__", None) or type(lock).__exit__
    return leave(lock, kind, error, traceback)


def until(condition: Callable[[], Any]) -> Program:
    """Let other owners run until the condition is true: `yield from`."""
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, condition
        yield REST


def lost_inside(lock: Any, lose: Callable[[], Any]) -> Program:
    """Lose what the caller holds, and return when it is known: `yield from`."""
    lose()
    yield from until(lambda: lock.lost)


@contextmanager
def refused() -> Generator[Any]:
    """What is called inside raises ``LockLostError``."""
    with pytest.raises(holdfast.LockLostError) as caught:
        yield caught


def fields_of(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, str]:
    """The fields of the one record of an event, without ``holdfast_`` before their names."""
    begin = "holdfast_"
    found = [vars(each) for each in caplog.records if vars(each).get(begin + "event") == event]
    assert len(found) == 1, found
    return {
        name.removeprefix(begin): text for name, text in found[0].items() if name.startswith(begin)
    }
