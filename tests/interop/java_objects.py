"""The shared objects of a Java peer as one of its threads sees them; the methods are Redisson's.

A `begin_…` returns at once, with the future of the operation's answer. Times are seconds.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

CALL_TIMEOUT = 30.0
ILLEGAL_MONITOR_STATE = "java.lang.IllegalMonitorStateException"
"""The class of what unlock() throws when its thread does not hold the lock."""


class JavaError(Exception):
    """What an operation threw in Java."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message


@dataclass(frozen=True)
class Answer:
    """What an operation returned, and the moments in Java before and after it."""

    value: Any
    began: int
    ended: int


class Peer(Protocol):
    """What the objects need of their peer."""

    def submit(self, thread: str, kind: str, op: str, **fields: Any) -> Future[Answer]: ...

    def owner(self, thread: str) -> str: ...

    def sleeps(self, thread: str) -> bool: ...


class JavaObject:
    """An object of a kind and a name."""

    def __init__(self, peer: Peer, thread: str, kind: str, name: str) -> None:
        self._peer = peer
        self._thread = thread
        self._kind = kind
        self._name = name

    @property
    def owner(self) -> str:
        """The thread's owner field on the server."""
        return self._peer.owner(self._thread)

    def sleeps(self) -> bool:
        """Whether the thread waits, and not for a reply of the server."""
        return self._peer.sleeps(self._thread)

    def _begin(self, op: str, *, kind: str | None = None, **arguments: Any) -> Future[Answer]:
        fields = {
            _MILLISECONDS.get(key, key): milliseconds(value) if key in _MILLISECONDS else value
            for key, value in arguments.items()
            if value is not None
        }
        return self._peer.submit(self._thread, kind or self._kind, op, name=self._name, **fields)

    def _call(self, op: str, *, kind: str | None = None, **arguments: Any) -> Any:
        return self._begin(op, kind=kind, **arguments).result(CALL_TIMEOUT).value


class JavaLock(JavaObject):
    """An RLock."""

    def begin_lock(self, lease: float | None = None) -> Future[Answer]:
        return self._begin("lock", lease=lease)

    def lock(self, lease: float | None = None) -> Answer:
        return self.begin_lock(lease).result(CALL_TIMEOUT)

    def begin_try_lock(
        self, wait: float | None = None, lease: float | None = None
    ) -> Future[Answer]:
        return self._begin("tryLock", wait=wait, lease=lease)

    def try_lock(self, wait: float | None = None, lease: float | None = None) -> bool:
        return bool(self.begin_try_lock(wait, lease).result(CALL_TIMEOUT).value)

    def unlock(self) -> Answer:
        return self._begin("unlock").result(CALL_TIMEOUT)

    def force_unlock(self) -> bool:
        return bool(self._call("forceUnlock"))

    def is_locked(self) -> bool:
        return bool(self._call("isLocked"))

    def is_held_by_current_thread(self) -> bool:
        return bool(self._call("isHeldByCurrentThread"))

    def hold_count(self) -> int:
        return int(self._call("holdCount"))

    def remain_time_to_live(self) -> float:
        """Return the seconds left; negative milliseconds (none, without limit) stay as they are."""
        left: int = self._call("remainTimeToLive")
        return left if left < 0 else left / 1000

    def begin_soak(
        self, counter: str, *, seconds: float, pause: float, iterations: int = 1_000_000
    ) -> Future[Answer]:
        """Rounds of lock, counter + 1 by reading and writing, unlock; gives the rounds done."""
        fields = {"counter": counter, "iterations": iterations}
        return self._begin("soak", **fields, seconds=seconds, pause=pause)


class JavaFencedLock(JavaLock):
    """An RFencedLock."""

    def token(self) -> int:
        """Return the newest token of all clients, for any owner of the lock."""
        return int(self._call("getToken", kind="token"))

    def lock_and_get_token(self) -> int:
        return int(self._call("lockAndGetToken", kind="token"))

    def begin_try_lock_and_get_token(self, wait: float, lease: float) -> Future[Answer]:
        return self._begin("tryLockAndGetToken", kind="token", wait=wait, lease=lease)


