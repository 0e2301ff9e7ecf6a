"""The client for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._client import BaseClient

from ._lock import Lock
from ._loop import bridge
from ._multi_lock import MultiLock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from holdfast._arguments import Name, Seconds
    from holdfast._lock import BaseLock

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

    def multi_lock(
        self,
        *locks: BaseLock[Any],
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[MultiLock], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> MultiLock:
        """Several locks as one, all or none; they may belong to several clients."""
        return MultiLock(
            self, *locks, lease=lease, wait=wait, on_lost=on_lost, cancel_on_lost=cancel_on_lost
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
