"""The count-down latch for asyncio: the twin of ``holdfast.CountDownLatch``."""

from __future__ import annotations

from holdfast._arguments import Seconds, checked_count, checked_timeout
from holdfast._count_down_latch import BaseCountDownLatch

from ._loop import request

__all__ = ["CountDownLatch"]


class CountDownLatch(BaseCountDownLatch):
    """A gate that opens when its count reaches zero, shared by all processes.

    Made by ``client.count_down_latch(name)``. As ``holdfast.CountDownLatch``.
    """

    __slots__ = ()

    async def try_set_count(self, n: int) -> bool:
        """Close the latch with a count of ``n``; ``False`` if it is closed already."""
        answer: int = await request(self._core.start_call, "try_set_count", checked_count("n", n))
        return answer == 1

    async def count_down(self) -> None:
        """Lower the count by one, as ``holdfast.CountDownLatch.count_down``.

        Cancelling the task does not stop it.
        """
        await request(self._core.start_call, "count_down", 0)

    async def count(self) -> int:
        """The count; 0: the latch is open."""
        count: int | None = await request(self._core.start_value)
        return max(0, count or 0)

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the latch is open, as ``holdfast.CountDownLatch.wait``."""
        opened: bool = await request(
            self._core.start_acquire, 0, True, checked_timeout(True, timeout)
        )
        return opened

    async def delete(self) -> bool:
        """Remove the latch from the server, which opens it; ``False`` if it did not exist."""
        answer: int = await request(self._core.start_call, "delete", 0)
        return answer == 1
