"""The client for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast._client import BaseClient

from ._fair_lock import FairLock
from ._lock import Lock
from ._loop import bridge

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from holdfast._arguments import Name, Seconds

__all__ = ["Client"]


class Client(BaseClient[Lock]):
    """A client of one server for any number of event loops; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """

    _asynchronous = True

    def lock(
        self,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Lock], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> Lock:
        """A reentrant lock of this name; nothing is sent yet."""
        return Lock(
            self, name, lease=lease, wait=wait, on_lost=on_lost, cancel_on_lost=cancel_on_lost
        )

    def fair_lock(
        self,
        name: Name,
        queue_timeout: Seconds | None = None,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[FairLock], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> FairLock:
        """A lock that is granted in the order of asking; nothing is sent yet."""
        return FairLock(
            self,
            name,
            queue_timeout,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
        )

    async def ping(self) -> None:
        """Ask the server for a sign of life; raises when there is none."""
        loop = bridge()
        await loop.wait(self._core.start_ping(loop.queue))

    async def close(self) -> None:
        """End all waits with ``ConnectionError`` and stop renewing; release nothing."""
        self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
