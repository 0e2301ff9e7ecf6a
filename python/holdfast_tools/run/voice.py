"""What is said on stderr, by a thread: it may be full, and its reader asleep."""

from __future__ import annotations

import queue
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Voice"]

LONGEST = 1.0
"""Seconds until what no reader has taken is given up, at the end."""


class Voice:
    """Says lines in their order, and lets no caller wait."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def later(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """The same function, called by the thread."""

        def put(line: str) -> None:
            self._begin()
            self._lines.put(lambda: say(line))

        return put

    def finish(self) -> None:
        """Wait until all is said, or no reader has come for too long."""
        if self._thread is not None:
            self._lines.put(None)
            self._thread.join(LONGEST)

    def _begin(self) -> None:
        if self._thread is not None:
            return
        # Signals are for the main thread, also at the end, where it does not handle them any more.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        thread = threading.Thread(target=self._speak, daemon=True)
        with suppress(RuntimeError):  # no more threads are allowed: what is said is lost
            thread.start()
            self._thread = thread
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _speak(self) -> None:
        while (say := self._lines.get()) is not None:
            say()
