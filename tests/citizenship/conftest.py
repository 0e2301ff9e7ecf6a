"""Fixtures of the citizenship tests: a server that is quick to start, and what was warned about."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator

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
        return [*self._logged, *(str(warning.message) for warning in self._caught)]

    def naming(self, word: str) -> list[str]:
        """The notices in which `word` occurs."""
        return [text for text in self.texts if word in text]


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
