"""What the client for tasks has beside that for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast._clients.base import BaseClient
from holdfast._engine.loop import leave_loop, task_of

if TYPE_CHECKING:
    from holdfast import _core


class TaskClient(BaseClient):
    """The common part of clients whose owners are tasks."""

    _asynchronous = True

    def _caller_title(self, number: int) -> str:
        task = task_of(number)
        return "another owner" if task is None else f"task {task.get_name()!r}"

    def _has_closed(self, closing: _core.Closing) -> None:
        leave_loop()
        super()._has_closed(closing)
