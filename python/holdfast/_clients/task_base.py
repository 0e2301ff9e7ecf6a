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
        name = self._caller_name(number)
        return f"task {name!r}" if name else "another owner"

    def _caller_name(self, number: int) -> str:
        task = task_of(number)
        return "" if task is None else task.get_name()

    def _has_closed(self, closing: _core.Closing) -> None:
        leave_loop()
        super()._has_closed(closing)
