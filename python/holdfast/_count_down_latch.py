"""The count-down latch."""

from __future__ import annotations

from . import _core, _events
from ._arguments import Name, Seconds, checked_count, checked_name, checked_timeout
from ._base_client import BaseClient
from ._synchronizer import Synchronizer

__all__ = ["BaseCountDownLatch", "CountDownLatch"]


class BaseCountDownLatch(Synchronizer):
    """The common part of the latches for threads and for tasks: everything except waiting."""

    __slots__ = ("_core",)

    def __init__(self, client: BaseClient, name: Name) -> None:
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
        return self._core.call("try_set_count", checked_count("n", n)) == 1

    def count_down(self) -> None:
        """Lower the count by one; at zero the latch opens. An open latch does not change.

        Raises ``ConnectionError`` when the server is out of reach: then the call goes on in the
        background for twice the command time-out. Do not call it again: it would count twice.
        """
        self._core.call("count_down", 0)

    def count(self) -> int:
        """The count; 0: the latch is open."""
        return max(0, self._core.value() or 0)

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the latch is open; ``False`` if it stayed closed until the timeout.

        ``timeout=None`` waits without limit. When the count reaches zero or the latch is deleted,
        all waiters return, even if the latch is closed again at once.
        """
        return self._core.acquire(0, True, checked_timeout(True, timeout))

    def delete(self) -> bool:
        """Remove the latch from the server, which opens it; ``False`` if it did not exist."""
        return self._core.call("delete", 0) == 1
