"""The controlling terminal, and its foreground process group."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

__all__ = ["Terminal"]


class Terminal:
    """The terminal of this process, if it has one; SIGTTOU is blocked from now on.

    `front`: the process group that has it while the command does not.
    """

    def __init__(self, front: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        self._front = front
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def give(self, group: int) -> None:
        """Put a process group into the foreground, if the front is there."""
        self._hand_over(self._front, group)

    def take(self, group: int) -> None:
        """Put the front into the foreground, if the process group is there."""
        self._hand_over(group, self._front)

    def _hand_over(self, before: int, after: int) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            if os.tcgetpgrp(self._file) == before:
                os.tcsetpgrp(self._file, after)
