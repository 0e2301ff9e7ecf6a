"""Single keys of a terminal, while a table is shown."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

__all__ = ["pressed", "single_keys"]

#: What a terminal sends for keys that are no letters.
SEQUENCES: Final = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[H": "home",
    b"\x1b[1~": "home",
    b"\x1b[F": "end",
    b"\x1b[4~": "end",
}
MOST_BYTES: Final = 64


@contextmanager
def single_keys() -> Generator[bool]:
    """While keys come one by one, without an echo; ``False``: no terminal sends any."""
    terminal = sys.stdin.fileno() if sys.stdin.isatty() else -1
    if terminal < 0 or os.tcgetpgrp(terminal) != os.getpgrp():  # in the background it would stop
        yield False
        return
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)  # Ctrl-C stays a signal
    try:
        yield True
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def pressed(seconds: float) -> Iterator[str]:
    """The keys that are pressed within the next seconds, by name; letters are themselves."""
    terminal, end = sys.stdin.fileno(), time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], rest)[0]:
            data = os.read(terminal, MOST_BYTES)
            if not data:  # the terminal was closed
                time.sleep(rest)
                return
            yield from _names(data)


def _names(data: bytes) -> Iterator[str]:
    while data:
        known = next((one for one in SEQUENCES if data.startswith(one)), None)
        if known is not None:
            yield SEQUENCES[known]
        elif data[:1] != b"\x1b":
            yield data[:1].decode(errors="replace")
        data = data[len(known or b" ") :]
