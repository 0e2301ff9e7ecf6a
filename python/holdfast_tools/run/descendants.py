"""What the command has started: a pipe that all of it inherits, and what is left of it.

As the file descriptor of flock(1): what is started inherits the end for writing, and the other end
is readable when all have closed it or ended.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .processes import Processes

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["Descendants", "adopt_orphans"]

PR_SET_CHILD_SUBREAPER = 36
GUARD_KEEPER = "HOLDFAST_GUARD_KEEPER"
"""As in cpp/guard/guard.h. Set after the command's process was made, which does not see it."""
LOWEST = 100
"""The least number of the descriptor: scripts use small ones, shells those from 10 on."""


class Descendants:
    """All processes that have inherited the pipe from the command."""

    def __init__(self) -> None:
        self._end, write = os.pipe()
        self._inode = os.fstat(write).st_ino
        try:
            self.inherited = fcntl.fcntl(write, fcntl.F_DUPFD, LOWEST)
            os.close(write)
        except OSError:  # this process may not open that many
            self.inherited = write
            os.set_inheritable(write, True)
        self.closed = False

    def keep_after_death(self) -> None:
        """Let the guards that this process starts keep its holds until the pipe is closed."""
        os.environ[GUARD_KEEPER] = str(self._end)

    def started(self) -> None:
        """Keep no end that is inherited: it belongs to the descendants now."""
        os.close(self.inherited)

    def watch(self, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
        """Call `ended` on the loop when no process has the pipe open for writing."""

        def look() -> None:
            if not os.read(self._end, 65536):  # what is written into it means nothing
                self.closed = True
                loop.remove_reader(self._end)
                ended()

        loop.add_reader(self._end, look)

    def outside(self, group: int) -> list[int]:
        """Those below this process that have left the group, where the system shows them.

        A process that has closed the pipe has left the job, and is not listed.
        """
        processes = Processes()
        return [
            pid
            for pid in processes.below(os.getpid())
            if processes.group_of(pid) != group and self._is_open_in(pid)
        ]

    def _is_open_in(self, pid: int) -> bool:
        link = f"pipe:[{self._inode}]"
        with suppress(OSError):
            return any(_target(file) == link for file in Path(f"/proc/{pid}/fd").iterdir())
        return False


def adopt_orphans() -> None:
    """Become the parent of what is left by processes that this one has started (Linux)."""
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _target(file: Path) -> str:
    with suppress(OSError):
        return str(file.readlink())
    return ""
