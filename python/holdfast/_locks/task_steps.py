"""Calls for tasks, of whichever library the client is for: see ``steps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from holdfast import _core
    from holdfast._engine.process import AnyClient
    from holdfast._locks.steps import Steps

__all__ = ["drive", "request"]

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
