"""Fixtures of the citizenship tests: event loops of both makes, and what was warned about."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tests.support.servers import Server

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"

SHORT = 0.6
"""A watchdog lease that is renewed each 0.2 s."""


def holds(server: Server, name: str = NAME) -> dict[bytes, int]:
    """The owners of a lock on the server, and their hold counts."""
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


class Notices(logging.Handler):
    """Everything that the library warned about: by `warnings` and by its logger."""

    def __init__(self, caught: list[warnings.WarningMessage]) -> None:
        super().__init__(logging.WARNING)
        self._caught = caught
        self._logged: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._logged.append(record.getMessage())

    @property
    def texts(self) -> list[str]:
        while self._caught:  # a warning that is kept keeps what it is about
            self._logged.append(str(self._caught.pop(0).message))
        return [*self._logged]

    def naming(self, word: str) -> list[str]:
        """The notices in which `word` occurs."""
        return [text for text in self.texts if word in text]


NewLoop = Callable[[], asyncio.AbstractEventLoop]
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def new_loop(request: pytest.FixtureRequest) -> NewLoop:
    """Make an event loop of one of the two makes."""
    make: NewLoop = pytest.importorskip(request.param).new_event_loop
    return make


@pytest.fixture
def run(new_loop: NewLoop) -> Run:
    """Run a coroutine on a new loop."""
    if new_loop is asyncio.new_event_loop:
        return asyncio.run

    def run_until_complete(main: Coroutine[Any, Any, Any]) -> Any:
        loop = new_loop()
        try:
            return loop.run_until_complete(main)
        finally:
            loop.close()

    return run_until_complete


@pytest.fixture
def notices() -> Iterator[Notices]:
    """Collect warnings and log records instead of failing on them."""
    logger = logging.getLogger("holdfast")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        handler = Notices(caught)
        logger.addHandler(handler)
        try:
            yield handler
        finally:
            logger.removeHandler(handler)
