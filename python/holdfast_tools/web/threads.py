"""Blocking calls of an event loop, in threads that do not hold up the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Shared", "in_thread"]

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """The outcome of `call`, which runs in a daemon thread.

    A cancelled await leaves the thread to itself: its outcome is dropped, and the interpreter does
    not wait for it, as it would for a thread of an executor.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as caught:  # noqa: BLE001 - the outcome is the awaiting task's
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="holdfast-inspect", daemon=True).start()
    return await future


class Shared(Generic[T]):
    """The value of a blocking call, which is made at most once per second for all callers."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._turn = asyncio.Lock()
        self._good_until = float("-inf")
        self._value: T

    async def value(self) -> T:
        """The value, at most a second old; raises what the call raised."""
        async with self._turn:
            loop = asyncio.get_running_loop()
            if loop.time() > self._good_until:
                self._value = await in_thread(self._call)
                self._good_until = loop.time() + 1.0
            return self._value
