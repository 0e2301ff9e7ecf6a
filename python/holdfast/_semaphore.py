"""The semaphore."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import _core, _events
from ._arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    Name,
    Seconds,
    checked_count,
    checked_timeout,
    checked_wait,
    instead_of,
)
from ._errors import HoldfastError, LockTimeout
from ._permit_semaphore import NEVER_INITIALIZED
from ._synchronizer import Synchronizer

if TYPE_CHECKING:
    from ._client import BaseClient

__all__ = ["BaseSemaphore", "Semaphore"]


class BaseSemaphore(Synchronizer):
    """The common part of the semaphores for threads and for tasks: everything except waiting."""

    __slots__ = ("_core", "_wait")

    def __init__(self, client: BaseClient[Any], name: Name, *, wait: Seconds | None = None) -> None:
        super().__init__(client, name)
        self._core = _core.Semaphore(client._core, self._name)
        self._wait = checked_wait(wait)

    def _timeout(self, exists: bool) -> LockTimeout:
        msg = f"timed out after {self._wait:g} s waiting for a permit of {self.name!r}: "
        return LockTimeout(msg + ("none is free" if exists else NEVER_INITIALIZED))

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        what = f"while a permit of {self.name!r} was released after this"
        _events.note(body, f"{what}: {type(release).__name__}: {release}")


class Semaphore(BaseSemaphore, _core.BlockingSemaphore):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``; there are no permits until their number is set. Permits have
    no owner: one thread or process may take a permit and another release it, and the permits of a
    process that dies stay taken. If they must be returned, use a permit semaphore. Redisson's
    ``RSemaphore`` of the same name is the same semaphore.
    """

    __slots__ = ()

    def __init__(self, client: BaseClient[Any], name: Name, *, wait: Seconds | None = None) -> None:
        super().__init__(client, name, wait=wait)
        self._bind(self._core, self._wait)

    def _timed_out(self) -> LockTimeout:
        exists = True
        with suppress(HoldfastError):  # the time-out is what matters
            exists = self._core.available_permits() is not None
        return self._timeout(exists)

    def try_set_permits(self, n: int) -> bool:
        """Create the semaphore with ``n`` permits; ``False`` if it exists with any number."""
        return self._core.try_set_permits(checked_count("n", n, least=0)) == 1

    @instead_of(ACQUIRE_KEYWORDS, "acquire")
    def _checked_request(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> tuple[int, bool, float]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return checked_count("permits", permits), bool(blocking), seconds

    @instead_of({}, "release")
    def _checked_permits(self, n: int = 1) -> tuple[int]:
        """The argument of ``release``."""
        return (checked_count("n", n),)

    def available_permits(self) -> int:
        """The number of free permits; negative when more were removed than were free."""
        return self._core.available_permits() or 0

    def drain_permits(self) -> int:
        """Take all free permits and return their number."""
        return self._core.drain_permits()

    def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        self._core.add_permits(checked_count("n", n, least=-MOST))

    def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it did not exist.

        Waiters go on waiting until permits are set again.
        """
        return self._core.delete() == 1
