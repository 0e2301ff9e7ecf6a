"""The lock that a command runs under, of any kind."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from holdfast._errors import HoldfastError, LockTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.asyncio import Client, PermitSemaphore

    from .job import Job

__all__ = ["Held", "acquire", "settle"]

RENEWALS_PER_LEASE = 3
SETTLE = 2.0
"""Seconds to wait at most for a cancelled acquisition to be taken back."""


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
    """Return when the server has seen the end of a cancelled `acquire`, if it answers soon.

    The release of a cancelled wait is sent in the background; commands for one name keep their
    order.
    """
    with suppress(HoldfastError, asyncio.TimeoutError):
        if job.kind == "semaphore":
            last: Any = client.permit_semaphore(job.name).available_permits()
        else:
            last = _lock(client, job, lambda _: None).ttl()
        await asyncio.wait_for(last, SETTLE)


def _lock(client: Client, job: Job, on_lost: Callable[[Any], None]) -> Any:
    minimum: dict[str, Any] = {} if job.at_least is None else {"at_least": job.at_least}
    if job.kind in {"read", "write"}:
        both = client.read_write_lock(job.name, on_lost=on_lost)
        return both.read if job.kind == "read" else both.write
    if job.kind == "fair":
        return client.fair_lock(job.name, on_lost=on_lost)
    make = client.fenced_lock if job.kind == "fenced" else client.lock
    return make(job.name, on_lost=on_lost, **minimum)


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
    """A permit, renewed here: a permit semaphore does not report that one was lost."""

    token = None

    @classmethod
    async def acquire(cls, client: Client, job: Job, lost: Callable[[], None]) -> _Permit:
        semaphore = client.permit_semaphore(job.name)
        await semaphore.try_set_permits(job.permits)
        lease = client._lease_ms / 1000
        permit = await semaphore.acquire(timeout=job.wait, lease=lease)
        if permit is None:
            msg = f"no permit of {job.name!r} was free in {job.wait} s"
            raise LockTimeout(msg)
        return cls(semaphore, permit, lease, lost)

    def __init__(
        self,
        semaphore: PermitSemaphore,
        permit: str,
        lease: float,
        lost: Callable[[], None],
    ) -> None:
        self._semaphore = semaphore
        self._permit = permit
        self._lease = lease
        self._until = time.monotonic() + lease
        self._lost = lost
        self._refused = False
        self._renewing = asyncio.create_task(self._renew())

    def is_lost(self) -> bool:
        return self._refused or time.monotonic() > self._until

    async def release(self) -> None:
        self._renewing.cancel()
        await self._semaphore.release(self._permit)

    async def _renew(self) -> None:
        while not self.is_lost():
            began = time.monotonic()
            with suppress(HoldfastError):  # it is tried again until the lease is over
                self._refused = not await self._semaphore.extend(self._permit, self._lease)
                self._until = began + self._lease
            await asyncio.sleep(self._lease / RENEWALS_PER_LEASE)
        self._lost()
