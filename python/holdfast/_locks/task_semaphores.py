"""The semaphores and the count-down latch for tasks, the twins of those for threads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast import _core
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    UNSET,
    Late,
    LeaseTime,
    Seconds,
    Self,
    Unset,
    checked_count,
    checked_label,
    checked_timeout,
    instead_of,
    milliseconds,
    refuse_deferring,
)
from holdfast._engine.errors import HoldfastError, LockTimeout, LostPermit, NotOwnedError
from holdfast._engine.process import AnyClient
from holdfast._locks.base import Permits, seconds_left
from holdfast._locks.permit_semaphore import (
    BasePermitSemaphore,
    Granting,
    PermitReporter,
    checked_many,
    checked_permit,
    checked_permits,
)
from holdfast._locks.semaphores import BaseCountDownLatch, BaseSemaphore
from holdfast._locks.steps import time_of
from holdfast._locks.task_steps import Block, drive, request

if TYPE_CHECKING:
    from holdfast._locks import holders as late
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

T = TypeVar("T")


# Made by tools/tasks.py: TaskPermits


class TaskPermits(Permits):
    """The common part of the two semaphores for tasks."""

    __slots__ = ()

    async def _timed_out(self) -> LockTimeout:
        return await drive(self._client, self._none_free())

    async def _check_number(self) -> None:
        if self._number_checked:
            return
        with suppress(HoldfastError):  # the time-out is what matters
            self._warn_unless(await request(self._client, self._core.late_value()) is not None)


# By hand:


class Semaphore(BaseSemaphore, TaskPermits, Block):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``. Permits have no owner: any task, thread or process may
    release them, and those of a program that was killed stay taken.
    """

    __slots__ = ("_entered",)

    def _bind_core(self) -> None:
        #: The process, and how many blocks it has entered and not left: a child of fork() must not
        #: release what its parent has taken.
        self._entered: tuple[int, int] = (0, 0)

    async def _acquire(self, permits: int, blocking: bool, seconds: float) -> bool:
        granted: bool = await request(self._client, self._core.acquire(permits, blocking, seconds))
        if blocking and not granted:
            await self._check_number()
        return granted

    async def _release(self, n: int) -> None:
        await request(self._client, self._core.call("release", n))

    async def __aenter__(self) -> Self:
        if not await request(self._client, self._core.acquire(1, True, self._wait)):
            raise await self._timed_out()
        epoch, blocks = self._entered
        now = _core.epoch()
        self._entered = (now, blocks + 1 if epoch == now else 1)
        return self

    async def _at_end(self) -> None:
        epoch, blocks = self._entered
        if epoch != _core.epoch() or blocks == 0:
            raise self._not_entered()
        self._entered = (epoch, blocks - 1)
        await self.release()

    # Made by tools/tasks.py

    async def try_set_permits(self, n: int) -> bool:
        """Create the semaphore with ``n`` permits; ``False`` if it exists with any number."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(
                count, await request(self._client, self._core.call("try_set_permits", count))
            )

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> bool:
        """Take ``permits`` at once, all or none; ``True`` if they were taken.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. A request for many may be overtaken by requests for fewer. A task that is
        cancelled while it waits has taken nothing.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out, ``ServerError`` when it refuses; then nothing was taken.
        """
        seconds = checked_timeout(blocking, timeout)
        return await self._acquire(checked_count("permits", permits), bool(blocking), seconds)

    async def release(self, n: int = 1, *, wait: bool = True) -> None:
        """Release ``n`` permits; waiters wake. Cancelling the task does not stop it.

        Raises ``TypeError`` or ``ValueError`` for a bad ``n``; ``ConnectionError`` when the server
        is out of reach: then it goes on in the background for twice the command time-out. Do not
        call it again: it would count twice.
        """
        refuse_deferring("Semaphore", wait)
        await self._release(checked_count("n", n))

    async def release_if_exists(self, n: int = 1) -> bool:
        """Release ``n`` permits as ``release``; ``False``, and no change, if none were ever set."""
        return (
            await request(self._client, self._core.call("release_if_exists", checked_count("n", n)))
            == 1
        )

    async def available_permits(self) -> int:
        """The number of free permits; negative when more were removed than were free."""
        return await request(self._client, self._core.value()) or 0

    async def drain_permits(self) -> int:
        """Take all free permits and return their number."""
        return await request(self._client, self._core.call("drain_permits", 0))

    async def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            await request(self._client, self._core.call("add_permits", count))

    async def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it did not exist.

        Waiters go on waiting until permits are set again.
        """
        return await request(self._client, self._core.call("delete", 0)) == 1


# Made by tools/tasks.py: CountDownLatch


