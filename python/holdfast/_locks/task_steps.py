"""Calls for tasks, of whichever library the client is for: see ``steps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from holdfast._engine.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

    from holdfast import _core
    from holdfast._engine.process import AnyClient
    from holdfast._locks.steps import Steps

T = TypeVar("T")


async def request(of: AnyClient, exchange: _core.Exchange[T]) -> T:
    """The result of an exchange, for the current task."""
    return await of._loops.bridge().start(exchange)


async def drive(of: AnyClient, steps: Steps[T]) -> T:
    """Carry out a call in the current task, as ``holdfast._locks.steps.run``."""
    bridge = of._loops.bridge
    try:
        exchange = next(steps)
    except StopIteration as end:  # it asks no server
        await of._loops.checkpoint()
        at_once: T = end.value
        return at_once
    try:
        while True:
            try:
                result = await bridge().start(exchange)
            except BaseException as error:  # noqa: BLE001 - a cancellation, too
                exchange = steps.throw(error)
            else:
                exchange = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()  # where the task was cancelled between two exchanges


async def end_block(
    block: Any, releasing: Coroutine[Any, Any, None], body: BaseException | None
) -> None:
    """Release at the end of a block; an error of that must not hide the error of the body."""
    try:
        await releasing
    except block._client._loops.REPEATED:
        if body is None:
            raise
    except HoldfastError as error:
        if body is None:
            raise
        if body is not error:
            block._note(body, error)


class Block:
    """What is released at the end of ``async with``, by ``_at_end()``."""

    __slots__ = ()

    def _at_end(self) -> Coroutine[Any, Any, None]:
        raise NotImplementedError

    def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> Coroutine[Any, Any, None]:
        """Release it.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """
        # No coroutine function: in trio Ctrl-C of just before is found here, not by the caller
        # that has the coroutine and has not begun it.
        return end_block(self, self._at_end(), exc)
