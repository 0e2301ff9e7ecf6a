"""Between the engine and one event loop: an operation that ends wakes the task that waits for it.

The engine puts completions into a queue with an eventfd; the loop takes them out in batches.
"""

from __future__ import annotations

from asyncio import (
    AbstractEventLoop,
    CancelledError,
    Future,
    Task,
    current_task,
    get_running_loop,
    iscoroutine,
)
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize, ref

from holdfast import _core
from holdfast._events import logger

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bridge", "ask", "bridge", "call_on_loop", "owner_of_this_task", "task_of"]

#: To the engine: no owner. A caller outside of any task owns nothing.
NO_OWNER = 2**64 - 1


class Bridge:
    """The pending operations and the owners of one event loop. Used on its thread only."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.queue = _core.PendingQueue()
        self._owners: dict[Task[Any], int] = {}
        self._waiting: dict[int, tuple[Future[Any], Callable[[], object] | None]] = {}
        self._numbers: set[int] = set()  # of the owners
        # Only the loop's reader and its tasks keep this object: the waits and renewals of a loop
        # that is collected with unfinished tasks end with it.
        loop.add_reader(self.queue.fileno(), self._drain)
        finalize(self, _end_owners, self._numbers)

    def owner(self, task: Task[Any]) -> int:
        """The owner's number of a task; its holds are abandoned when it is done."""
        number = self._owners.get(task)
        if number is None:
            number = self._owners[task] = _core.next_owner()
            self._numbers.add(number)
            task.add_done_callback(self._task_done)
        return number

    def known_owner(self, task: Task[Any]) -> int | None:
        return self._owners.get(task)

    async def wait(self, number: int, undo: Callable[[], object] | None = None) -> Any:
        """Wait for operation `number`.

        When the task is cancelled meanwhile, or its coroutine closed, the operation is cancelled,
        too. If it had succeeded already (its result was ``True`` and on its way to the task),
        `undo` is called.
        """
        future = get_running_loop().create_future()
        self._waiting[number] = (future, undo)
        try:
            return await future
        except (CancelledError, GeneratorExit):
            if self._waiting.pop(number, None) is not None:
                self.queue.cancel(number)
            elif _granted(future) and undo is not None:
                undo()
            raise

    def _drain(self) -> None:
        for number, value, error in self.queue.drain():
            future, undo = self._waiting.pop(number, (None, None))
            if future is None:
                continue
            if future.cancelled():
                if undo is not None and value is True:
                    undo()
            elif error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

    def _task_done(self, task: Task[Any]) -> None:
        number = self._owners.pop(task, None)
        if number is not None:
            self._numbers.discard(number)
            _core.owner_ended(number, "task")


def _granted(future: Future[Any]) -> bool:
    return not future.cancelled() and future.exception() is None and future.result() is True


def _end_owners(numbers: set[int]) -> None:
    for number in numbers:
        _core.owner_ended(number, "task")


_callbacks: set[Task[Any]] = set()
_bridges: WeakKeyDictionary[AbstractEventLoop, tuple[int, ref[Bridge]]] = WeakKeyDictionary()


def bridge() -> Bridge:
    """The bridge of the running loop (made anew after ``fork()``)."""
    loop = get_running_loop()
    epoch, known = _bridges.get(loop, (0, None))
    found = known() if known is not None and epoch == _core.epoch() else None
    if found is None:
        found = Bridge(loop)
        _bridges[loop] = (_core.epoch(), ref(found))
    return found


def call_on_loop(report: Callable[[], Any], name: object) -> None:
    """Call what calls ``on_lost``; the coroutine that it may return is run as a task.

    What either raises is logged.
    """
    try:
        result = report()
    except Exception:
        log = logger()
        log.exception("on_lost of %r raised", name)
        return
    if not iscoroutine(result):
        return
    task = get_running_loop().create_task(result)
    _callbacks.add(task)  # the loop keeps no strong reference

    def done(task: Task[Any]) -> None:
        _callbacks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log = logger()
            log.error("on_lost of %r raised", name, exc_info=error)

    task.add_done_callback(done)


def task_of(number: int) -> Task[Any] | None:
    """The task that has that number as an owner, on whichever loop."""
    for _, known in list(_bridges.values()):
        loop = known()
        for task, owner in list(loop._owners.items()) if loop is not None else ():
            if owner == number:
                return task
    return None


async def ask(start: Callable[..., int], *arguments: Any) -> Any:
    """The result of an operation, which `start` starts with the queue of the running loop."""
    loop = bridge()
    return await loop.wait(start(loop.queue, *arguments))


def owner_of_this_task() -> int:
    """The number of the current task, ``NO_OWNER`` if it has none."""
    try:
        task = current_task()
    except RuntimeError:
        return NO_OWNER
    if task is None:
        return NO_OWNER
    return bridge().known_owner(task) or NO_OWNER