class CountDownLatch(BaseCountDownLatch):
    """A gate that opens when its count reaches zero, shared by all processes.

    Made by ``client.count_down_latch(name)``; it is open until a count is set, and can be closed
    again after it has opened. Redisson's ``RCountDownLatch`` of the same name is the same latch.
    """

    __slots__ = ()

    async def try_set_count(self, n: int) -> bool:
        """Close the latch with a count of ``n``; ``False`` if it is closed already."""
        return (
            await request(self._client, self._core.call("try_set_count", checked_count("n", n)))
            == 1
        )

    async def count_down(self) -> None:
        """Lower the count by one; at zero the latch opens. An open latch does not change.

        Cancelling the task does not stop it. Raises ``ConnectionError`` when the server is out of
        reach: then the call goes on in the background for twice the command time-out. Do not call
        it again: it would count twice.
        """
        await request(self._client, self._core.call("count_down", 0))

    async def count(self) -> int:
        """The count; 0: the latch is open."""
        count: int | None = await request(self._client, self._core.value())
        return max(0, count or 0)

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the latch is open; ``False`` if it stayed closed until the timeout.

        ``timeout``: seconds to wait; ``None`` waits without limit. When the count reaches zero or
        the latch is deleted, all waiters return, even if the latch is closed again at once. A task
        that is cancelled while it waits leaves nothing behind.

        Raises ``ConnectionError`` when no server answers within ``timeout`` and the command
        time-out, ``ServerError`` when it refuses.
        """
        return await request(
            self._client, self._core.acquire(0, True, checked_timeout(True, timeout))
        )

    async def delete(self) -> bool:
        """Remove the latch from the server, which opens it; ``False`` if it did not exist."""
        return await request(self._client, self._core.call("delete", 0)) == 1


# By hand:


class TaskPermitReporter(PermitReporter):
    """The same for a task: its loop calls ``on_lost``. It does not keep the loop alive."""

    __slots__ = ("_call", "_loops")

    def __init__(self, semaphore: PermitSemaphore) -> None:
        self._loops = semaphore._client._loops
        self._call = self._loops.caller()
        super().__init__(semaphore)

    def __call__(self, permit: str, owner: int) -> None:
        self._call(self._context, self._report_here, permit)

    def _report_here(self, permit: str) -> None:
        self._loops.call_on_loop(partial(self._semaphore._report, permit), self._semaphore)


class Entered(Generic[T]):
    """What the blocks of an object have taken by ``async with``, the oldest first."""

    __slots__ = ("_client", "_taken")

    def __init__(self, client: AnyClient) -> None:
        self._client = client
        self._taken: list[tuple[int, Hashable, T]] = []

    def add(self, taken: T) -> None:
        self._taken.append((_core.epoch(), self._client._loops.current_task(), taken))

    def drop(self, taken: T) -> None:
        """It was not entered after all."""
        self._taken = [each for each in self._taken if each[2] is not taken]

    def take(self) -> T | None:
        """The current task's latest, else the oldest; ``None``: there is none."""
        epoch = _core.epoch()
        # A child of fork() must not release what its parent has taken, and may have no task.
        while all_ := [each for each in list(self._taken) if each[0] == epoch]:
            task = self._client._loops.current_task()
            mine = [each for each in all_ if each[1] is task] or all_[:1]
            with suppress(ValueError):  # a task of another thread has taken it
                self._taken.remove(mine[-1])
                return mine[-1][2]
        return None


