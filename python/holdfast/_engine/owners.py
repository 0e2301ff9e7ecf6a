"""Tasks as owners, for the loops of all libraries."""

from __future__ import annotations

from os import register_at_fork
from typing import Any
from weakref import WeakSet, WeakValueDictionary, finalize, ref

from holdfast import _core
from holdfast._engine.process import NO_OWNER

_all: WeakValueDictionary[int, Owners] = WeakValueDictionary()  # by id()


class Owners:
    """The tasks of one loop that are owners. Used on its thread only."""

    def __init__(self) -> None:
        self._owners: dict[Any, int] = {}
        self._numbers: dict[int, ref[Any]] = {}  # of the owners
        self._watchers: dict[int, WeakSet[Any]] = {}  # by owner
        _all[id(self)] = self
        finalize(self, _end_owners, self._numbers)

    def number_of(self, task: Any) -> int:
        """The number of a task, ``NO_OWNER`` if it has none."""
        return self._owners.get(task, NO_OWNER)

    def new_owner(self, task: Any) -> int:
        """A number for a task that has none."""
        number = self._owners[task] = _core.next_owner()
        self._numbers[number] = ref(task)
        return number

    def add_watcher(self, owner: int, watcher: Any) -> None:
        """Until that task is done: of holds of it."""
        watchers = self._watchers.get(owner)
        if watchers is None:
            watchers = self._watchers[owner] = WeakSet()
        watchers.add(watcher)

    def task_done(self, task: Any) -> None:
        """Abandon the holds of a task."""
        number = self._owners.pop(task, None)
        if number is not None:
            self._numbers.pop(number, None)
            for watcher in self._watchers.pop(number, ()):
                watcher.owner_ends(number)
            _core.owner_ended(number, "task")

    def end(self) -> None:
        """The loop is gone: abandon the holds of its tasks."""
        _end_owners(self._numbers)


def _end_owners(numbers: dict[int, ref[Any]]) -> None:
    for number in numbers:
        _core.owner_ended(number, "task")


def task_of(number: int) -> Any:
    """The task that has that number as an owner, on whichever loop; ``None``: there is none."""
    for known in _all.valuerefs():  # a copy: other threads have loops, too
        owners = known()
        found = owners._numbers.get(number) if owners is not None else None
        if found is not None:
            return found()
    return None


register_at_fork(after_in_child=_all.clear)  # they are its parent's
