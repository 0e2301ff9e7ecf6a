"""What the client for tasks has beside that for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from holdfast._clients.base import BaseClient
from holdfast._engine import loop as _loop
from holdfast._engine.owners import task_of

if TYPE_CHECKING:
    from holdfast import _core
    from holdfast._engine.process import Loops


class TaskClient(BaseClient):
    """The common part of clients whose owners are tasks."""

    _asynchronous = True
    _package = "holdfast.asyncio"
    _loops = cast("Loops", _loop)  # no annotation, which programs evaluate
    _native = True

    def _caller_title(self, number: int) -> str:
        name = self._caller_name(number)
        return f"task {name!r}" if name else "another owner"

    def _caller_name(self, number: int) -> str:
        task = task_of(number)
        return "" if task is None else self._loops.name_of(task)

    def _has_closed(self, closing: _core.Closing) -> None:
        self._loops.leave_loop()
        super()._has_closed(closing)