class PermitSemaphore(BasePermitSemaphore, TaskPermits, Block):
    """A semaphore with permits that have ids and are returned when their lease ends.

    Made by ``client.permit_semaphore(name)``. A permit is identified by its id and belongs to no
    task. Without a lease it is renewed until it is released.
    """

    __slots__ = ("_entered",)

    def _bind_core(self) -> None:
        self._entered: Entered[str] = Entered(self._client)

    def _reporter(self) -> PermitReporter:
        return TaskPermitReporter(self)

    async def _acquire(
        self, blocking: bool, seconds: float, lease: LeaseTime, label: str | None
    ) -> str | None:
        permits = await self._acquire_many(blocking, seconds, lease, label, 1)
        return permits[0] if permits else None

    async def _acquire_many(
        self, blocking: bool, seconds: float, lease: LeaseTime, label: str | None, count: int
    ) -> list[str] | None:
        time = time_of(self._client._core, seconds, blocking=blocking)
        grant = await drive(self._client, self._take(count, lease, time, label))
        if blocking and grant is None:
            await self._check_number()
        return grant.keep() if grant is not None else None

    async def _release(self, raw: bytes) -> None:
        permit = raw.hex()
        try:
            answer = await request(self._client, self._core.release(raw))
        finally:  # also where it goes on in the background: no loss of it is found any more
            self._forget(permit)
        if answer == 0:
            raise self._not_out(permit)

    async def __aenter__(self) -> str:
        time = time_of(self._client._core, self._wait)
        grant: Granting | None = None
        try:
            grant = await drive(self._client, self._take(1, self._lease, time, None))
            if grant is None:
                raise await self._timed_out()
            self._entered.add(grant.permits[0])
            return grant.keep()[0]
        except BaseException:  # an interrupt came before the block began
            if grant is not None:
                self._entered.drop(grant.permits[0])
                grant.undo()
            raise

    async def _at_end(self) -> None:
        permit = self._entered.take()
        if permit is None:
            raise self._not_entered()
        await self.release(permit)

    # Made by tools/tasks.py

    async def try_set_permits(self, n: int) -> bool:
        """Set the number of permits; ``False``, and no change, if it has been set before."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(count, await request(self._client, self._core.try_set_permits(count)))

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> str | None:
        """Take a permit; its id, 32 hex digits, or ``None`` when none was free in time.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. ``lease``: after how many seconds the permit is returned; ``None``: it is
        renewed; by default the semaphore's own. ``label``: what the permit is for, instead of the
        semaphore's ``label``. A task that is cancelled while it waits leaves nothing behind.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out, ``ServerError`` when it refuses.
        """
        seconds = checked_timeout(blocking, timeout)
        return await self._acquire(
            bool(blocking), seconds, self._lease_of(lease), checked_label(label)
        )

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire_many(
        self,
        n: int,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> list[str] | None:
        """Take ``n`` permits at once, all or none; ``None`` when they were not free in time.

        Returns their ids. ``n``: 1 to 10 000. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit; ``blocking=False`` does not wait. ``lease``: after how many seconds a permit
        is returned; ``None``: it is renewed; by default the semaphore's own. ``label``: what they
        are for, instead of the semaphore's ``label``. Each permit has its own lease, and may be
        released alone. A request for many may be overtaken by requests for fewer. A task that is
        cancelled while it waits leaves nothing behind. It raises what ``acquire`` raises; then none
        was taken.
        """
        count = checked_many(n)
        seconds = checked_timeout(blocking, timeout)
        return await self._acquire_many(
            bool(blocking), seconds, self._lease_of(lease), checked_label(label), count
        )

    async def release(self, permit: str, *, wait: bool = True) -> None:
        """Release a permit of any client. Cancelling the task does not stop it.

        Raises ``TypeError`` or ``ValueError`` for an invalid permit id; ``NotOwnedError`` when it
        is unknown or has expired; ``LockLostError``, a kind of that, (once) when this client
        renewed it and found it gone; ``ConnectionError`` when the server is out of reach: it may be
        called again.
        """
        refuse_deferring("PermitSemaphore", wait)
        await self._release(checked_permit(permit))

    async def release_many(self, permits: Iterable[str]) -> None:
        """Release permits of any client, all or none. Cancelling the task does not stop it.

        Raises ``TypeError`` or ``ValueError`` for an invalid id, one that is there twice, or none;
        ``NotOwnedError`` when one is unknown or has expired, ``LockLostError`` as ``release``: then
        none was released. ``ConnectionError`` when the server is out of reach: it goes on in the
        background for twice the command time-out, and the permits are not renewed any more.
        """
        ids, raw = checked_permits(permits)
        try:
            answer = await request(self._client, self._core.release_many(raw))
            if answer > 0:
                _core.forget_permits(self, raw)
        except LostPermit as lost:
            reason = await self._client._loops.explained(*self._about(lost))
            raise self._lost_of(ids, lost, reason) from None
        except BaseException:
            self._let_go(raw)
            raise
        self._check_release(ids, answer)

    async def try_release(self, permit: str) -> bool:
        """Release a permit of any client; ``False`` when it is unknown or has expired."""
        try:
            await self.release(permit)
        except NotOwnedError:
            return False
        return True

    async def extend(self, permit: str, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when it is unknown or has expired.

        ``lease``: seconds. This client no longer renews it, even if this fails; then the shorter
        one of both leases counts. At its end the permit is lost, as any other.

        Raises ``TypeError`` or ``ValueError`` for an invalid id or lease, ``ConnectionError`` when
        the server is out of reach.
        """
        raw, ms = checked_permit(permit), milliseconds("lease", lease)
        extended = await request(self._client, self._core.extend(raw, ms)) == 1
        return extended and not self._core.known_lost(raw)

    async def lease_left(self, permit: str) -> float | None:
        """Seconds until a permit of any client expires; ``None`` when it is unknown or has expired.

        ``math.inf``: it never expires, as a permit that Redisson has taken without a lease.
        """
        return seconds_left(
            await request(self._client, self._core.lease_left(checked_permit(permit)))
        )

    async def set_permits(self, n: int) -> None:
        """Set the number of permits, those in use included.

        Where more than ``n`` are in use, they stay so, and none is free until enough are released.
        """
        count = checked_count("n", n, least=0)
        with self._expecting(self._core.expect(count)):
            await request(self._client, self._core.set_permits(count))

    async def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            await request(self._client, self._core.add_permits(count))

    async def permits(self) -> int:
        """The number of all permits, free and in use."""
        return await request(self._client, self._core.permits())

    async def holders(self) -> list[late.Holder]:
        """The permits in use, according to the server, the next to expire first.

        ``owner`` is a permit's id. What its client says is known of those of this client only: the
        server does not say whose a permit is. At most 4096.
        """
        return await drive(self._client, self._holders())

    async def acquired_permits(self) -> int:
        """The number of permits in use."""
        return await request(self._client, self._core.acquired_permits())

    async def available_permits(self) -> int:
        """The number of free permits, including those that have expired."""
        return await request(self._client, self._core.value()) or 0

    async def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        return await request(self._client, self._core.delete()) == 1
