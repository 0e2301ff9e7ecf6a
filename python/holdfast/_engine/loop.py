"""Connects the engine to one event loop.

The loop polls the descriptor of a queue. Its native part reads the server's replies, or takes the
operations that another thread has completed, and resumes the tasks that wait for them.
"""

from __future__ import annotations

import sys
from asyncio import (
    AbstractEventLoop,
    Task,
    current_task,
    get_running_loop,
    iscoroutine,
    to_thread,
)
from os import register_at_fork
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, finalize, ref

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.process import NO_OWNER
from holdfast._engine.workers import raise_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "Bridge",
    "bridge",
    "call_on_loop",
    "explained",
    "leave_loop",
    "owner_of_this_task",
    "request",
    "task_of",
    "this_task",
]

Result = TypeVar("Result")


class Bridge:
    """The pending operations and the owners of one event loop. Used on its thread only."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = ref(loop)
        self._owners: dict[Task[Any], int] = {}
        self._numbers: dict[int, ref[Task[Any]]] = {}  # of the owners
        self._watchers: dict[int, WeakSet[Any]] = {}  # by owner
        self.join(loop)
        finalize(self, _end_owners, self._numbers)

    def join(self, loop: AbstractEventLoop) -> None:
        """The loop polls for the operations of its tasks.

        Only the loop's reader and its tasks keep this object: the waits and renewals of a loop that
        is collected, or closed, with unfinished tasks end with it.
        """
        self.queue = _core.TaskQueue(loop, self._owners)
        loop.add_reader(self.queue.fileno(), self.queue.drain, _Reader(self))

    def owner(self) -> int:
        """The number of the current task; its holds are abandoned when it is done.

        Raises ``RuntimeError`` outside of any task.
        """
        task = this_task(self.loop())
        number = self._owners.get(task)
        if number is None:
            number = self._owners[task] = _core.next_owner()
            self._numbers[number] = ref(task)
            task.add_done_callback(self._task_done)
        return number

    def known_owner(self) -> int:
        """The number of the current task, ``NO_OWNER`` if it has none."""
        task = current_task(self.loop())
        return self._owners.get(task, NO_OWNER) if task is not None else NO_OWNER

    def add_watcher(self, owner: int, watcher: Any) -> None:
        """Until that task is done: of holds of it."""
        watchers = self._watchers.get(owner)
        if watchers is None:
            watchers = self._watchers[owner] = WeakSet()
        watchers.add(watcher)

    def leave(self) -> None:
        """The loop polls nothing of the library any more, until it joins again.

        What remains are the owners: a task's known loss stays known.
        """
        get_running_loop().remove_reader(self.queue.fileno())
        self.queue.end()
        del self.queue

    def end(self) -> None:
        """The loop was closed: its tasks wait for nothing any more, and their holds are left."""
        self.queue.end()
        _end_owners(self._numbers)

    def _task_done(self, task: Task[Any]) -> None:
        number = self._owners.pop(task, None)
        if number is not None:
            self._numbers.pop(number, None)
            for watcher in self._watchers.pop(number, ()):
                watcher.owner_ends(number)
            _core.owner_ended(number, "task")


class _Reader:
    """What only the loop's reader keeps: a loop that is closed drops it, with tasks or without."""

    def __init__(self, of: Bridge) -> None:
        self._bridge = of

    def __del__(self) -> None:
        loop = self._bridge.loop()
        if loop is not None and loop.is_closed():
            self._bridge.end()


def this_task(loop: AbstractEventLoop | None = None) -> Task[Any]:
    """The current task, of the running loop if none is given; raises outside of any task."""
    task = current_task(loop)
    if task is None:
        msg = (
            "only a task can acquire or release a lock, and this code runs in none: "
            "call it from a coroutine that asyncio.run() or create_task() runs"
        )
        raise RuntimeError(msg)
    return task


def _end_owners(numbers: dict[int, ref[Task[Any]]]) -> None:
    for number in numbers:
        _core.owner_ended(number, "task")


_callbacks: set[Task[Any]] = set()
_bridges: WeakKeyDictionary[AbstractEventLoop, ref[Bridge]] = WeakKeyDictionary()


def _no_bridge() -> None:
    return None


_latest: Callable[[], Bridge | None] = _no_bridge  # of the loop that asked last


def bridge() -> Bridge:
    """The bridge of the running loop (made anew after ``fork()``)."""
    global _latest  # noqa: PLW0603
    loop = _running_loop()
    found = _latest()
    if found is not None and found.loop() is loop:
        return found
    known = _bridges.get(loop)
    found = known() if known is not None else None
    if found is None:
        found = Bridge(loop)
        _bridges[loop] = ref(found)
    elif not hasattr(found, "queue"):  # it has left
        found.join(loop)
    _latest = ref(found)
    return found


def _running_loop() -> AbstractEventLoop:
    try:
        return get_running_loop()
    except RuntimeError as error:
        if not _inside_trio():
            raise
        msg = (
            "holdfast.asyncio works in tasks of asyncio, and this is a task of trio: use "
            "holdfast.Client by trio.to_thread.run_sync(), with lock.hold() in the place of "
            "`async with lock`, since a hold belongs to no thread"
        )
        raise RuntimeError(msg) from error


def _inside_trio() -> bool:
    trio: Any = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def leave_loop() -> None:
    """After the last client was closed: let go of the running loop, unless other tasks wait."""
    global _latest  # noqa: PLW0603
    found = bridge()
    if not _core.events_running() and found.queue.idle():
        _latest = _no_bridge
        found.leave()


def _forget_bridges() -> None:
    """In a child of ``fork()``: the bridges are its parent's."""
    global _latest  # noqa: PLW0603
    _bridges.clear()
    _latest = _no_bridge


register_at_fork(after_in_child=_forget_bridges)


def call_on_loop(report: Callable[[], Any], subject: Any) -> None:
    """Call what calls ``on_lost`` of an object; the coroutine that it may return is run as a task.

    What either raises is logged.
    """
    try:
        result = report()
    except Exception as error:  # noqa: BLE001 - any, of the program's code
        subject._log_raised(error)
        return
    if not iscoroutine(result):
        return
    task = get_running_loop().create_task(result)
    _callbacks.add(task)  # the loop keeps no strong reference

    def done(task: Task[Any]) -> None:
        _callbacks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            subject._log_raised(error)

    task.add_done_callback(done)


def task_of(number: int) -> Task[Any] | None:
    """The task that has that number as an owner, on whichever loop."""
    for known in _bridges.keyrefs():  # a copy: other threads have loops, too
        loop = known()
        found = _bridges.get(loop, _no_bridge)() if loop is not None else None
        task = found._numbers.get(number) if found is not None else None
        if task is not None:
            return task()
    return None


async def request(exchange: _core.Exchange[Result]) -> Result:
    """The result of an exchange, for a task of the running loop."""
    return await exchange.start(bridge().queue)


async def explained(text: str, *about: Any) -> str:
    """The text of a loss, with who has released the lock by force, as ``explained_text()``."""
    try:
        return await to_thread(_events.explained_text, text, *about)
    except (RuntimeError, OSError, ImportError) as error:
        raise_interrupt(error)
    return text  # no thread or descriptor is left for it, or the loop closes


def owner_of_this_task() -> int:
    """The number of the current task, ``NO_OWNER`` if it has none, or no loop runs."""
    try:
        return bridge().known_owner()
    except RuntimeError:
        return NO_OWNER
