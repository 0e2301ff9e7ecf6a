"""Locks in the place of redis-py's: ``r.lock("name", timeout=10, lock_class=Lock)``.

Constructor, methods, attributes and exceptions are those of ``redis.lock.Lock`` and of
``redis.asyncio.lock.Lock``. The keys are holdfast's: code that uses redis-py's locks and code that
uses these do **not** exclude each other; ``docs/guides/redis-py.md`` says how to change over.

With a ``timeout`` the token is all that a hold consists of, and any process that has it may
release or extend it. Without one the hold is renewed by the process that acquired it.

Needs the extra ``redis_py`` (redis 6.1 or newer).
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from redis import exceptions

import holdfast
import holdfast.asyncio
from holdfast.contrib import _redis_scripts
from holdfast.contrib._redis_attempts import NO_LOCK, Attempt, answered, begun, completed, is_busy
from holdfast.contrib._redis_clients import async_client_of, client_of
from holdfast.integration import About, owner_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator
    from types import TracebackType

    from typing_extensions import Self

    from holdfast.integration import Seconds

__all__ = ["AsyncLock", "Lock", "async_client_of", "client_of"]

#: The field of an owner in a lock's hash.
FIELD = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+")
#: The number of an owner that is known by its token: of a ticket, not of a thread, task or hold.
NUMBER = 2**53 - 1

logger = logging.getLogger(__name__)

#: The renewed holds of this process by client id, name and token, while a lock object has them.
_holds: WeakValueDictionary[tuple[str, bytes, bytes], Any] = WeakValueDictionary()


class _BaseLock:
    """The common part of both locks: everything except waiting."""

    #: ``token`` is that of this lock's hold, ``None`` while there is none. Set to that of another
    #: lock object of the name, of any process, it makes this object one that holds the lock.
    local: Any

    #: The scripts, registered by the first lock of a class. A subclass may have others: KEYS[1] is
    #: the lock's key, ARGV[1] the owner's field in its hash, ARGV[2] ms; the result is 1 or 0.
    lua_acquire: Any = None
    lua_release: Any = None
    lua_extend: Any = None
    lua_reacquire: Any = None

    LUA_ACQUIRE_SCRIPT = _redis_scripts.ACQUIRE
    LUA_RELEASE_SCRIPT = _redis_scripts.RELEASE
    LUA_EXTEND_SCRIPT = _redis_scripts.EXTEND  # ARGV[3]: "1" to replace the time, "0" to add
    LUA_REACQUIRE_SCRIPT = _redis_scripts.REACQUIRE
    LUA_MOVE_SCRIPT = _redis_scripts.MOVE
    lua_move: Any = None

    def __init__(  # noqa: PLR0917 - as redis-py has them
        self,
        redis: Any,
        name: Any,
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
        self._key = self._encoded(name)
        self._client: Any = self._client_of(redis)
        self._lock: Any = self._client.lock(self._key)
        self._server_key: bytes = self._client.name_prefix + self._key
        self.register_scripts()

    def _client_of(self, redis: Any) -> Any:
        raise NotImplementedError

    def register_scripts(self) -> None:
        """Register the scripts of the class, once."""
        cls = type(self)
        for step in ("acquire", "release", "extend", "reacquire", "move"):
            script, text = f"lua_{step}", f"LUA_{step.upper()}_SCRIPT"
            has_another = text in vars(cls) and script not in vars(cls)
            if getattr(cls, script) is None or has_another:
                setattr(cls, script, self.redis.register_script(getattr(cls, text)))

    def _encoded(self, value: Any) -> bytes:
        """A name or a token as redis-py sends it."""
        source = getattr(self.redis, "connection_pool", self.redis)  # a cluster has no pool
        return bytes(source.get_encoder().encode(value))

    def _milliseconds(self) -> int | None:
        """The ``timeout``; ``None``: renewed."""
        if not self.timeout:
            return None
        if self.timeout < 0:
            msg = f"{self.name!r} cannot be acquired: timeout must be positive, not {self.timeout}"
            raise exceptions.ResponseError(msg)  # with redis-py it is the server's
        return max(1, int(self.timeout * 1000))

    def _lease(self) -> float | None:
        ms = self._milliseconds()
        return None if ms is None else ms / 1000

    def _token(self) -> str | bytes | None:
        token: str | bytes | None = getattr(self.local, "token", None)
        return token

    def _hold_key(self, token: str | bytes) -> tuple[str, bytes, bytes]:
        return (self._client.id, self._key, self._encoded(token))

    def _field(self, token: str | bytes) -> bytes:
        """The owner's field for a token: of a renewed hold, else made from the token."""
        hold = _holds.get(self._hold_key(token))
        if hold is not None:
            return _field_of(self._client, hold)
        word = self._encoded(token)
        if FIELD.fullmatch(word):
            return word
        digest = uuid.uuid5(uuid.NAMESPACE_OID, word.hex())
        return f"{digest}:{NUMBER}".encode()

    def _given(self, token: str | bytes | None) -> bytes:
        return f"{uuid.uuid4()}:{NUMBER}".encode() if token is None else self._encoded(token)

    def _renews(self, hold: Any, token: bytes) -> Literal[True]:
        self.local.hold = _holds[self._hold_key(token)] = hold
        return True

    def _granted(self, token: bytes, *, given: bool) -> Literal[True]:
        """The token of a renewed hold is its field, which other processes know the hold by."""
        hold = _holds.get(self._hold_key(token))
        if hold is not None and not given:
            token = _field_of(self._client, hold)
            _holds[self._hold_key(token)] = hold
        self.local.token = token
        return True

    def _forgotten(self, token: str | bytes) -> Any:
        """The renewed hold of a token, which ends; ``None``: there is none."""
        hold = _holds.pop(self._hold_key(token), None)
        self.local.hold = None
        return hold

    def _known_token(self, what: str) -> str | bytes:
        token = self._token()
        if token is None:
            raise self._error(f"{self.name!r} cannot be {what}: it is not held by this lock object")
        return token

    def _limited(self, what: str) -> None:
        self._known_token(what)
        if self.timeout is None:
            raise self._error(f"{self.name!r} cannot be {what}: it has no timeout")

    def _extension(self, additional_time: Seconds, replace_ttl: bool) -> dict[str, Any]:
        token = self._known_token("extended")
        return self._by_token(token, int(additional_time * 1000), "1" if replace_ttl else "0")

    def _by_token(self, token: str | bytes, *arguments: Any) -> dict[str, Any]:
        return self._by_field(self._field(token), *arguments)

    def _by_field(self, *arguments: Any) -> dict[str, Any]:
        return {"keys": [self._server_key], "args": [*arguments], "client": self.redis}

    def _move(self, ticket: str, token: bytes, ms: int) -> dict[str, Any]:
        """From the ticket of a waiter's hold to the token."""
        return self._by_field(_field_of_ticket(ticket), self._field(token), ms)

    def _releases(self, ticket: str, token: bytes) -> list[dict[str, Any]]:
        """Of a ticket, whether or not it has been moved to the token."""
        return [self._by_field(_field_of_ticket(ticket)), self._by_token(token)]

    def _error(self, message: str) -> exceptions.LockError:
        return exceptions.LockError(message, lock_name=self.name)

    def _gone(self) -> exceptions.LockNotOwnedError:
        message = f"{self.name!r} is not held by this lock object any more"
        return exceptions.LockNotOwnedError(message, lock_name=self.name)

    def _not_acquired(self) -> exceptions.LockError:
        return self._error(f"{self.name!r} is held by another: it could not be acquired in time")

    def _log_release(self, error: exceptions.LockError) -> None:
        text = "%r was not held any more at the end of its block: %s"
        fields = About("release_failed", self.name, "lock").fields()
        logger.warning(text, self.name, error, extra=fields)

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


