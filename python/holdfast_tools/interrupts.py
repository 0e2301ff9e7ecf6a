"""SIGINT while the command line starts: a process that has done nothing yet just dies of it."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any

__all__ = ["die_of_interrupts", "raise_interrupts"]


def die_of_interrupts() -> None:
    """From now on SIGINT ends this process, without a word."""
    _change(signal.default_int_handler, signal.SIG_DFL)


def raise_interrupts() -> None:
    """From now on it raises ``KeyboardInterrupt``, unless it is ignored."""
    _change(signal.SIG_DFL, signal.default_int_handler)


def _change(before: object, after: Any) -> None:
    if signal.getsignal(signal.SIGINT) is before:
        with suppress(ValueError):  # not the main thread: signals are not for this one
            signal.signal(signal.SIGINT, after)
