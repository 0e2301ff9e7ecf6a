"""The client for asyncio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from holdfast._clients.base import BaseClient
from holdfast._engine.arguments import Late, Name, Seconds, Self, refuses_foreign_keywords
from holdfast._engine.loop import leave_loop, request, task_of
from holdfast._locks.base import BaseLock
from holdfast._locks.task_lock import Hold, Lock, attach
from holdfast._locks.task_semaphores import CountDownLatch, PermitSemaphore, Semaphore
from holdfast._locks.tasks import (
    FairLock,
    FencedLock,
    MultiLock,
    ReadLock,
    ReadWriteLock,
    SpinLock,
    WriteLock,
)
from holdfast._locks.threads import EXPONENTIAL, Backoff

# The client and what it makes: the package's public names are these, too.
if TYPE_CHECKING:
    from typing import overload

    from typing_extensions import Unpack

    from holdfast._locks import once as late_codec
    from holdfast._locks import task_barrier as late_barrier
    from holdfast._locks import task_leader as late_leader
    from holdfast._locks import task_once as late_once
    from holdfast._locks import task_slots as late_slots
    from holdfast._locks.decorators import Calling, Skipping

else:
    late_barrier = Late("holdfast._locks.task_barrier")
    late_leader = Late("holdfast._locks.task_leader")
    late_codec = Late("holdfast._locks.once")
    late_once = Late("holdfast._locks.task_once")
    late_slots = Late("holdfast._locks.task_slots")

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [  # noqa: RUF022 - in the order of the reference
    "Client",
    "Lock",
    "FairLock",
    "ReadWriteLock",
    "ReadLock",
    "WriteLock",
    "FencedLock",
    "SpinLock",
    "MultiLock",
    "Semaphore",
    "PermitSemaphore",
    "CountDownLatch",
]


@refuses_foreign_keywords
class Client(BaseClient):
    """A client of one server for any number of event loops; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """

    _asynchronous = True

    def _owner_title(self, number: int) -> str:
        task = task_of(number)
        return "another owner" if task is None else f"task {task.get_name()!r}"

    def lock(
        self,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Lock], object] | None = None,
        at_least: Seconds | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> Lock:
        """A reentrant lock of this name; nothing is sent yet.

        ``lease``, ``wait``, ``at_least``: as of ``holdfast.Client.lock``. ``on_lost``: the same,
        called on the owner's loop; it may be a coroutine function. ``cancel_on_lost``: the loss of
        a hold cancels its owner inside ``async with``, which then raises ``LockLostError``.
        """
        return Lock(
            self,
            name,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            at_least=at_least,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def fair_lock(
        self,
        name: Name,
        *,
        queue_timeout: Seconds | None = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[FairLock], object] | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> FairLock:
        """A lock that is granted in the order of the requests; nothing is sent yet.

        ``queue_timeout``: as of ``holdfast.Client.fair_lock``. ``lease``, ``wait``, ``on_lost``,
        ``cancel_on_lost``: as of ``lock``.
        """
        return FairLock(
            self,
            name,
            queue_timeout=queue_timeout,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def read_write_lock(
        self,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[ReadLock | WriteLock], object] | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> ReadWriteLock:
        """A lock of this name with many readers or one writer; nothing is sent yet.

        ``lease``, ``wait``, ``on_lost``, ``cancel_on_lost``: as of ``lock``, of either side.
        """
        return ReadWriteLock(
            self,
            name,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def fenced_lock(
        self,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[FencedLock], object] | None = None,
        at_least: Seconds | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> FencedLock:
        """A reentrant lock of this name with fencing tokens; nothing is sent yet.

        ``lease``, ``wait``, ``on_lost``, ``at_least``, ``cancel_on_lost``: as of ``lock``.
        """
        return FencedLock(
            self,
            name,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            at_least=at_least,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def spin_lock(
        self,
        name: Name,
        *,
        backoff: Backoff | Seconds = EXPONENTIAL,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[SpinLock], object] | None = None,
        at_least: Seconds | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> SpinLock:
        """A reentrant lock of this name with polling waiters; nothing is sent yet.

        ``backoff``: the rest between attempts, a ``Backoff`` or a fixed number of seconds;
        ``lease``, ``wait``, ``on_lost``, ``at_least``, ``cancel_on_lost``: as of ``lock``.
        """
        return SpinLock(
            self,
            name,
            backoff=backoff,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            at_least=at_least,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def multi_lock(
        self,
        *locks: BaseLock,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[MultiLock], object] | None = None,
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> MultiLock:
        """Several ``locks`` as one, all or none; they may belong to several clients.

        ``lease``, ``wait``, ``on_lost``, ``cancel_on_lost``: as of ``lock``; those of the members
        are not used.
        """
        return MultiLock(
            self,
            *locks,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def semaphore(
        self, name: Name, *, permits: int | None = None, wait: Seconds | None = None
    ) -> Semaphore:
        """A semaphore of this name; nothing is sent yet.

        ``permits``: how many there are; an acquire that finds no number on the server sets this one
        up. Another number that is there stays, with a warning if more are free than that. ``wait``:
        how long ``async with`` waits for a permit.
        """
        return Semaphore(self, name, permits=permits, wait=wait)

    def permit_semaphore(
        self,
        name: Name,
        *,
        permits: int | None = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[str], object] | None = None,
    ) -> PermitSemaphore:
        """A semaphore of this name with permits that have ids and expire; nothing is sent yet.

        ``permits``, ``lease``, ``wait``: as of ``holdfast.Client.permit_semaphore``. ``on_lost``:
        the same, called on the loop of the task that acquired; it may be a coroutine function.
        """
        return PermitSemaphore(self, name, permits=permits, lease=lease, wait=wait, on_lost=on_lost)

    def count_down_latch(self, name: Name) -> CountDownLatch:
        """A count-down latch of this name; nothing is sent yet."""
        return CountDownLatch(self, name)

    def once(
        self,
        key: Name,
        *,
        keep: Seconds = 86400.0,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        codec: late_codec.Codec | None = None,
    ) -> late_once.Once:
        """What runs once under this key, and keeps its result; nothing is sent yet.

        Arguments as of ``holdfast.Client.once``.
        """
        from holdfast._locks.task_once import Once

        return Once(self, key, keep=keep, lease=lease, wait=wait, codec=codec)

    def once_each(
        self,
        template: str,
        *,
        keep: Seconds = 86400.0,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        codec: late_codec.Codec | None = None,
    ) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]]:
        """Decorate a coroutine function: it runs once for each key, which its arguments name.

        As ``holdfast.Client.once_each`` decorates a function.
        """
        from holdfast._locks.task_once import once_each

        return once_each(self, template, keep=keep, lease=lease, wait=wait, codec=codec)

    def slots(
        self,
        name: Name,
        n_or_values: int | Sequence[str],
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[late_slots.Slot], object] | None = None,
    ) -> late_slots.Slots:
        """Numbered slots of this name, of which each has one owner at a time; nothing is sent yet.

        ``n_or_values``, ``lease``, ``wait``: as of ``holdfast.Client.slots``. ``on_lost``: the
        same, called on the loop of the task that acquired; it may be a coroutine function.
        """
        from holdfast._locks.task_slots import Slots

        return Slots(self, name, n_or_values, lease=lease, wait=wait, on_lost=on_lost)

    def leader(
        self,
        name: Name,
        *,
        value: str | bytes | None = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[late_leader.Leader], object] | None = None,
    ) -> late_leader.Leader:
        """A candidate for the leadership of this name; nothing is sent yet.

        ``value``, ``lease``, ``wait``: as of ``holdfast.Client.leader``. ``on_lost``: the same,
        called on the loop of the task that campaigned; it may be a coroutine function.
        """
        from holdfast._locks.task_leader import Leader

        return Leader(self, name, value=value, lease=lease, wait=wait, on_lost=on_lost)

    def barrier(
        self, name: Name, parties: int, *, lease: Seconds | None = None
    ) -> late_barrier.Barrier:
        """A barrier of this name for a number of ``parties``; nothing is sent yet.

        Arguments as of ``holdfast.Client.barrier``.
        """
        from holdfast._locks.task_barrier import Barrier

        return Barrier(self, name, parties, lease=lease)

    if TYPE_CHECKING:

        @overload
        def locked(
            self, template: str, **options: Unpack[Calling]
        ) -> Callable[
            [Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]
        ]: ...

        @overload
        def locked(
            self, template: str, **options: Unpack[Skipping]
        ) -> Callable[
            [Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R | None]]
        ]: ...

    def locked(self, template: str, **options: Any) -> Any:
        """Decorate a coroutine function, as ``holdfast.Client.locked`` decorates a function."""
        from holdfast._locks.decorators import async_locked

        return async_locked(self, template, **options)

    async def attach(
        self,
        ticket: str,
        *,
        lease: Seconds | None = None,
        on_lost: Callable[[Hold], object] | None = None,
        name: Name | None = None,
    ) -> Hold:
        """Continue a hold that was detached, as ``holdfast.Client.attach``."""
        return await attach(self, ticket, lease, on_lost, name)

    async def ping(self) -> bool:
        """Check that the server answers: ``True``, as ``holdfast.Client.ping``."""
        await request(self._core.ping())
        return True

    async def close(self, *, release_held: bool = False) -> None:
        """End all waits, finish pending releases, stop renewing: see ``holdfast.Client.close``."""
        closing = self._begin_close(release_held)
        try:
            await request(closing)
        finally:
            leave_loop()
            self._has_closed(closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
