"""Connects the engine to one event loop of asyncio.

The loop polls the descriptor of a queue. Its native part reads the server's replies, or takes the
operations that another thread has completed, and resumes the tasks that wait for them.
"""

from __future__ import annotations

import sys
from asyncio import (
    AbstractEventLoop,
    CancelledError,
    Task,
    current_task,
    get_running_loop,
    iscoroutine,
    to_thread,
)
from contextlib import suppress
from functools import partial
from os import register_at_fork
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, ref

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.owners import Owners
from holdfast._engine.process import NO_OWNER
from holdfast._engine.workers import raise_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context


__all__ = [
    "CANCELLED",
    "REPEATED",
    "Bridge",
    "Term",
    "bridge",
    "call_on_loop",
    "caller",
    "checkpoint",
    "current_task",
    "explained",
    "leave_loop",
    "name_of",
    "owner_of_this_task",
    "this_task",
]

# Of ``process.Loops``, as which the kinds of locks see this module.
CANCELLED: tuple[type[BaseException], ...] = (CancelledError,)
REPEATED: tuple[type[BaseException], ...] = ()


class Bridge(Owners):
    """The pending operations and the owners of one event loop. Used on its thread only."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        super().__init__()
        self.loop = ref(loop)
        self.join(loop)

    def join(self, loop: AbstractEventLoop) -> None:
        """The loop polls for the operations of its tasks.

        Only the loop's reader and its tasks keep this object: the waits and renewals of a loop that
        is collected, or closed, with unfinished tasks end with it.
        """
        self.queue = _core.TaskQueue(loop, self._owners)
        self.start = self.queue.start
        loop.add_reader(self.queue.fileno(), self.queue.drain, _Reader(self))

    def owner(self) -> int:
        """The number of the current task; its holds are abandoned when it is done.

        Raises ``RuntimeError`` outside of any task.
        """
        task = this_task(self.loop())
        number = self._owners.get(task)
        if number is None:
            number = self.new_owner(task)
            task.add_done_callback(self.task_done)
        return number

    def known_owner(self) -> int:
        """The number of the current task, ``NO_OWNER`` if it has none."""
        return self.number_of(current_task(self.loop()))

    def leave(self) -> None:
        """The loop polls nothing of the library any more, until it joins again.

        What remains are the owners: a task's known loss stays known.
        """
        get_running_loop().remove_reader(self.queue.fileno())
        self.queue.end()
        del self.queue, self.start

    def end(self) -> None:
        """The loop was closed: its tasks wait for nothing any more, and their holds are left."""
        self.queue.end()
        super().end()


class _Reader:
    """What only the loop's reader keeps: a loop that is closed drops it, with tasks or without."""

    def __init__(self, of: Bridge) -> None:
        self._bridge = of

    def __del__(self) -> None:
        loop = self._bridge.loop()
        if loop is not None and loop.is_closed():
            self._bridge.end()


class Term:
    """What the current task does from now on, which may be cancelled alone."""

    __slots__ = ("_before", "_cancelled", "_task")

    def __init__(self) -> None:
        task = this_task()
        self._task: ref[Task[Any]] = ref(task)
        self._cancelled = False
        self._before = 0
        if sys.version_info >= (3, 11):
            self._before = task.cancelling()

    def cancel(self) -> None:
        """On the loop's thread."""
        task = self._task()
        self._cancelled = task is not None and task.cancel()

    def end(self, error: BaseException | None) -> BaseException | None:
        """What of its error ``cancel()`` has not caused; undoes that."""
        if not self._cancelled:
            return error
        if sys.version_info >= (3, 11) and this_task().uncancel() > self._before:
            return error  # it was also cancelled from elsewhere
        return None if isinstance(error, CancelledError) else error


def this_task(loop: AbstractEventLoop | None = None) -> Task[Any]:
    """The current task, of the running loop if none is given; raises outside of any task."""
    task = current_task(loop)
    if task is None:
        msg = (
            OF_TRIO
            if _inside_trio()
            else (
                "only a task can acquire or release a lock, and this code runs in none: "
                "call it from a coroutine that asyncio.run() or create_task() runs"
            )
        )
        raise RuntimeError(msg)
    return task


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


#: Of a call in a task of trio.
OF_TRIO: Final = (
    "holdfast.asyncio works in tasks of asyncio, and this is a task of trio: use "
    "holdfast.trio.Client, or holdfast.anyio.Client, which works in both"
)


def _running_loop() -> AbstractEventLoop:
    try:
        return get_running_loop()
    except RuntimeError as error:
        if not _inside_trio():
            raise
        raise RuntimeError(OF_TRIO) from error


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


def caller() -> Callable[..., None]:
    """Calls ``(context, function, *arguments)`` on the running loop, which it does not keep."""
    return partial(_call, ref(get_running_loop()))


def _call(
    of: ref[AbstractEventLoop], context: Context, function: Callable[..., Any], *arguments: Any
) -> None:
    loop = of()
    if loop is not None:
        with suppress(RuntimeError):  # it was closed
            loop.call_soon_threadsafe(function, *arguments, context=context)


async def checkpoint() -> None:
    """A call that asks no server lets no other task run."""


def name_of(task: Task[Any]) -> str:
    """The name of a task."""
    return task.get_name()


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