class JavaSemaphore(JavaObject):
    """An RSemaphore."""

    def try_set_permits(self, permits: int) -> bool:
        return bool(self._call("trySetPermits", permits=permits))

    def begin_acquire(self, permits: int = 1) -> Future[Answer]:
        return self._begin("acquire", permits=permits)

    def try_acquire(self, permits: int = 1, wait: float | None = None) -> bool:
        return bool(self._call("tryAcquire", permits=permits, wait=wait))

    def release(self, permits: int = 1) -> Answer:
        return self._begin("release", permits=permits).result(CALL_TIMEOUT)

    def release_if_exists(self, permits: int = 1) -> bool:
        return bool(self._call("releaseIfExists", permits=permits))

    def available_permits(self) -> int:
        return int(self._call("availablePermits"))

    def drain_permits(self) -> int:
        return int(self._call("drainPermits"))

    def add_permits(self, permits: int) -> None:
        self._call("addPermits", permits=permits)

    def delete(self) -> bool:
        return bool(self._call("delete"))


class JavaPermitSemaphore(JavaObject):
    """An RPermitExpirableSemaphore."""

    def try_set_permits(self, permits: int) -> bool:
        return bool(self._call("trySetPermits", permits=permits))

    def begin_acquire(self, lease: float | None = None) -> Future[Answer]:
        """Wait for a permit; its id is the value of the answer."""
        return self._begin("acquire", lease=lease)

    def acquire(self, lease: float | None = None) -> str:
        return str(self.begin_acquire(lease).result(CALL_TIMEOUT).value)

    def begin_try_acquire(
        self, wait: float | None = None, lease: float | None = None
    ) -> Future[Answer]:
        return self._begin("tryAcquire", wait=wait, lease=lease)

    def try_acquire(self, wait: float | None = None, lease: float | None = None) -> str | None:
        permit: str | None = self.begin_try_acquire(wait, lease).result(CALL_TIMEOUT).value
        return permit

    def release(self, permit: str) -> Answer:
        return self._begin("release", permit=permit).result(CALL_TIMEOUT)

    def try_release(self, permit: str) -> bool:
        return bool(self._call("tryRelease", permit=permit))

    def begin_acquire_many(self, permits: int, lease: float) -> Future[Answer]:
        return self._begin("acquireMany", permits=permits, lease=lease)

    def acquire_many(self, permits: int, lease: float) -> list[str]:
        return list(self.begin_acquire_many(permits, lease).result(CALL_TIMEOUT).value)

    def try_acquire_many(self, permits: int, wait: float, lease: float) -> list[str]:
        return list(self._call("tryAcquireMany", permits=permits, wait=wait, lease=lease))

    def release_many(self, permits: list[str]) -> None:
        self._call("releaseMany", permit=",".join(permits))

    def set_permits(self, permits: int) -> None:
        self._call("setPermits", permits=permits)

    def permits(self) -> int:
        return int(self._call("getPermits"))

    def acquired_permits(self) -> int:
        return int(self._call("acquiredPermits"))

    def lease_time(self, permit: str) -> float:
        """Return the seconds left; negative milliseconds (it never expires) stay as they are."""
        left: int = self._call("getLeaseTime", permit=permit)
        return left if left < 0 else left / 1000

    def update_lease_time(self, permit: str, lease: float) -> bool:
        return bool(self._call("updateLeaseTime", permit=permit, lease=lease))

    def available_permits(self) -> int:
        return int(self._call("availablePermits"))

    def add_permits(self, permits: int) -> None:
        self._call("addPermits", permits=permits)

    def delete(self) -> bool:
        return bool(self._call("delete"))


class JavaLatch(JavaObject):
    """An RCountDownLatch."""

    def try_set_count(self, count: int) -> bool:
        return bool(self._call("trySetCount", count=count))

    def begin_await(self, wait: float) -> Future[Answer]:
        return self._begin("await", wait=wait)

    def await_(self, wait: float) -> bool:
        return bool(self.begin_await(wait).result(CALL_TIMEOUT).value)

    def count_down(self) -> Answer:
        return self._begin("countDown").result(CALL_TIMEOUT)

    def count(self) -> int:
        return int(self._call("getCount"))

    def delete(self) -> bool:
        return bool(self._call("delete"))


_MILLISECONDS = {"lease": "leaseMs", "wait": "waitMs", "seconds": "forMs", "pause": "pauseMs"}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
