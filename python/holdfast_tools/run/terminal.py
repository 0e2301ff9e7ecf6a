"""The controlling terminal, and its foreground process group."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from .processes import Processes

__all__ = ["Terminal"]


class Terminal:
    """The terminal of this process, if it has one; SIGTTOU is blocked from now on.

    `front`: the process before this one, whose group has it while the command does not.
    """

    def __init__(self, front: int, group: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        self._front = front
        self._group = group
        self._file: int | None = None
        with suppress(OSError):
            self._file = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def give(self, group: int) -> None:
        """Put a process group into the foreground, if the front is there, and beside no other.

        Another part of its pipeline, such as a pager, would be stopped.
        """
        if self._is_of(self._group) and not Processes().beside(self._front):
            self._hand_over(self._group, group)

    def give_to_one_that_waits(self, group: int) -> bool:
        """The same, for a group that cannot go on without; whether it has the terminal now."""
        return self._hand_over(self._group, group)

    def take(self, group: int) -> bool:
        """Put the front's group into the foreground, if the process group is there."""
        return self._hand_over(group, self._group)

    def _is_of(self, group: int) -> bool:
        with suppress(OSError):
            return self._file is not None and os.tcgetpgrp(self._file) == group
        return False

    def _hand_over(self, before: int, after: int) -> bool:
        if self._file is None or not self._is_of(before):
            return False
        with suppress(OSError):
            os.tcsetpgrp(self._file, after)
            return True
        return False
