"""The reentrant lock for tasks, with its owner a task; and a hold of it as an object."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import ref

from holdfast import _core
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    LeaseTime,
    MinimumLockOptions,
    Name,
    Seconds,
    Self,
    Unpack,
    Unset,
    checked_flag,
    checked_label,
    checked_timeout,
    instead_of,
    milliseconds,
)
from holdfast._engine.errors import HoldfastError, LockLostError, NotOwnedError, quoted
from holdfast._engine.events import Loss
from holdfast._engine.process import NO_OWNER, AnyClient
from holdfast._locks.base import BaseLock, Watcher, native, seconds_left
from holdfast._locks.lock import BaseHold, HoldWatching, checked
from holdfast._locks.steps import time_over
from holdfast._locks.task_steps import Block, drive, end_block, request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import ParamSpec, TypeVar

    from holdfast._engine.process import Term
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder

    P = ParamSpec("P")
    R = TypeVar("R")
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import


class TaskWatcher(Watcher):
    """A task that holds a lock. Used on its loop's thread, except ``_hold_lost``.

    It keeps neither alive: a loop that is collected with unfinished tasks has lost its locks.
    """

    __slots__ = ("_call", "_depth", "_term", "reason")

    def __init__(self, lock: Lock) -> None:
        self._call = lock._client._loops.caller()
        self.reason: str | None = None  # of the loss
        self._depth = 0  # how many `async with` blocks with `cancel_on_lost` it is inside
        self._term: Term | None = None  # of the first of them
        super().__init__(lock)

    def enter_body(self) -> None:
        if self._term is None:
            self._term = self.lock._client._loops.Term()
        self._depth += 1

    def leave_body(self, exc: BaseException | None) -> BaseException | None:
        """What of its error the loss of the hold has not caused; undoes that cancellation."""
        self._depth -= 1
        term = self._term
        if self._depth or term is None:
            return exc
        self._term = None
        return term.end(exc)

    def owner_ends(self, owner: int) -> None:
        """The task is done: the lock drops it, but still reports a hold that it leaves behind."""
        lock = self.lock
        if lock._watchers.get(owner) is not self:
            return  # of a release whose end is to be reported
        del lock._watchers[owner]
        if not lock._core.known_count(owner) and not lock._core.known_lost(owner):
            self.forget()  # released by another lock object

    def loss(self) -> LockLostError:
        known = self.lock.loss  # of which more may be known by now
        return LockLostError(
            f"the hold on {quoted(self.lock.name)} was lost: {known or self.reason}"
        )

    def _hold_lost(self, reason: str) -> None:
        self._call(self._context, self._report_loss, self._loss(reason))

    def _report_loss(self, loss: Loss) -> None:
        self.reason = loss.reason
        if self._term is not None and not self.lost_late:
            self._term.cancel()
        self.lock._client._loops.call_on_loop(partial(self._report, loss), self.lock)


class Lock(BaseLock, _core.TaskLock):
    """A reentrant lock, held by a task and shared by all processes that use its name.

    Made by ``client.lock(name)``. All lock objects of one name and client share the holds of a
    task. With ``cancel_on_lost`` the loss of a hold cancels its owner inside ``async with``, which
    then raises ``LockLostError``.
    """

    __slots__ = ("_bodies", "_cancel_on_lost")

    _owner_word = "task"

    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate a coroutine function: each call runs inside ``async with lock:``.

        Raises ``TypeError`` for any other function.
        """
        from holdfast._locks.decorators import async_decorated

        return async_decorated(self, function)

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        cancel_on_lost: bool = False,
        **options: Unpack[MinimumLockOptions],
    ) -> None:
        self._cancel_on_lost = bool(cancel_on_lost)
        super().__init__(client, name, **options)
        if self._cancel_on_lost:
            self._watchers = {}
            # The watchers that cancel a task, by owner: one for each `async with` it is inside.
            self._bodies: dict[int, list[TaskWatcher]] = {}

    def _owner(self) -> int:
        return self._client._loops.owner_of_this_task()

    def _known_owner(self) -> int | None:
        owner = self._owner()
        return None if owner == NO_OWNER else owner

    def _bind_core(self, core: _core.Lockable) -> None:
        watched = self._wants_watcher() or not self._client._native
        how = watched, self._may_wait_for_itself, self._defers()
        self._bind(core, self._lease, self._wait, *how)

    def _wants_watcher(self) -> bool:
        return self._cancel_on_lost or self._on_lost is not None

    def _new_watcher(self) -> TaskWatcher:
        return TaskWatcher(self)

    @instead_of(ACQUIRE_KEYWORDS, default=_core.TaskLock._acquire)
    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> bool:
        """Take the lock, or one more hold of it, for the current task; ``True`` if acquired.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; -1 or ``None`` waits
        without limit. ``lease``: how long the hold lasts without being renewed, in seconds;
        ``None``: it is renewed; by default the lock's own. ``label``: what the hold is for, instead
        of the lock's ``label``. A task that is cancelled while it waits leaves nothing behind.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out; ``ServerError`` when it refuses; ``LockLostError`` when earlier holds of
        the task turn out to be gone.
        """
        seconds = checked_timeout(blocking, timeout)
        given = self._lease if lease is UNSET else self._lease_of(lease)
        if label is not None:
            said = checked_label(label)
            return await self._acquire_watched(bool(blocking), seconds, given, label=said)
        return await self._acquire(bool(blocking), seconds, given)

    @native(_core.TaskLock.__aenter__)
    async def __aenter__(self) -> Self:
        """Acquire the lock; it waits for ``wait`` seconds, then raises ``LockTimeout``."""
        raise NotImplementedError

    @native(_core.TaskLock.__aexit__)
    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Release the lock.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """

    async def _acquire_watched(
        self,
        blocking: bool = True,
        seconds: float = -1,
        lease: LeaseTime | None = None,
        *,
        block: bool = False,
        label: str | None = None,
    ) -> bool:
        """Acquire the lock with a watcher of the hold, if one is wanted.

        ``block``: for ``async with``; ``label``: instead of the lock's.
        """
        lease = lease or self._lease
        loop = self._client._loops.bridge()
        owner = loop.owner()
        if self._may_wait_for_itself:
            self._refuse_upgrade()
        granted: bool = False
        watcher = self._watch()
        if isinstance(watcher, TaskWatcher):
            loop.add_watcher(owner, watcher)
        listener = watcher.number if watcher else 0
        try:
            begin = self._core.begin_block if block else self._core.acquire
            what = (owner, blocking, seconds, lease.ms, lease.renewed, listener)
            granted = await loop.start(begin(*what, label))
        finally:
            if watcher is not None:
                self._attempted(watcher, granted)
        return granted

    async def release(self, *, wait: bool = True) -> None:
        """Release one hold; the last release frees the lock. Cancelling the task does not stop it.

        ``wait=False``: a last release returns once the command is written. What only the server
        knows then, the loss of the hold, is reported to ``on_lost`` and the log, and cancels
        nothing.

        Raises ``NotOwnedError`` when the task holds none, ``LockLostError`` (once) when it held one
        that is gone, ``ConnectionError`` when the server is out of reach: then the release goes on
        in the background until the lease is over, and may be called again.
        """
        if wait is not True and not checked_flag("wait", wait):
            self._check_deferring("wait=False")
        await self._release(not wait)

    async def _release_watched(self, deferred: bool, *, block: bool = False) -> None:
        loops, core = self._client._loops, self._core
        loop = loops.bridge()
        owner = loop.known_owner()
        done = 0
        try:
            if block:
                await loop.start(core.end_block(owner, deferred))
            elif deferred:
                await loop.start(core.release_deferred(owner))
            else:
                await loop.start(core.release(owner, False))
            done = 1
        except LockLostError:
            self._leave_watcher()
            raise
        except NotOwnedError:
            raise self._not_owned(block) from None
        except loops.CANCELLED:
            done = 1
            raise
        finally:
            if self._watchers:
                self._gave_back(done, deferred and done > 0)

    async def _enter_watched(self) -> Self:
        """Carry out ``__aenter__``."""
        if not await self._acquire_watched(True, self._wait, self._lease, block=True):
            await self._raise_timed_out()
        if self._cancel_on_lost:
            await self._enter_body()
        return self

    async def _raise_timed_out(self, seconds: float | None = None) -> None:
        """Raise ``LockTimeout``, with who holds the lock, if the server answers at once."""
        found: list[Holder] = []
        with suppress(HoldfastError):  # the time-out is what matters
            found = await drive(self._client, self._holders(time_over(self._client._core)))
        raise self._timeout(seconds, found)

    async def _enter_body(self) -> None:
        owner = self._owner()
        watcher = self._watchers[owner]
        assert isinstance(watcher, TaskWatcher)
        if watcher.reason is not None:  # lost while the grant was on its way to the task
            raise await self._loss_of_block(watcher)
        watcher.enter_body()
        self._bodies.setdefault(owner, []).append(watcher)

    async def _loss_of_block(self, watcher: TaskWatcher) -> LockLostError:
        """End the block of a hold that is known to be lost; its error."""
        try:
            await self._release_watched(False, block=True)
        except LockLostError as error:
            return error
        except HoldfastError:
            pass
        return watcher.loss()

    def _leave_body(self) -> TaskWatcher | None:
        owner = self._owner()
        bodies = self._bodies.get(owner)
        if not bodies:
            return None  # a collected coroutine leaves the block outside of its task
        watcher = bodies.pop()
        if not bodies:
            del self._bodies[owner]
        return watcher

    def _exit_watched(
        self, _type: object, exc: BaseException | None, _traceback: object
    ) -> Coroutine[Any, Any, None]:
        """Carry out ``__aexit__``; for Ctrl-C no coroutine function, as ``Block.__aexit__``."""
        return self._end_watched(exc)

    async def _end_watched(self, exc: BaseException | None) -> None:
        rest = exc
        if self._cancel_on_lost and (watcher := self._leave_body()) is not None:
            rest = watcher.leave_body(exc)
            if exc is not None and rest is None:
                raise await self._loss_of_block(watcher) from exc
        await end_block(self, self._release_watched(self._defers(), block=True), rest)
        if rest is not None and rest is not exc:
            raise rest  # of a group of errors, what the loss has not caused

    # Made by tools/tasks.py

    async def locked(self) -> bool:
        """Whether any owner holds it, according to the server."""
        return await request(self._client, self._core.locked()) > 0

    async def owned(self) -> bool:
        """Whether the current task holds it, according to the server."""
        return await self.hold_count() > 0

    async def hold_count(self) -> int:
        """The holds of the current task, according to the server."""
        return await request(self._client, self._core.hold_count(self._owner())) or 0

    async def ttl(self) -> float | None:
        """Seconds left on the server; ``None`` if it is free; infinite if it has no expiry."""
        return seconds_left(await request(self._client, self._core.ttl()))

    async def holders(self) -> list[late.Holder]:
        """Who holds it, according to the server, with what their clients say of themselves.

        Of a read-write lock both sides; of a lock made of locks the owners of its members.
        """
        return await drive(self._client, self._holders())

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held.

        Raises ``ConnectionError`` when the server is out of reach, ``TypeError`` or ``ValueError``
        for a lease that is not a positive number of seconds.
        """
        ms = milliseconds("lease", lease)
        return (
            await request(self._client, self._core.extend(self._owner(), ms)) == 1 and not self.lost
        )

    async def force_release(self) -> bool:
        """Free the lock, regardless of its owner; ``True`` if it was held. Waiters wake.

        Raises ``ServerError`` if the key is no lock; it stays. ``holdfast.inspect.force_release()``
        also records who did it.
        """
        return await request(self._client, self._core.force_release(self._owner())) == 1

    async def hold(
        self,
        *,
        wait: Seconds | Unset | None = UNSET,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> Hold:
        """Take the lock for a ``Hold``: an object that any task may use and release.

        ``wait``: seconds to wait for it, 0 not to wait, ``None`` without limit; ``lease``: as of
        ``acquire``; ``label``: what it is for; all default to the lock's. Another hold of the lock
        waits for this one, in the same task too. A task that is cancelled while it waits leaves
        nothing behind.

        Raises ``LockTimeout`` when the lock stays busy for ``wait``, or the server refuses to work
        until then (``__cause__`` is its error); ``ServerError`` when it refuses, and ``wait`` is 0
        or ``None``; ``ConnectionError`` when no server answers within ``wait`` and the command
        time-out.
        """
        return await take_hold(self, wait, lease, label)


# Made by tools/tasks.py: TaskHoldWatcher


class TaskHoldWatcher(HoldWatching, TaskWatcher):
    """Calls ``on_lost`` for the holds of tasks, on the loop that acquired them."""

    __slots__ = ("_hold",)

    def __init__(self, hold: Hold) -> None:
        self._hold = ref(hold)
        super().__init__(hold.lock)


# By hand:


class Hold(BaseHold, Block):
    """One acquisition of a lock as an object, which any task of the loop may use and end.

    Made by ``await lock.hold()``. It belongs to no task, is not reentrant, and shares nothing with
    the holds of tasks: another hold of the lock waits for it, in the same task too. ``async with
    hold:`` releases it at the end. A hold that is garbage-collected before its release is no longer
    renewed and expires with its lease; a ``ResourceWarning`` names it. In a child of ``fork()`` it
    is not held.
    """

    __slots__ = ("_claimed",)

    lock: Lock

    def __init__(self, lock: Lock) -> None:
        super().__init__(lock)
        self._claimed = False

    @property
    def _client(self) -> AnyClient:
        return self.lock._client

    def _claim(self) -> None:
        if self._claimed:
            raise self._ended_before()
        self._claimed = True

    def _unclaim(self) -> None:
        self._claimed = False

    async def release(self) -> None:
        """Free the lock. Cancelling the task does not stop it.

        Raises ``NotOwnedError`` when it has been released or detached before, ``LockLostError``
        (once) when the hold was lost, ``ConnectionError`` when the server cannot be reached: then
        the release goes on in the background until the lease is over, and may be called again.
        """
        self._claim()
        try:
            await request(self._client, self._core.release(self._owner, True))
        except NotOwnedError:
            raise
        except self._client._loops.CANCELLED:
            self._unwatch()
            raise
        except BaseException:
            self._unclaim()
            raise
        self._unwatch()

    async def __aenter__(self) -> Self:
        return self  # no checkpoint: a cancellation would leave the hold behind

    async def _at_end(self) -> None:
        if not self._detached:  # in a child of fork() the hold is its parent's
            await self.release()

    # Made by tools/tasks.py, with _new_watcher

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held.

        Raises ``ConnectionError`` when the server is out of reach, ``TypeError`` or ``ValueError``
        for a lease that is not a positive number of seconds. After a ``detach`` that failed it is
        ``False``.
        """
        ms = milliseconds("lease", lease)
        if self._detaching:
            await self._client._loops.checkpoint()
            return False
        return (
            await request(self._client, self._core.extend(self._owner, ms)) == 1 and not self.lost
        )

    async def detach(self, lease: Seconds = 30.0) -> str:
        """End the hold here without releasing it, and return the ticket that continues it.

        The lock stays held on the server for ``lease`` seconds from now, without renewal, for the
        process that calls ``client.attach(ticket)``. The ticket is printable ASCII.

        Raises ``TypeError`` for a hold of a spin, read, multi or red lock, ``NotOwnedError`` when
        it was released or detached before, ``LockLostError`` when it was lost; ``ConnectionError``
        when the server is out of reach: then, and after a cancellation, the hold is not renewed any
        more, and ends with the shorter of its lease and the ticket's unless it is released, or
        detached again.
        """
        core, ms = self._passed_on(), milliseconds("lease", lease)
        self._claim()
        self._detaching = True
        try:
            await request(self._client, core.detach(self._owner, ms))
            ticket = self._ticket(core)
            if not ticket:
                await request(
                    self._client, core.release(self._owner, True)
                )  # raises with the reason of the loss
            return ticket
        except NotOwnedError:
            raise
        except BaseException:
            self._unclaim()
            raise

    def _new_watcher(self) -> TaskHoldWatcher:
        return TaskHoldWatcher(self)


# Made by tools/tasks.py: take_hold, acquire_for, attach


async def take_hold(
    lock: Lock,
    wait: Seconds | Unset | None = UNSET,
    lease: Seconds | Unset | None = UNSET,
    label: str | None = None,
) -> Hold:
    """Carry out ``lock.hold()``.

    The object is made before the grant. When a signal handler raises between the grant and the
    caller's assignment, the object is collected and its hold is no longer renewed.
    """
    hold = Hold(lock)
    try:
        await acquire_for(hold, wait, lease, label)
        return hold
    except BaseException:
        # The traceback keeps the object alive for as long as the error is referenced.
        with suppress(ResourceWarning):
            hold._abandon()
        raise


async def acquire_for(
    hold: Hold,
    wait: Seconds | Unset | None = UNSET,
    lease: Seconds | Unset | None = UNSET,
    label: str | None = None,
) -> None:
    """Acquire the lock for a hold object; raises ``LockTimeout``."""
    lock = hold.lock
    seconds, (ms, renewed) = checked(lock, wait, lease)
    how = (hold._owner, True, seconds, ms, renewed, hold._listener())
    if not await request(hold._client, hold._core.acquire(*how, checked_label(label))):
        await lock._raise_timed_out(max(seconds, 0.0))


async def attach(client: AnyClient, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Hold:
    """Carry out ``client.attach()``; when interrupted, return the hold to the ticket."""
    from holdfast._locks.tickets import forced_ticket, lock_of

    lock = lock_of(client, ticket, lease, on_lost, name)
    core, (ms, renewed) = lock._core, lock._lease
    hold = Hold(lock)
    try:
        await request(client, core.attach(ticket, hold._owner, ms, renewed, hold._listener()))
        return hold
    except BaseException as error:
        core.give_back(ticket, hold._owner)
        hold._unwatch()
        if isinstance(error, NotOwnedError):
            raise await drive(client, forced_ticket(client, ticket, error)) from None
        raise
