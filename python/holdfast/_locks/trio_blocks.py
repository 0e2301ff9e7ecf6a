"""What begins and ends blocks, for trio: Ctrl-C waits there until the next checkpoint.

Between any two steps it would leave what was granted, or is not released yet. The waits stay
cancellable: each is a checkpoint, which Ctrl-C ends at once. The client for asyncio has the same
functions, and none of this: there Ctrl-C cancels the main task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio.lowlevel import enable_ki_protection

from holdfast._locks.task_leader import Leader
from holdfast._locks.task_lock import Lock
from holdfast._locks.task_semaphores import PermitSemaphore, Semaphore
from holdfast._locks.task_slots import Slots
from holdfast._locks.task_steps import Block, end_block

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCKS: list[Callable[..., Any]] = [
    Lock._enter_watched,
    Lock._exit_watched,
    Lock._end_watched,
    Semaphore.__aenter__,
    PermitSemaphore.__aenter__,
    Slots.__aenter__,
    Leader.__aenter__,
    Block.__aexit__,
    end_block,
]


def protect() -> None:
    """Mark their code, which adds nothing to a call; a second time has no effect."""
    for each in _BLOCKS:
        enable_ki_protection(each)
