"""The standard streams of a process that was started without some of them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Literal

__all__ = ["discard_output", "prepare_streams"]


def prepare_streams() -> None:
    """Make output to a closed stream vanish, and show what the encoding lacks by an escape.

    A closed descriptor would be the next that is opened, a socket perhaps, and text would go
    there. What is put in its place is not inherited: the stream stays closed for a command.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = _nothing("r")
    if sys.stdout is None:
        sys.stdout = _nothing("w")
    if sys.stderr is None:
        sys.stderr = _nothing("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nothing(mode: Literal["r", "w"]) -> io.TextIOWrapper:
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123 - for the process's life


def discard_output() -> None:
    """Keep the interpreter from writing the buffered output at its end."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
