"""Signals that end the command line: a process that has done nothing yet just dies of SIGINT.

Later a signal raises, wherever the program is: also where an object is half made, whose finalizer
then complains, and inside of a finalizer, where what is raised is lost.
"""

from __future__ import annotations

import atexit
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["die_of_interrupts", "interrupt", "raise_for", "raise_interrupts"]

AGAIN: Final = 0.01
"""Seconds, after which a signal comes again that a finalizer has swallowed."""


def die_of_interrupts() -> None:
    """From now on SIGINT ends this process, without a word."""
    _change(signal.default_int_handler, signal.SIG_DFL)


def raise_interrupts() -> None:
    """From now on it raises ``KeyboardInterrupt``, unless it is ignored."""
    _change(signal.SIG_DFL, interrupt)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise ``KeyboardInterrupt`` for a signal."""
    raise_for(number, KeyboardInterrupt())


# The program's end makes SIGALRM what it was: a timer that is still running would kill it.
atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


def raise_for(number: int, error: BaseException) -> NoReturn:
    """Raise what ends the program for a signal; finalizers say nothing from now on."""
    mark = object()  # the hook must not hold the error, which has the frames that it ends

    def again(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(number)

    def swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        if getattr(unraisable.exc_value, "raised_for", None) is mark and not sys.is_finalizing():
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN)

    sys.unraisablehook = swallowed
    error.__dict__["raised_for"] = mark
    raise error


def _change(before: object, after: Any) -> None:
    if signal.getsignal(signal.SIGINT) is before:
        with suppress(ValueError):  # not the main thread: signals are not for this one
            signal.signal(signal.SIGINT, after)
