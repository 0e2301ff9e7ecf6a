"""The semaphore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    Name,
    Seconds,
    checked_count,
    checked_name,
    checked_setup,
    checked_timeout,
    checked_wait,
    instead_of,
    refuse_deferring,
)
from ._synchronizer import BlockingPermits, Permits

if TYPE_CHECKING:
    from ._base_client import BaseClient

__all__ = ["BaseSemaphore", "Semaphore"]


class BaseSemaphore(Permits):
    """The common part of the semaphores for threads and for tasks: everything except waiting."""

    __slots__ = ()

    _core: _core.Counter

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        permits: int | None = None,
        wait: Seconds | None = None,
    ) -> None:
        super().__init__(client, name)
        encoded = checked_name("name", name)
        self._core = _core.Counter(client._core, "semaphore", encoded, checked_setup(permits))
        self._wait = checked_wait(wait)


class Semaphore(BaseSemaphore, BlockingPermits, _core.BlockingSemaphore):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``; there are no permits until their number is set, by
    ``permits`` or a method. Permits have no owner: one thread or process may take a permit and
    another release it, and the permits of a process that dies stay taken. If they must be returned,
    use a permit semaphore. Redisson's ``RSemaphore`` of the same name is the same semaphore.
    """

    __slots__ = ()

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        permits: int | None = None,
        wait: Seconds | None = None,
    ) -> None:
        super().__init__(client, name, permits=permits, wait=wait)
        self._bind(self._core, self._wait)

    def try_set_permits(self, n: int) -> bool:
        """Create the semaphore with ``n`` permits; ``False`` if it exists with any number."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(count, self._core.call("try_set_permits", count))

    @instead_of(ACQUIRE_KEYWORDS, "acquire")
    def _checked_request(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> tuple[int, bool, float]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return checked_count("permits", permits), bool(blocking), seconds

    @instead_of({}, "release")
    def _checked_permits(self, n: int = 1, *, wait: bool = True) -> tuple[int]:
        """The arguments of ``release``."""
        refuse_deferring("Semaphore", wait)
        return (checked_count("n", n),)

    def release_if_exists(self, n: int = 1) -> bool:
        """Release ``n`` permits as ``release``; ``False``, and no change, if none were ever set."""
        return self._core.call("release_if_exists", checked_count("n", n)) == 1

    def available_permits(self) -> int:
        """The number of free permits; negative when more were removed than were free."""
        return self._core.value() or 0

    def drain_permits(self) -> int:
        """Take all free permits and return their number."""
        return self._core.call("drain_permits", 0)

    def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            self._core.call("add_permits", count)

    def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it did not exist.

        Waiters go on waiting until permits are set again.
        """
        return self._core.call("delete", 0) == 1
