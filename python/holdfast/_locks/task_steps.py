"""Calls for tasks: see ``steps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from holdfast._engine.loop import bridge

if TYPE_CHECKING:
    from holdfast._locks.steps import Steps

T = TypeVar("T")


async def drive(steps: Steps[T]) -> T:
    """Carry out a call in the current task, as ``holdfast._locks.steps.run``."""
    try:
        exchange = next(steps)
        while True:
            try:
                result = await exchange.start(bridge().queue)
            except BaseException as error:  # noqa: BLE001 - a cancellation, too
                exchange = steps.throw(error)
            else:
                exchange = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()  # where the task was cancelled between two exchanges
