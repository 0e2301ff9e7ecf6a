"""Locks in the place of redis-py's: ``r.lock("name", timeout=10, lock_class=Lock)``.

Constructor, methods, attributes and exceptions are those of ``redis.lock.Lock`` and of
``redis.asyncio.lock.Lock``. The keys are holdfast's: code that uses redis-py's locks and code that
uses these do **not** exclude each other; ``docs/guides/redis-py.md`` says how to change over.

Needs the extra ``redis_py`` (redis 6.1 or newer).
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
import uuid
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from redis import exceptions

import holdfast
import holdfast.asyncio
from holdfast._errors import is_busy
from holdfast.asyncio._loop import request
from holdfast.contrib._redis_clients import async_client_of, client_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from typing_extensions import Self

    from holdfast._arguments import Seconds

__all__ = ["AsyncLock", "Lock", "async_client_of", "client_of"]

#: The server's error for a key that is not a lock of holdfast: redis-py's are strings.
NO_LOCK = "WRONGTYPE"

logger = logging.getLogger(__name__)


#: The holds of this process by client id, name and token, while a lock object has them.
_holds: WeakValueDictionary[tuple[str, str, bytes], Any] = WeakValueDictionary()


class _BaseLock:
    """The common part of both locks: everything except waiting."""

    #: ``token`` is that of this lock's hold, ``None`` while there is none. Set to that of another
    #: lock object of the name and the process, it passes the hold on.
    local: Any

    def __init__(  # noqa: PLR0917 - as redis-py has them
        self,
        redis: Any,
        name: str,
        timeout: float | None = None,
        sleep: float = 0.1,
        blocking: bool = True,
        blocking_timeout: float | None = None,
        thread_local: bool = True,
        raise_on_release_error: bool = True,
    ) -> None:
        self.redis = redis
        self.name = name
        self.timeout = timeout
        self.sleep = sleep
        self.blocking = blocking
        self.blocking_timeout = blocking_timeout
        self.thread_local = bool(thread_local)
        self.raise_on_release_error = raise_on_release_error
        self.local = threading.local() if self.thread_local else SimpleNamespace()
        self.local.token = None
        self._lock: Any = self._new_lock()

    def _new_lock(self) -> Any:
        raise NotImplementedError

    def _lease(self) -> float | None:
        if self.timeout and self.timeout < 0:
            msg = f"{self.name!r} cannot be acquired: timeout must be positive, not {self.timeout}"
            raise exceptions.ResponseError(msg)  # with redis-py it is the server's
        return max(self.timeout, 0.001) if self.timeout else None

    def _token_of(self, token: str | bytes | None) -> bytes:
        if token is None:
            return uuid.uuid4().hex.encode()
        return token if isinstance(token, bytes) else token.encode()

    def _key(self, token: str | bytes) -> tuple[str, str, bytes]:
        return (self._lock._client.id, str(self.name), self._token_of(token))

    def _granted(self, hold: Any, token: bytes) -> Literal[True]:
        self.local.hold = _holds[self._key(token)] = hold
        self.local.token = token
        return True

    def _hold(self) -> Any:
        """The hold with the caller's token, or ``None``."""
        token = self._token()
        return None if token is None else _holds.get(self._key(token))

    def _token(self) -> str | bytes | None:
        token: str | bytes | None = getattr(self.local, "token", None)
        return token

    def _forget(self) -> None:
        self.local.token = self.local.hold = None

    def _required(self, what: str) -> Any:
        if self._token() is None:
            raise self._error(f"{self.name!r} cannot be {what}: it is not held by this lock object")
        hold = self._hold()
        if hold is None:
            raise self._gone()
        return hold

    def _limited(self, what: str) -> Any:
        hold = self._required(what)
        if self.timeout is None:
            raise self._error(f"{self.name!r} cannot be {what}: it has no timeout")
        return hold

    def _error(self, message: str) -> exceptions.LockError:
        return exceptions.LockError(message, lock_name=self.name)

    def _gone(self) -> exceptions.LockNotOwnedError:
        message = f"{self.name!r} is not held by this lock object any more"
        return exceptions.LockNotOwnedError(message, lock_name=self.name)

    def _not_acquired(self) -> exceptions.LockError:
        return self._error(f"{self.name!r} is held by another: it could not be acquired in time")

    def _log_release(self, error: exceptions.LockError) -> None:
        logger.warning("%r was not held any more at the end of its block: %s", self.name, error)

    @contextmanager
    def _as_of_redis_py(self) -> Generator[None]:
        """Raise redis-py's exceptions in place of holdfast's."""
        try:
            yield
        except holdfast.NotOwnedError as error:
            raise self._gone() from error
        except holdfast.ServerError as error:
            if error.code == NO_LOCK:
                raise self._gone() from error
            raise exceptions.ResponseError(str(error)) from error
        except holdfast.LockTimeout as error:  # the server refused to work
            raise exceptions.ResponseError(str(error)) from error
        except holdfast.ConnectionError as error:
            raise exceptions.ConnectionError(str(error)) from error


