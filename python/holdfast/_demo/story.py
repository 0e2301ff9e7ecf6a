"""Prints events with their times."""

from __future__ import annotations

import sys
import time

__all__ = ["BrokenPromiseError", "Story", "check", "ms"]


class BrokenPromiseError(Exception):
    """The demo did not keep a promise."""


class Story:
    """Lines on the standard output, each with the seconds since the story began."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def title(self, text: str) -> None:
        sys.stdout.write(f"\n          {text}\n")
        sys.stdout.flush()

    def tell(self, text: str, at: float | None = None) -> None:
        """Print an event of the time `at` (of ``time.monotonic``; default: now)."""
        since = (time.monotonic() if at is None else at) - self._began
        sys.stdout.write(f"{since:6.3f} s  {text}\n")
        sys.stdout.flush()


def check(kept: bool, otherwise: str) -> None:
    """Go on when a promise was kept, else raise ``BrokenPromiseError``."""
    if not kept:
        raise BrokenPromiseError(otherwise)


def ms(seconds: float) -> str:
    """A short time, for reading."""
    return f"{seconds * 1000:.1f} ms"
