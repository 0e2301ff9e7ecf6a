"""The lock that a command runs under, of any kind."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from holdfast import ConnectionError, HoldfastError, LockTimeout
from holdfast.integration import quoted
from holdfast.servers import kind_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.asyncio import Client, PermitSemaphore

    from .job import Job

__all__ = ["Held", "acquire", "settle"]

T = TypeVar("T")


class Held(Protocol):
    """The hold; `lost` is called once when it is found lost."""

    @property
    def token(self) -> int | None:
        """The fencing token of a fenced lock."""

    def is_lost(self) -> bool:
        """Whether it is not held any more, as far as this process knows."""
        raise NotImplementedError

    async def release(self) -> None:
        """Release it; raises ``NotOwnedError`` if it was lost."""


async def acquire(client: Client, job: Job, lost: Callable[[], None]) -> Held:
    """Wait for the lock; ``LockTimeout`` if it stays busy. A cancelled wait leaves nothing."""
    if job.kind == "semaphore":
        return await _Permit.acquire(client, job, lost)
    return _Lock(await _lock(client, job, lambda _: lost()).hold(wait=job.wait))


async def settle(client: Client, job: Job) -> None:
    """Return when the server has seen the end of a cancelled `acquire`.

    The release of a cancelled wait is sent in the background; commands for one name keep their
    order.
    """
    with suppress(HoldfastError):
        if job.kind == "semaphore":
            await client.permit_semaphore(job.name).available_permits()
        else:
            await _lock(client, job, lambda _: None).ttl()


def _lock(client: Client, job: Job, on_lost: Callable[[Any], None]) -> Any:
    minimum: dict[str, Any] = {} if job.at_least is None else {"at_least": job.at_least}
    kind = kind_of(job.kind)
    options = {"on_lost": on_lost, "label": job.purpose, **minimum}
    made = getattr(client, kind.word)(job.name, **options)
    return getattr(made, job.kind) if kind.sides else made


async def _number(client: Client, job: Job) -> int | None:
    """How many permits the semaphore has from now on; ValueError if it has another number."""
    semaphore = client.permit_semaphore(job.name)
    wanted = job.permits or 1
    if job.resize:
        await semaphore.set_permits(wanted)
        return wanted
    if await semaphore.try_set_permits(wanted):
        return wanted
    there = await semaphore.permits()
    if job.permits not in {None, there}:
        msg = (
            f"{quoted(job.name)} has {there} permits, not {wanted}: "
            f"use --permits {there}, or --resize to set {wanted}"
        )
        raise ValueError(msg)
    return there if there > 0 else None


async def _within(job: Job, call: Awaitable[T]) -> T:
    """What a call returns before the wait is over; one that has no answer yet is left alone."""
    asked = asyncio.ensure_future(call)
    done, _ = await asyncio.wait({asked}, timeout=job.wait or None)
    if not done:
        msg = f"{quoted(job.name)}: no answer within {job.wait} s"
        raise ConnectionError(msg)
    return asked.result()


class _Lock:
    def __init__(self, hold: Any) -> None:
        self._hold = hold

    @property
    def token(self) -> int | None:
        token: int | None = self._hold.token
        return token

    def is_lost(self) -> bool:
        return self._hold.left is None

    async def release(self) -> None:
        await self._hold.release()


class _Permit:
    """A permit, which the client renews."""

    token = None

    @classmethod
    async def acquire(cls, client: Client, job: Job, lost: Callable[[], None]) -> _Permit:
        began = time.monotonic()
        permits = await _within(job, _number(client, job))
        left = job.wait and max(job.wait - (time.monotonic() - began), 0)
        options: dict[str, Any] = {"on_lost": lambda _: lost(), "label": job.purpose}
        semaphore = client.permit_semaphore(job.name, permits=permits, **options)
        permit = await semaphore.acquire(left != 0, left or None)
        if permit is None:
            msg = f"no permit of {quoted(job.name)} was free in {job.wait} s"
            raise LockTimeout(msg)
        return cls(semaphore, permit)

    def __init__(self, semaphore: PermitSemaphore, permit: str) -> None:
        self._semaphore = semaphore
        self._permit = permit

    def is_lost(self) -> bool:
        return self._semaphore.lost

    async def release(self) -> None:
        await self._semaphore.release(self._permit)