class _Attempt:
    """One call of ``acquire``: its deadline, and its handling of errors."""

    def __init__(self, lock: _BaseLock, blocking: bool | None, timeout: Seconds | None) -> None:
        timeout = lock.blocking_timeout if timeout is None else timeout
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        if not (lock.blocking if blocking is None else blocking):
            self._deadline = -math.inf
        self._lease = lock._lease()

    def options(self) -> dict[str, Any]:
        """For ``hold()``: the time that is left, and the lease."""
        left = self._deadline - time.monotonic()
        return {"wait": None if left == math.inf else max(left, 0.0), "lease": self._lease}

    def goes_on_after(self, error: holdfast.HoldfastError, pause: Seconds) -> bool:
        """Whether to try again after `pause`; ``False``: the lock is busy. Else raises `error`.

        A key that is one of redis-py's locks is busy, and no message says when it is free.
        """
        if isinstance(error, holdfast.LockTimeout) and is_busy(error):
            return False
        if not isinstance(error, holdfast.ServerError) or error.code != NO_LOCK:
            raise error
        return time.monotonic() + pause <= self._deadline


class Lock(_BaseLock):
    """A lock in the place of ``redis.lock.Lock``.

    ``timeout=None`` is renewed until ``release()`` instead of living for ever. Waiters are woken by
    messages; ``sleep`` is used only while the key is one of redis-py's own locks.
    """

    def _new_lock(self) -> holdfast.Lock:
        return client_of(self.redis).lock(self.name)

    def acquire(
        self,
        sleep: Seconds | None = None,
        blocking: bool | None = None,
        blocking_timeout: Seconds | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` when it stays held by another for ``blocking_timeout``."""
        pause = self.sleep if sleep is None else sleep
        attempt = _Attempt(self, blocking, blocking_timeout)
        word = self._token_of(token)
        with self._as_of_redis_py():
            while True:
                try:
                    return self._granted(self._lock.hold(**attempt.options()), word)
                except holdfast.HoldfastError as error:
                    if not attempt.goes_on_after(error, pause):
                        return False
                time.sleep(pause)

    def locked(self) -> bool:
        """Whether anyone holds it."""
        try:
            with self._as_of_redis_py():
                held: bool = self._lock.locked()
                return held
        except exceptions.LockNotOwnedError:
            return True  # the key is one of redis-py's locks

    def owned(self) -> bool:
        """Whether this lock object holds it, asked of the server."""
        hold = self._hold()
        try:
            with self._as_of_redis_py():
                return hold is not None and (hold._core.hold_count(hold._owner) or 0) > 0
        except exceptions.LockNotOwnedError:
            return False

    def release(self) -> None:
        """Free the lock.

        Raises ``LockError`` when this lock object holds nothing, ``LockNotOwnedError`` when its
        hold is gone.
        """
        try:
            hold = self._required("released")
            with self._as_of_redis_py():
                hold.release()
        except exceptions.LockNotOwnedError:
            self._forget()
            raise
        self._forget()

    def extend(self, additional_time: Seconds, replace_ttl: bool = False) -> Literal[True]:
        """Add seconds to the time that is left, or, with ``replace_ttl``, replace it.

        A result of zero or less ends the hold, as with redis-py.
        """
        hold = self._limited("extended")
        with self._as_of_redis_py():
            left = 0.0 if replace_ttl else self._lock.ttl()
            if left is None:
                raise self._gone()
            if left + additional_time <= 0:
                hold.release()
            elif not hold.extend(left + additional_time):
                raise self._gone()
        return True

    def reacquire(self) -> Literal[True]:
        """Set the time that is left to ``timeout`` again."""
        hold = self._limited("reacquired")
        with self._as_of_redis_py():
            if not hold.extend(self._lease()):
                raise self._gone()
        return True

    def __enter__(self) -> Self:
        if not self.acquire():
            raise self._not_acquired()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.release()
        except exceptions.LockError as error:
            if self.raise_on_release_error:
                raise
            self._log_release(error)


class AsyncLock(_BaseLock):
    """A lock in the place of ``redis.asyncio.lock.Lock``; otherwise as ``Lock``."""

    def _new_lock(self) -> holdfast.asyncio.Lock:
        return async_client_of(self.redis).lock(self.name)

    async def acquire(
        self,
        blocking: bool | None = None,
        blocking_timeout: Seconds | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` when it stays held by another for ``blocking_timeout``."""
        attempt = _Attempt(self, blocking, blocking_timeout)
        word = self._token_of(token)
        with self._as_of_redis_py():
            while True:
                try:
                    return self._granted(await self._lock.hold(**attempt.options()), word)
                except holdfast.HoldfastError as error:
                    if not attempt.goes_on_after(error, self.sleep):
                        return False
                await asyncio.sleep(self.sleep)

    async def locked(self) -> bool:
        """Whether anyone holds it."""
        try:
            with self._as_of_redis_py():
                held: bool = await self._lock.locked()
                return held
        except exceptions.LockNotOwnedError:
            return True  # the key is one of redis-py's locks

    async def owned(self) -> bool:
        """Whether this lock object holds it, asked of the server."""
        hold = self._hold()
        if hold is None:
            return False
        try:
            with self._as_of_redis_py():
                return (await request(hold._core.start_hold_count, hold._owner) or 0) > 0
        except exceptions.LockNotOwnedError:
            return False

    async def release(self) -> None:
        """Free the lock; errors as those of ``Lock.release``. Once begun it is completed."""
        try:
            hold = self._required("released")
            with self._as_of_redis_py():
                await hold.release()
        except exceptions.LockNotOwnedError:
            self._forget()
            raise
        self._forget()

    async def extend(self, additional_time: Seconds, replace_ttl: bool = False) -> Literal[True]:
        """Add seconds to the time that is left, or, with ``replace_ttl``, replace it.

        A result of zero or less ends the hold, as with redis-py.
        """
        hold = self._limited("extended")
        with self._as_of_redis_py():
            left = 0.0 if replace_ttl else await self._lock.ttl()
            if left is None:
                raise self._gone()
            if left + additional_time <= 0:
                await hold.release()
            elif not await hold.extend(left + additional_time):
                raise self._gone()
        return True

    async def reacquire(self) -> Literal[True]:
        """Set the time that is left to ``timeout`` again."""
        hold = self._limited("reacquired")
        with self._as_of_redis_py():
            if not await hold.extend(self._lease()):
                raise self._gone()
        return True

    async def __aenter__(self) -> Self:
        if not await self.acquire():
            raise self._not_acquired()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.release()
        except exceptions.LockError as error:
            if self.raise_on_release_error:
                raise
            self._log_release(error)
