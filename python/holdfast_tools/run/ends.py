"""How a process ends: by a status, or by the signal that ended what it stood for."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

__all__ = ["INTERRUPTED", "after_signal", "die_of", "end", "status_of"]

INTERRUPTED = -int(signal.SIGINT)
"""In the place of a status: shells that see SIGINT as the end of a command end their script."""


def after_signal(number: int) -> int:
    """The status of a wait that a signal has ended."""
    return INTERRUPTED if number == signal.SIGINT else 128 + number


def status_of(status: int) -> int:
    """The exit status of what ``waitpid`` has collected, as a shell reports it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def die_of(number: int) -> int:
    """End by a signal; a status where that cannot be: it is ignored, or this is process 1."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def end(status: int) -> NoReturn:
    """End this process at once."""
    os._exit(die_of(-status) if status < 0 else status)
