"""What runs once, with its result kept on the server, for asyncio; imported by the first use."""

from __future__ import annotations

from asyncio import current_task
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from holdfast._engine.errors import HoldfastError, LockTimeout, is_busy
from holdfast._locks.decorators import ANY_NAME, checked_fields, checked_function, finished, naming
from holdfast._locks.force import raised
from holdfast._locks.once import RUNS, BaseOnce, Command, OnceSide, Status
from holdfast._locks.task_lock import Hold, Lock, acquire_for
from holdfast._locks.task_steps import send_commands, step

if TYPE_CHECKING:
    from holdfast._engine.arguments import Name

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["Once", "once_each"]


class RunnerLock(OnceSide, Lock):
    """The lock of the task that runs."""

    __slots__ = ("_key_of_once",)


class Once(BaseOnce):
    """A thing that runs once, by whichever task, and whose result all callers get.

    Made by ``client.once(key)``; as ``holdfast.Once``.
    """

    __slots__ = ()

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The kept result; without one, that of ``function(*args, **kwargs)``, run now.

        As ``holdfast.Once.run``. ``function``: a coroutine function, or any other, which then runs
        on the loop; an awaitable that it returns is awaited. A task that is cancelled while it
        waits leaves nothing behind; one that is cancelled while it runs keeps nothing, and the next
        caller runs it.
        """
        checked_runnable(function)
        done = self._found((await self._ask(self._read()))[0])
        if done is not None:
            return done.value
        run, entered = self._new_run(Hold), False
        try:
            await acquire_for(run)
            async with run:
                entered = True
                done = self._found((await self._ask(self._read()))[0])
                if done is None:
                    result = function(*args, **kwargs)
                    result = finished(await result if isawaitable(result) else result, function)
                    data, made = self._made(run, result, function)
                    self._kept(await step(*self._store(run, data)))
                    done = made
        except HoldfastError as error:
            if not entered and isinstance(error, LockTimeout) and is_busy(error):
                done = self._found((await self._ask(self._read()))[0])  # others read it one by one
            if done is None:
                raise  # else the release has failed, which the engine goes on with
        return done.value

    async def status(self) -> Status:
        """``"new"``, ``"running"`` or ``"done"``, as ``holdfast.Once.status``."""
        there, locked = await self._ask(self._look())
        return self._status(there, locked)

    async def forget(self) -> bool:
        """Remove the kept result, as ``holdfast.Once.forget``; ``True`` if there was one."""
        return bool((await self._ask(self._delete()))[0])

    def _caller(self) -> object:
        return current_task()

    def _new_lock(self, name: Name, **options: Any) -> RunnerLock:
        return RunnerLock(self._client, name, **options)

    async def _ask(self, commands: list[Command]) -> list[Any]:
        return raised(await send_commands(self._client._core, self._key, commands))


def checked_runnable(function: Any) -> None:
    """Raise ``TypeError`` for what is neither a function nor a coroutine function."""
    try:
        checked_function(function, asynchronous=False)
    except TypeError:
        checked_function(function, asynchronous=True, what=RUNS)


def once_each(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``holdfast.asyncio.Client.once_each``."""
    fields = checked_fields(template)
    Once(client, ANY_NAME, **options)  # raises for invalid options; nothing is sent
    return partial(_decorated, client, template, fields, options)


def _decorated(
    client: Any, template: str, fields: list[str], options: dict[str, Any], function: Any, /
) -> Callable[..., Coroutine[Any, Any, Any]]:
    checked_function(function, asynchronous=True, what=RUNS)
    key_of = naming(template, fields, function)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await Once(client, key_of(args, kwargs), **options).run(function, *args, **kwargs)

    return call
