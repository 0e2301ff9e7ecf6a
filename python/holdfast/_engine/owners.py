"""Tasks as owners, for the loops of all libraries, and what a loop is to the kinds of locks."""

from __future__ import annotations

from os import register_at_fork
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary, finalize, ref

from holdfast import _core
from holdfast._engine.process import NO_OWNER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Protocol, TypeVar

    Result = TypeVar("Result")

    class Bridge(Protocol):
        """What connects the engine to the running loop."""

        # Begins an exchange for the current task, which awaits the result at once. A task that is
        # cancelled meanwhile leaves nothing behind; a release goes on.
        @property
        def start(self) -> Callable[[_core.Exchange[Result]], Awaitable[Result]]: ...
        # The number of the current task; its holds are abandoned when it is done.
        def owner(self) -> int: ...
        # The same, ``NO_OWNER`` if it has none.
        def known_owner(self) -> int: ...
        # Of holds of that task, until it is done.
        def add_watcher(self, owner: int, watcher: Any, /) -> None: ...

    class Term(Protocol):
        """What the current task does from now on, which may be cancelled alone."""

        # On the loop's thread.
        def cancel(self) -> None: ...
        # In that task: what of its error cancel() has not caused.
        def end(self, error: BaseException | None, /) -> BaseException | None: ...

    class Loops(Protocol):
        """A library whose tasks are owners: the modules ``loop`` and ``trio_run``."""

        #: What a task raises that is cancelled while it waits.
        CANCELLED: tuple[type[BaseException], ...]
        #: Of these, what it raises again at its next wait: another error may take the place.
        REPEATED: tuple[type[BaseException], ...]

        @property
        def Term(self) -> Callable[[], Term]: ...  # noqa: N802 - a class
        # Of the running loop; RuntimeError where none of the library runs.
        def bridge(self) -> Bridge: ...
        def current_task(self) -> object: ...
        def name_of(self, task: Any, /) -> str: ...
        # The number of the current task, ``NO_OWNER`` if it has none, or no loop runs.
        def owner_of_this_task(self) -> int: ...
        # Calls (context, function, *arguments) on the running loop, from any thread.
        def caller(self) -> Callable[..., None]: ...
        # Calls what calls on_lost of an object, and runs the coroutine that it may return; what
        # either raises is logged.
        def call_on_loop(self, report: Callable[[], Any], subject: Any, /) -> None: ...
        # The text of a loss, with who has released the lock by force: explained_text().
        def explained(self, text: str, /, *about: Any) -> Awaitable[str]: ...
        # After the last client was closed: lets go of the running loop, if no task waits.
        def leave_loop(self) -> None: ...


__all__ = ["Owners", "task_of"]

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
