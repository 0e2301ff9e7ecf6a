"""The semaphore and the count-down latch for threads, with the parts that those for tasks share."""

from __future__ import annotations

from types import TracebackType

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    Name,
    Seconds,
    Self,
    checked_count,
    checked_name,
    checked_setup,
    checked_timeout,
    checked_wait,
    instead_of,
    refuse_deferring,
)
from holdfast._engine.process import AnyClient
from holdfast._locks.base import BlockingPermits, Permits, Synchronizer, native


class BaseSemaphore(Permits):
    """The common part of the semaphores for threads and for tasks: everything except waiting."""

    __slots__ = ()

    _kind = "semaphore"
    _core: _core.Counter

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        permits: int | None = None,
        wait: Seconds | None = None,
    ) -> None:
        super().__init__(client, name)
        encoded = checked_name("name", name)
        self._core = _core.Counter(client._core, "semaphore", encoded, checked_setup(permits))
        self._wait = checked_wait(wait)
        self._bind_core()


class Semaphore(BaseSemaphore, BlockingPermits, _core.BlockingSemaphore):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``; there are no permits until their number is set, by
    ``permits`` or a method. Permits have no owner: one thread or process may take a permit and
    another release it, and the permits of a process that dies stay taken. If they must be returned,
    use a permit semaphore. Redisson's ``RSemaphore`` of the same name is the same semaphore.
    """

    __slots__ = ()

    def _bind_core(self) -> None:
        self._bind(self._core, self._wait)

    def try_set_permits(self, n: int) -> bool:
        """Create the semaphore with ``n`` permits; ``False`` if it exists with any number."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(count, self._core.call("try_set_permits", count).wait())

    @native(_core.BlockingSemaphore.acquire)
    def acquire(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> bool:
        """Take ``permits`` at once, all or none; ``True`` if they were taken.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. A request for many may be overtaken by requests for fewer.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out, ``ServerError`` when it refuses; then nothing was taken.
        """
        raise NotImplementedError

    @native(_core.BlockingSemaphore.release)
    def release(self, n: int = 1, *, wait: bool = True) -> None:
        """Release ``n`` permits; waiters wake.

        Raises ``TypeError`` or ``ValueError`` for a bad ``n``; ``ConnectionError`` when the server
        is out of reach: then it goes on in the background for twice the command time-out. Do not
        call it again: it would count twice.
        """

    @native(_core.BlockingSemaphore.__enter__)
    def __enter__(self) -> Self:
        """Take one permit; it waits for ``wait`` seconds, then raises ``LockTimeout``."""
        raise NotImplementedError

    @native(_core.BlockingSemaphore.__exit__)
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Release the permit.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """

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
        return self._core.call("release_if_exists", checked_count("n", n)).wait() == 1

    def available_permits(self) -> int:
        """The number of free permits; negative when more were removed than were free."""
        return self._core.value().wait() or 0

    def drain_permits(self) -> int:
        """Take all free permits and return their number."""
        return self._core.call("drain_permits", 0).wait()

    def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            self._core.call("add_permits", count).wait()

    def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it did not exist.

        Waiters go on waiting until permits are set again.
        """
        return self._core.call("delete", 0).wait() == 1


class BaseCountDownLatch(Synchronizer):
    """The common part of the latches for threads and for tasks: everything except waiting."""

    __slots__ = ("_core",)

    _kind = "count_down_latch"

    def __init__(self, client: AnyClient, name: Name) -> None:
        super().__init__(client, name)
        _events.start()  # also for the events of the client: a warning needs no lock
        self._core = _core.Counter(client._core, "count_down_latch", checked_name("name", name))


class CountDownLatch(BaseCountDownLatch):
    """A gate that opens when its count reaches zero, shared by all processes.

    Made by ``client.count_down_latch(name)``; it is open until a count is set, and can be closed
    again after it has opened. Redisson's ``RCountDownLatch`` of the same name is the same latch.
    """

    __slots__ = ()

    def try_set_count(self, n: int) -> bool:
        """Close the latch with a count of ``n``; ``False`` if it is closed already."""
        return self._core.call("try_set_count", checked_count("n", n)).wait() == 1

    def count_down(self) -> None:
        """Lower the count by one; at zero the latch opens. An open latch does not change.

        Raises ``ConnectionError`` when the server is out of reach: then the call goes on in the
        background for twice the command time-out. Do not call it again: it would count twice.
        """
        self._core.call("count_down", 0).wait()

    def count(self) -> int:
        """The count; 0: the latch is open."""
        count: int | None = self._core.value().wait()
        return max(0, count or 0)

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the latch is open; ``False`` if it stayed closed until the timeout.

        ``timeout``: seconds to wait; ``None`` waits without limit. When the count reaches zero or
        the latch is deleted, all waiters return, even if the latch is closed again at once.

        Raises ``ConnectionError`` when no server answers within ``timeout`` and the command
        time-out, ``ServerError`` when it refuses.
        """
        return self._core.acquire(0, True, checked_timeout(True, timeout)).wait()

    def delete(self) -> bool:
        """Remove the latch from the server, which opens it; ``False`` if it did not exist."""
        return self._core.call("delete", 0).wait() == 1