def _field_of(client: Any, hold: Any) -> bytes:
    return owner_of(client, hold).encode()


def _field_of_ticket(ticket: str) -> bytes:
    _, _, client_id, number, *_ = ticket.split(":")
    return f"{client_id}:{number}".encode()


class Lock(_BaseLock):
    """A lock in the place of ``redis.lock.Lock``.

    ``timeout``: seconds after which it is free; ``None``: it is renewed until ``release()`` instead
    of living for ever. ``blocking_timeout``: seconds to wait. Waiters are woken by messages;
    ``sleep`` (seconds) is used only while the key is one of redis-py's own locks, and where a
    subclass has another ``do_acquire``.
    """

    def _client_of(self, redis: Any) -> holdfast.Client:
        return client_of(redis)

    def acquire(
        self,
        sleep: Seconds | None = None,
        blocking: bool | None = None,
        blocking_timeout: Seconds | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` when it stays held by another for ``blocking_timeout``."""
        attempt = Attempt(self, sleep, blocking, blocking_timeout)
        word = self._given(token)
        while not self._tried(word, given=token is not None):
            if not attempt.goes_on():
                return False
            if self._waits_by_message() and self._wait(attempt, word):
                break
            if not attempt.may_sleep():
                return False
            time.sleep(attempt.pause)
        return self._granted(word, given=token is not None)

    def _tried(self, token: bytes, *, given: bool) -> bool:
        """As ``do_acquire``; an interrupt leaves nothing set for a token that was made here.

        A token that was given may have the lock since an earlier acquire.
        """
        try:
            return self.do_acquire(token)
        except Exception:
            raise
        except BaseException:
            if not given:
                with suppress(exceptions.RedisError):
                    self.lua_release(**self._by_token(token))
            raise

    def _waits_by_message(self) -> bool:
        return type(self).do_acquire is Lock.do_acquire

    def do_acquire(self, token: str | bytes) -> bool:
        """Try once to take the lock for a token."""
        ms = self._milliseconds()
        if ms is not None:
            return bool(self.lua_acquire(**self._by_token(token, ms)))
        hold = self._hold(0)
        return hold is not None and self._renews(hold, self._encoded(token))

    def _hold(self, wait: float | None) -> Any:
        """A hold; ``None`` while another has the lock."""
        with self._as_of_redis_py():
            try:
                return self._lock.hold(wait=wait, lease=self._lease())
            except holdfast.HoldfastError as error:
                if not is_busy(error):
                    raise
                return None

    def _wait(self, attempt: Attempt, token: bytes) -> bool:
        """Wait for the lock and take it; ``False``: it is busy."""
        hold = self._hold(attempt.left())
        ms = self._milliseconds()
        if hold is None or ms is None:
            return hold is not None and self._renews(hold, token)
        ticket = ""
        try:
            with self._as_of_redis_py():
                ticket = hold.detach(lease=ms / 1000)
            return bool(self.lua_move(**self._move(ticket, token, ms)))
        except exceptions.LockNotOwnedError:
            return False  # its lease is over already
        except BaseException:
            self._give_up(hold, ticket, token)
            raise

    def _give_up(self, hold: Any, ticket: str, token: bytes) -> None:
        """Free the lock of an acquire that fails, or is interrupted, when it has been granted."""
        with suppress(holdfast.HoldfastError, exceptions.RedisError):
            if not ticket:
                hold.release()
                return
            for arguments in self._releases(ticket, token):
                self.lua_release(**arguments)

    def locked(self) -> bool:
        """Whether anyone holds it."""
        return bool(self.redis.exists(self._server_key))

    def owned(self) -> bool:
        """Whether this lock object holds it, asked of the server."""
        token = self._token()
        try:
            return token is not None and bool(
                self.redis.hexists(self._server_key, self._field(token))
            )
        except exceptions.ResponseError:
            return False

    def release(self) -> None:
        """Free the lock.

        Raises ``LockError`` when this lock object holds nothing, ``LockNotOwnedError`` when its
        hold is gone.
        """
        expected_token = self._known_token("released")
        self.local.token = None
        self.do_release(expected_token)

    def do_release(self, expected_token: str | bytes) -> None:
        """Free the lock of a token."""
        arguments = self._by_token(expected_token)
        hold = self._forgotten(expected_token)
        if hold is not None:
            with self._as_of_redis_py():
                hold.release()
        elif not self.lua_release(**arguments):
            raise self._gone()

    def extend(self, additional_time: Seconds, replace_ttl: bool = False) -> Literal[True]:
        """Add seconds to the time that is left, or, with ``replace_ttl``, replace it.

        A result of zero or less ends the hold, as with redis-py.
        """
        self._limited("extended")
        return self.do_extend(additional_time, replace_ttl)

    def do_extend(self, additional_time: Seconds, replace_ttl: bool) -> Literal[True]:
        """Extend the hold of ``local.token``."""
        if not self.lua_extend(**self._extension(additional_time, replace_ttl)):
            raise self._gone()
        return True

    def reacquire(self) -> Literal[True]:
        """Set the time that is left to ``timeout`` again."""
        self._limited("reacquired")
        return self.do_reacquire()

    def do_reacquire(self) -> Literal[True]:
        """Set the time of the hold of ``local.token``."""
        token = self._known_token("reacquired")
        if not self.lua_reacquire(**self._by_token(token, self._milliseconds())):
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
    """A lock in the place of ``redis.asyncio.lock.Lock``, held by the owner of its token.

    ``timeout``: seconds after which it is free; ``None``: it is renewed until ``release()``.
    ``blocking_timeout``: seconds to wait. Waiters are woken by messages; ``sleep`` (seconds) is
    used only while the key is one of redis-py's own locks. A task that is cancelled while it waits
    holds nothing.
    """

    def _client_of(self, redis: Any) -> holdfast.asyncio.Client:
        return async_client_of(redis)

    async def acquire(
        self,
        blocking: bool | None = None,
        blocking_timeout: Seconds | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` when it stays held by another for ``blocking_timeout``."""
        attempt = Attempt(self, None, blocking, blocking_timeout)
        word = self._given(token)
        while not await self.do_acquire(word):
            if not attempt.goes_on():
                return False
            if self._waits_by_message() and await self._wait(attempt, word):
                break
            if not attempt.may_sleep():
                return False
            await asyncio.sleep(attempt.pause)
        return self._granted(word, given=token is not None)

    def _waits_by_message(self) -> bool:
        return type(self).do_acquire is AsyncLock.do_acquire

    async def do_acquire(self, token: str | bytes) -> bool:
        """Try once to take the lock for a token."""
        ms = self._milliseconds()
        if ms is not None:
            arguments = self._by_token(token)
            return await answered(
                self.lua_acquire(**self._by_token(token, ms)),
                lambda: self.lua_release(**arguments),
            )
        hold = await self._hold(0)
        return hold is not None and self._renews(hold, self._encoded(token))

    async def _hold(self, wait: float | None) -> Any:
        """A hold; ``None`` while another has the lock."""
        with self._as_of_redis_py():
            try:
                return await self._lock.hold(wait=wait, lease=self._lease())
            except holdfast.HoldfastError as error:
                if not is_busy(error):
                    raise
                return None

    async def _wait(self, attempt: Attempt, token: bytes) -> bool:
        """Wait for the lock and take it; ``False``: it is busy."""
        hold = await self._hold(attempt.left())
        ms = self._milliseconds()
        if hold is None or ms is None:
            return hold is not None and self._renews(hold, token)
        ticket = ""
        try:
            with self._as_of_redis_py():
                ticket = await hold.detach(lease=ms / 1000)
            return bool(await self.lua_move(**self._move(ticket, token, ms)))
        except exceptions.LockNotOwnedError:
            return False  # its lease is over already
        except BaseException:
            await completed(self._give_up(hold, ticket, token))
            raise

    async def _give_up(self, hold: Any, ticket: str, token: bytes) -> None:
        """Free the lock of an acquire that fails, or is cancelled, when it has been granted."""
        with suppress(holdfast.HoldfastError, exceptions.RedisError):
            if not ticket:
                await hold.release()
                return
            for arguments in self._releases(ticket, token):
                await self.lua_release(**arguments)

    async def locked(self) -> bool:
        """Whether anyone holds it."""
        return bool(await self.redis.exists(self._server_key))

    async def owned(self) -> bool:
        """Whether this lock object holds it, asked of the server."""
        token = self._token()
        if token is None:
            return False
        try:
            return bool(await self.redis.hexists(self._server_key, self._field(token)))
        except exceptions.ResponseError:
            return False

    async def release(self) -> None:
        """Free the lock; errors as those of ``Lock.release``. Once begun it is completed."""
        await begun(self._release(self._known_token("released")))

    async def _release(self, expected_token: str | bytes) -> None:
        try:
            await self.do_release(expected_token)
        except exceptions.LockNotOwnedError:
            self.local.token = None
            raise
        self.local.token = None

    async def do_release(self, expected_token: str | bytes) -> None:
        """Free the lock of a token."""
        hold = _holds.get(self._hold_key(expected_token))
        if hold is None:
            if not await self.lua_release(**self._by_token(expected_token)):
                raise self._gone()
            return
        try:
            with self._as_of_redis_py():
                await hold.release()
        except exceptions.LockNotOwnedError:
            self._forgotten(expected_token)
            raise
        self._forgotten(expected_token)

    def extend(
        self, additional_time: Seconds, replace_ttl: bool = False
    ) -> Awaitable[Literal[True]]:
        """Add seconds to the time that is left, or, with ``replace_ttl``, replace it.

        A result of zero or less ends the hold, as with redis-py.
        """
        self._limited("extended")
        return self.do_extend(additional_time, replace_ttl)

    async def do_extend(self, additional_time: Seconds, replace_ttl: bool) -> Literal[True]:
        """Extend the hold of ``local.token``."""
        if not await self.lua_extend(**self._extension(additional_time, replace_ttl)):
            raise self._gone()
        return True

    def reacquire(self) -> Awaitable[Literal[True]]:
        """Set the time that is left to ``timeout`` again."""
        self._limited("reacquired")
        return self.do_reacquire()

    async def do_reacquire(self) -> Literal[True]:
        """Set the time of the hold of ``local.token``."""
        token = self._known_token("reacquired")
        if not await self.lua_reacquire(**self._by_token(token, self._milliseconds())):
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
