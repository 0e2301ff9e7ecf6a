"""Connects the engine to one run of trio, as ``loop`` to a loop of asyncio.

A system task of the run waits until the descriptor of a queue is readable, and continues the tasks
whose operations have ended.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import copy_context
from functools import partial
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, TypeVar

import trio
from outcome import Error, Value
from trio.lowlevel import (
    Abort,
    RunVar,
    Task,
    add_instrument,
    checkpoint,
    current_task,
    current_trio_token,
    enable_ki_protection,
    remove_instrument,
    reschedule,
    spawn_system_task,
    wait_readable,
    wait_task_rescheduled,
)

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.errors import LockLostError
from holdfast._engine.owners import Owners
from holdfast._engine.process import NO_OWNER
from holdfast._engine.workers import raise_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from outcome import Outcome

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
]

Result = TypeVar("Result")

# Of ``process.Loops``, as which the kinds of locks see this module.
CANCELLED: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)
REPEATED: tuple[type[BaseException], ...] = (trio.Cancelled,)


class Bridge(Owners, trio.abc.Instrument):
    """The pending operations and the owners of one run. Used on its thread only."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch = _core.epoch()
        self._queue = _core.TaskQueue(self)
        self._waiting: dict[Any, Callable[[Outcome[Any]], object]] = {}
        self._reader: trio.CancelScope | None = None  # of the system task
        self._sees_exits = False

    @enable_ki_protection
    async def start(self, exchange: _core.Exchange[Result]) -> Result:
        """The result of an exchange; a checkpoint, also where that is there at once."""
        pending = self._queue.start(exchange)

        def abort(_: object) -> Abort:
            del self._waiting[pending]
            pending.close()
            return Abort.SUCCEEDED

        if self._reader is None and not self._begin_reading():
            result: Result = await self._read_alone(pending, abort)
            return result
        self._waiting[pending] = partial(reschedule, current_task())
        try:
            result = await wait_task_rescheduled(abort)
        except LockLostError as error:
            about = exchange.loss_of(str(error))
            if about is not None:
                error.args = (await explained(*about),)
            raise
        return result

    def owner(self) -> int:
        """The number of the current task; its holds are abandoned when it is done."""
        task = current_task()
        number = self._owners.get(task)
        if number is None:
            if not self._sees_exits:
                add_instrument(self)
                self._sees_exits = True
            number = self.new_owner(task)
        return number

    def known_owner(self) -> int:
        """The number of the current task, ``NO_OWNER`` if it has none."""
        return self.number_of(current_task())

    def task_exited(self, task: Task) -> None:
        """Of trio, for each task of the run."""
        self.task_done(task)

    def leave(self) -> None:
        """Wait for nothing, unless a task does; look at no task's exit, unless it is an owner."""
        if self._waiting:
            return
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        if self._sees_exits and not self._owners:
            self._sees_exits = False
            with suppress(KeyError):
                remove_instrument(self)

    def _begin_reading(self) -> bool:
        """Start the system task; whether there is one: not at the run's end."""
        scope = trio.CancelScope()
        try:
            spawn_system_task(self._read, scope, name="holdfast")
        except RuntimeError:
            return False
        self._reader = scope
        return True

    async def _read(self, scope: trio.CancelScope) -> None:
        try:
            with scope:
                while True:
                    await self._turn()
        except trio.Cancelled:  # at the run's end: only shielded calls still wait
            with trio.CancelScope(shield=True):
                while self._waiting:
                    await self._turn()
            self._reader = None
            raise

    async def _turn(self) -> None:
        await wait_readable(self._queue.fileno())
        for pending, value, error in self._queue.drain():
            done = self._waiting.pop(pending, None)
            if done is not None:
                done(Value(value) if error is None else Error(error))

    async def _read_alone(self, pending: Any, abort: Callable[[object], object]) -> Any:
        """The same of an exchange that an async generator begins after all system tasks."""
        got: list[Outcome[Any]] = []
        self._waiting[pending] = got.append
        try:
            while not got:
                await self._turn()
        except BaseException:
            abort(None)
            raise
        return got[0].unwrap()


class Term:
    """What the current task does from now on, which may be cancelled alone."""

    __slots__ = ("_scope",)

    def __init__(self) -> None:
        self._scope = trio.CancelScope()
        self._scope.__enter__()

    def cancel(self) -> None:
        """On the run's thread."""
        self._scope.cancel()

    def end(self, error: BaseException | None) -> BaseException | None:
        """What of its error ``cancel()`` has not caused, of a group of errors without that."""
        trace = None if error is None else error.__traceback__
        try:
            caught = self._scope.__exit__(None if error is None else type(error), error, trace)
        except RuntimeError as rest:
            if not str(rest).startswith("Cancel scope stack corrupted"):
                return rest
            msg = (
                "a block with cancel_on_lost is a cancel scope, which ends in the task that has "
                "begun it, before those around it and after those inside of it: an async generator "
                "must not yield inside of one"
            )
            wrong = RuntimeError(msg)
            wrong.__cause__ = rest
            return wrong
        except BaseException as rest:  # noqa: BLE001 - the caller raises it
            return rest
        return None if caught else error


_bridge: RunVar[Bridge | None] = RunVar("holdfast")


def bridge() -> Bridge:
    """The bridge of the current run (made anew after ``fork()``)."""
    try:
        found = _bridge.get(None)
    except RuntimeError as error:
        msg = (
            "holdfast.trio works in tasks of trio, and this code runs in none: call it inside of "
            "trio.run(), or use holdfast.asyncio.Client in a task of asyncio, "
            "holdfast.anyio.Client in either"
        )
        raise RuntimeError(msg) from error
    if found is None or found.epoch != _core.epoch():
        found = Bridge()
        _bridge.set(found)
    return found


def owner_of_this_task() -> int:
    """The number of the current task, ``NO_OWNER`` if it has none, or trio does not run."""
    try:
        return bridge().known_owner()
    except RuntimeError:
        return NO_OWNER


def leave_loop() -> None:
    """After the last client was closed: let go of the run, unless other tasks wait."""
    if not _core.events_running():
        bridge().leave()


def name_of(task: Task) -> str:
    """The name of a task."""
    return task.name


def caller() -> Callable[..., None]:
    """Calls ``(context, function, *arguments)`` in the current run, while that lasts."""
    return partial(_call, current_trio_token())


def _call(
    token: trio.lowlevel.TrioToken,
    context: Context,
    function: Callable[..., object],
    *arguments: Any,
) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(partial(context.run, function, *arguments))


def call_on_loop(report: Callable[[], Any], subject: Any) -> None:
    """Call what calls ``on_lost`` of an object; the coroutine that it may return is run as a task.

    What either raises is logged: it would end the run.
    """
    try:
        result = report()
        if iscoroutine(result):
            spawn_system_task(_finish, result, subject, context=copy_context())
    except BaseException as error:  # noqa: BLE001 - also SystemExit
        subject._log_raised(error)


async def _finish(coroutine: Coroutine[Any, Any, object], subject: Any) -> None:
    try:
        await coroutine
    except trio.Cancelled:
        raise
    except BaseException as error:  # noqa: BLE001 - also SystemExit
        subject._log_raised(error)


async def explained(text: str, *about: Any) -> str:
    """The text of a loss, with who has released the lock by force, as ``explained_text()``."""
    ask = partial(_events.explained_text, text, *about)
    try:
        return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)
    except (RuntimeError, OSError, ImportError) as error:
        raise_interrupt(error)
    return text  # no thread or descriptor is left for it
