"""What the locks guard: a number in a file, read and written back in two steps.

The file counts the writes that it takes, so a lost update shows: the value is less than the count.
It takes a write only from an owner that may write at that moment: `allowed` is called while no
other worker can read or write. A token is checked as by a resource that knows nothing of leases: a
read or a write with a smaller token than an earlier one is refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.support.waiting import let_pass

DescriptorsT = TypeVar("DescriptorsT", int, tuple[int, int])

LONGEST_LIMIT = 30.0
"""Seconds until a limit of descriptors is lifted, on a busy machine too."""

_RECORD = struct.Struct("qqq")  # value, writes taken, largest token seen


def opened(open_it: Callable[[], DescriptorsT]) -> DescriptorsT:
    """What the torture needs for itself is opened when the limit of its worker allows it."""
    until = time.monotonic() + LONGEST_LIMIT
    while True:
        try:
            return open_it()
        except OSError as error:
            if error.errno != errno.EMFILE or time.monotonic() > until:
                raise
        let_pass(0.01)


class Store:
    """One number. Each thread or task of each process may use a separate store."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, token: int = 0) -> int | None:
        """The value; None where the token is too old."""
        with self._locked() as file:
            value, writes, largest = self._load(file)
            if token < largest:
                return None
            os.pwrite(file, _RECORD.pack(value, writes, token), 0)
            return value

    def write(self, value: int, allowed: Callable[[], bool], token: int = 0) -> bool:
        """Put a new value there, if the token is not too old and `allowed()`."""
        with self._locked() as file:
            _, writes, largest = self._load(file)
            if token < largest or not allowed():
                return False
            os.pwrite(file, _RECORD.pack(value, writes + 1, token), 0)
            return True

    def lost_updates(self) -> int:
        with self._locked() as file:
            value, writes, _ = self._load(file)
            return writes - value

    def writes(self) -> int:
        with self._locked() as file:
            return self._load(file)[1]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = opened(lambda: os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    @staticmethod
    def _load(file: int) -> tuple[int, int, int]:
        data = os.pread(file, _RECORD.size, 0)
        value, writes, token = _RECORD.unpack(data) if data else (0, 0, 0)
        return value, writes, token
