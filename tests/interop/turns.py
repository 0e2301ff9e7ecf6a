"""Waiters of both languages behind one interface, to be put in order."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from tests.interop.conftest import LONG, SOON
from tests.interop.java_objects import JavaLock


class Waiter(Protocol):
    """Somebody who waits for a lock and gives it back."""

    def begin(self) -> Future[Any]:
        """Begin to wait; the future is done when the lock is granted."""
        ...

    def end(self) -> None:
        """Give it back."""
        ...


class JavaWaiter:
    """A thread of a peer."""

    def __init__(self, lock: JavaLock) -> None:
        self._lock = lock

    def begin(self) -> Future[Any]:
        return self._lock.begin_lock(lease=LONG)

    def end(self) -> None:
        self._lock.unlock()


class PythonWaiter:
    """A thread of this process, to be closed with `threads`."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.threads = ThreadPoolExecutor(max_workers=1)

    def begin(self) -> Future[Any]:
        return self.threads.submit(self._acquire)

    def end(self) -> None:
        self.threads.submit(self._lock.release).result(SOON)

    def _acquire(self) -> None:
        assert self._lock.acquire(timeout=20, lease=LONG)
