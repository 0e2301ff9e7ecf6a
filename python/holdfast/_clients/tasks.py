"""The client for asyncio. Made by tools/tasks.py: changes belong in threads.py."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from holdfast._clients.task_base import TaskClient
from holdfast._engine.arguments import Late, Name, Seconds, Self, refuses_foreign_keywords
from holdfast._locks.base import BaseLock
from holdfast._locks.task_lock import Hold, Lock, attach
from holdfast._locks.task_semaphores import CountDownLatch, PermitSemaphore, Semaphore
from holdfast._locks.task_steps import request
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

if TYPE_CHECKING:
    from typing import overload

    from typing_extensions import Unpack

    from holdfast._locks import results as late_results
    from holdfast._locks import task_barrier as late_barrier
    from holdfast._locks import task_leader as late_leader
    from holdfast._locks import task_once as late_once
    from holdfast._locks import task_slots as late_slots
    from holdfast._locks.decorators import Calling, Skipping

else:
    late_barrier = Late("holdfast._locks.task_barrier")
    late_leader = Late("holdfast._locks.task_leader")
    late_once = Late("holdfast._locks.task_once")
    late_results = Late("holdfast._locks.results")
    late_slots = Late("holdfast._locks.task_slots")

P = ParamSpec("P")
R = TypeVar("R")

# The client and what it makes: the package's public names are these, too.
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
class Client(TaskClient):
    """A client of one deployment for any number of event loops; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """

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

        ``lease``: seconds after which a hold ends by itself, not renewed; ``None``: it is renewed
        until it is released, each time for the client's ``lease``. ``wait``: seconds that ``async
        with`` waits before ``LockTimeout``; ``None``: without limit. ``on_lost``: called once, on
        the owner's loop, with the lock when a hold is found lost. It may be a coroutine function.
        ``cancel_on_lost``: the loss of a hold cancels its owner inside ``async with``, which then
        raises ``LockLostError``. ``at_least``: the minimum hold time in seconds: after an earlier
        release the lock stays taken until that time after its grant; not longer than the lease.
        ``label``: what its holds are for, see ``Lock.holders``.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError``, naming the argument, if it is
        invalid; so do the other methods that make locks.
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

        ``queue_timeout``: how many seconds a waiter that has died may keep its place; by default
        the client's ``lease``.
        ``lease``: seconds after which a hold ends by itself, not renewed; ``None``: it is renewed
        until it is released. ``wait``: seconds that ``async with`` waits before ``LockTimeout``;
        ``None``: without limit. ``on_lost``: called once, on the owner's loop, with the lock when a
        hold is found lost. ``label``: what its holds are for, see ``Lock.holders``.
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

        ``lease``: seconds after which a hold of either side ends by itself, not renewed; ``None``:
        it is renewed until it is released. ``wait``: seconds that ``async with`` waits before
        ``LockTimeout``; ``None``: without limit. ``on_lost``: called once, on the owner's loop,
        with the side of which a hold is found lost. ``label``: what its holds are for, see
        ``Lock.holders``.
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

        ``lease``: seconds after which a hold ends by itself, not renewed; ``None``: it is renewed
        until it is released. ``wait``: seconds that ``async with`` waits before ``LockTimeout``;
        ``None``: without limit. ``on_lost``: called once, on the owner's loop, with the lock when a
        hold is found lost. It may be a coroutine function. ``cancel_on_lost``: the loss of a hold
        cancels its owner inside ``async with``, which then raises ``LockLostError``. ``at_least``:
        the minimum hold time in seconds. ``label``: what its holds are for, see ``Lock.holders``.
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

        ``backoff``: the pause between attempts, a ``Backoff`` or a fixed number of seconds.
        ``lease``: seconds after which a hold ends by itself, not renewed; ``None``: it is renewed
        until it is released. ``wait``: seconds that ``async with`` waits before ``LockTimeout``;
        ``None``: without limit. ``on_lost``: called once, on the owner's loop, with the lock when a
        hold is found lost. It may be a coroutine function. ``cancel_on_lost``: the loss of a hold
        cancels its owner inside ``async with``, which then raises ``LockLostError``. ``at_least``:
        the minimum hold time in seconds. ``label``: what its holds are for, see ``Lock.holders``.
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

        ``lease``: seconds after which a hold ends by itself, not renewed; ``None``: it is renewed
        until it is released. ``wait``: seconds that ``async with`` waits before ``LockTimeout``;
        ``None``: without limit. ``on_lost``: called once, on the owner's loop, with the multi lock
        when a hold of it is found lost. ``label``: what its holds are for, see ``Lock.holders``.
        Those of the members are not used.
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
        seconds that ``async with`` waits for a permit before ``LockTimeout``; ``None``: without
        limit.
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
        label: str | None = None,
    ) -> PermitSemaphore:
        """A semaphore of this name with permits that have ids and expire; nothing is sent yet.

        ``permits``: how many there are; an acquire that finds no number on the server sets this one
        up. Another number that is there stays, with a warning that names both; ``set_permits``
        changes it. ``lease``: seconds after which a permit is returned without a release, not
        renewed; ``None``: it is renewed until it is released. ``wait``: seconds that ``async with``
        waits for a permit before ``LockTimeout``; ``None``: without limit. ``on_lost``: called on
        the loop with the id of a lost permit. ``label``: what its permits are for, see
        ``Lock.holders``.
        """
        return PermitSemaphore(
            self, name, permits=permits, lease=lease, wait=wait, on_lost=on_lost, label=label
        )

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
        codec: late_results.Codec | None = None,
        label: str | None = None,
    ) -> late_once.Once:
        """What runs once under this key, and keeps its result; nothing is sent yet.

        ``keep``: seconds for which the result stays on the server. ``lease``: seconds after which
        another caller may run it although the first one has not ended, not renewed; ``None``:
        renewed while the function runs. ``wait``: seconds that the others wait for the result;
        ``None``: without limit. ``codec``: an object with ``dumps`` and ``loads``, for results that
        are neither JSON nor bytes. ``label``: what its runs are for, see ``Lock.holders``.
        """
        from holdfast._locks.task_once import Once

        return Once(self, key, keep=keep, lease=lease, wait=wait, codec=codec, label=label)

    def once_each(
        self,
        template: str,
        *,
        keep: Seconds = 86400.0,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        codec: late_results.Codec | None = None,
        label: str | None = None,
    ) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]]:
        """Decorate a coroutine function: it runs once for each key, which its arguments name.

        ``template``: as of ``locked``: ``"invoice:{number}"``. ``keep``: seconds for which a result
        stays on the server. ``lease``: seconds after which another caller may run it although the
        first one has not ended, not renewed; ``None``: renewed while the function runs. ``wait``:
        seconds that the others wait for the result; ``None``: without limit. ``codec``, ``label``:
        as of ``once``. Raises as ``locked`` does, before the first call.
        """
        from holdfast._locks.task_once import once_each

        options = {"keep": keep, "lease": lease, "wait": wait, "codec": codec, "label": label}
        return once_each(self, template, **options)

    def slots(
        self,
        name: Name,
        n_or_values: int | Sequence[str],
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[late_slots.Slot], object] | None = None,
        label: str | None = None,
    ) -> late_slots.Slots:
        """Numbered slots of this name, of which each has one owner at a time; nothing is sent yet.

        ``n_or_values``: how many, or the value of each (``["gpu0", "gpu1"]``); all users of the
        name must give the same. ``lease``: seconds after which a slot is free without a release,
        not renewed; ``None``: it is renewed until it is released. ``wait``: seconds that ``async
        with`` waits for a slot before ``LockTimeout``; ``None``: without limit. ``on_lost``: called
        once with a slot that is found lost. ``label``: what its slots are for, see
        ``Lock.holders``.
        """
        from holdfast._locks.task_slots import Slots

        return Slots(self, name, n_or_values, lease=lease, wait=wait, on_lost=on_lost, label=label)

    def leader(
        self,
        name: Name,
        *,
        value: str | bytes | None = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[late_leader.Leader], object] | None = None,
        label: str | None = None,
    ) -> late_leader.Leader:
        """A candidate for the leadership of this name; nothing is sent yet.

        ``value``: what the leader announces, such as its address; at most 1024 bytes. ``lease``:
        seconds after which the leadership ends by itself, not renewed; ``None``: it is renewed
        until ``resign()``. ``wait``: seconds that ``async with`` campaigns before ``LockTimeout``;
        ``None``: without limit. ``on_lost``: called once, on the owner's loop, with the leader when
        its leadership is found lost. ``label``: what it leads for, see ``Lock.holders``.
        """
        from holdfast._locks.task_leader import Leader

        return Leader(self, name, value=value, lease=lease, wait=wait, on_lost=on_lost, label=label)

    def barrier(
        self,
        name: Name,
        parties: int,
        *,
        lease: Seconds | None = None,
        label: str | None = None,
    ) -> late_barrier.Barrier:
        """A barrier of this name for a number of ``parties``; nothing is sent yet.

        ``parties``: how many calls of ``wait()`` go on together. ``lease``: seconds after which a
        party that waits counts as dead, not renewed: give one that is longer than each ``wait()``;
        ``None``: it is renewed while it waits. ``label``: what its parties wait for, see
        ``Lock.holders``.
        """
        from holdfast._locks.task_barrier import Barrier

        return Barrier(self, name, parties, lease=lease, label=label)

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

    def locked(
        self,
        template: str,
        *,
        kind: str = "lock",
        busy: str = "wait",
        wait: Seconds | None = None,
        lease: Seconds | None = None,
        at_least: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        permits: int | None = None,
        label: str | None = None,
    ) -> Any:
        """Decorate a coroutine function: each call holds a lock named by its arguments.

        ``template`` is filled in by ``str.format`` with the call's arguments by name, defaults
        included: ``"report:{user.id}"``. ``kind``: ``lock``, ``fair_lock``, ``fenced_lock``,
        ``read`` or ``write``; or ``semaphore`` or ``permit_semaphore``, with ``permits``: how many
        calls run at a time. ``busy``: ``"wait"`` waits up to ``wait`` seconds (``None``: without
        limit), then raises ``LockTimeout``; ``"raise"`` raises it at once; ``"skip"`` returns
        ``None`` without calling the function; neither waits for an owner. ``lease``: seconds after
        which the lock is free although the call goes on, not renewed; ``None``: renewed while the
        call runs. ``at_least``, ``on_lost``, ``label``: the lock's.

        Raises ``ValueError`` for a positional field, a field that the function's signature lacks,
        or ``wait`` with a ``busy`` other than ``"wait"``; ``TypeError`` for a function of the wrong
        kind. Both are raised before the first call.
        """
        from holdfast._locks.decorators import async_locked as locked

        return locked(
            self,
            template,
            kind=kind,
            busy=busy,
            wait=wait,
            lease=lease,
            at_least=at_least,
            on_lost=on_lost,
            permits=permits,
            label=label,
        )

    async def attach(
        self,
        ticket: str,
        *,
        lease: Seconds | None = None,
        on_lost: Callable[[Hold], object] | None = None,
        name: Name | None = None,
    ) -> Hold:
        """Continue a hold that was detached by any task or thread, on any machine.

        ``ticket``: of ``Hold.detach()``. ``lease``: seconds after which the hold ends by itself,
        not renewed; ``None``: it is renewed until it is released. A fenced lock keeps its token.
        ``on_lost``: called once, on the owner's loop, with the hold when it is found lost.
        ``name``: the lock that the ticket must be for, where it comes from outside; ``None``: any.

        Raises ``ValueError`` for text that is not a ticket, or for a ticket of another name,
        ``LockLostError`` for a ticket that was used before, has expired, or whose lock was released
        by force; ``ConnectionError`` when the server is out of reach: then the ticket may be tried
        again.
        """
        return await attach(self, ticket, lease, on_lost, name)

    async def ping(self) -> bool:
        """Check that the server answers: ``True``.

        Raises ``ConnectionError`` or ``ServerError`` if it does not.
        """
        await request(self, self._core.ping())
        return True

    async def close(self, *, release_held: bool = False) -> None:
        """End all waits with ``ConnectionError``, finish pending releases, and stop renewing.

        ``release_held``: releases all holds of the client first. Otherwise a ``ResourceWarning``
        names it, and it expires with its lease. Waits for the server for ``command_timeout`` at
        most; the warning also names what could not be released by then.

        A loss that is known stays known. What is held is lost when its trusted time is over, at the
        latest: reported as any loss, with the reason "its client was closed". With the last client
        of the process the library's threads and descriptors are gone, until a new one is used; for
        holds that are still to be lost the thread of events and one of the watchdog's stay until
        the last of them is reported.
        """
        closing = self._begin_close(release_held)
        try:
            await request(self, closing)
        finally:
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
