"""The semaphore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _events
from ._arguments import MOST, Name, Seconds, checked_count, checked_timeout, checked_wait
from ._errors import HoldfastError, LockTimeout
from ._synchronizer import Synchronizer

if TYPE_CHECKING:
    from ._client import BaseClient

__all__ = ["BaseSemaphore", "Semaphore"]


class BaseSemaphore(Synchronizer):
    """What the semaphores for threads and for tasks have in common: all but the waiting."""

    __slots__ = ("_core", "_wait")

    def __init__(self, client: BaseClient[Any], name: Name, *, wait: Seconds | None = None) -> None:
        super().__init__(client, name)
        self._core = _core.Semaphore(client._core, self._name)
        self._wait = checked_wait(wait)

    def _timed_out(self) -> LockTimeout:
        return LockTimeout(
            f"{self.name!r} had no free permit for all of the {self._wait:g} s "
            "that were to be waited"
        )

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        what = f"while a permit of {self.name!r} was released after this"
        _events.note(body, f"{what}: {type(release).__name__}: {release}")


class Semaphore(BaseSemaphore, _core.BlockingSemaphore):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``; there are no permits before somebody has set their number.
    Permits belong to nobody: whoever takes one may let another give it back, and a process that
    dies takes its permits with it. Where they must come back, use a permit semaphore. Redisson's
    ``RSemaphore`` of the same name is the same semaphore.
    """

    __slots__ = ()

    def __init__(self, client: BaseClient[Any], name: Name, *, wait: Seconds | None = None) -> None:
        super().__init__(client, name, wait=wait)
        self._bind(self._core, self._wait)

    def try_set_permits(self, n: int) -> bool:
        """Make the semaphore with ``n`` permits; ``False`` if it is there, however many it has."""
        return self._core.try_set_permits(checked_count("n", n, least=0)) == 1

    def _checked_request(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> tuple[int, bool, float]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return checked_count("permits", permits), bool(blocking), seconds

    def _checked_permits(self, n: int = 1) -> tuple[int]:
        """The argument of ``release``."""
        return (checked_count("n", n),)

    def available_permits(self) -> int:
        """How many permits are free; below 0 when more were taken away than there were."""
        return self._core.available_permits() or 0

    def drain_permits(self) -> int:
        """Take all permits that are free; how many that were."""
        return self._core.drain_permits()

    def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        self._core.add_permits(checked_count("n", n, least=-MOST))

    def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it was not there.

        Who waits goes on waiting, until permits are set anew.
        """
        return self._core.delete() == 1
