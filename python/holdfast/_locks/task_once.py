"""What runs once, with its result kept on the server, for tasks; imported by the first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, overload

from holdfast._engine.arguments import Late
from holdfast._locks.decorators import ANY_NAME, checked_fields, checked_function, finished, naming
from holdfast._locks.once import RUNS, Attempt, BaseOnce, OnceSide, P, R, Status
from holdfast._locks.steps import time_of
from holdfast._locks.task_lock import Hold, Lock
from holdfast._locks.task_steps import drive

if TYPE_CHECKING:
    from holdfast._engine.arguments import Name
    from holdfast._locks import holders as late
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import


# Made by tools/tasks.py: RunnerLock


class RunnerLock(OnceSide, Lock):
    """The lock of the task that runs."""

    __slots__ = ("_key_of_once",)


# By hand:


class Once(BaseOnce):
    """A thing that runs once, by whichever task, and whose result all callers get.

    Made by ``client.once(key)``. Over all processes that use the key the first caller runs it, the
    others wait for it. The result is kept on the server for ``keep`` seconds.
    """

    __slots__ = ()

    @overload
    async def run(
        self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The kept result; without one, that of ``function(*args, **kwargs)``, run now.

        ``function``: a coroutine function, or any other, which then runs on the loop; an awaitable
        that it returns is awaited. While another caller runs it, this one waits for up to ``wait``
        seconds. All callers get what was kept: of JSON a tuple as a list. A task that is cancelled
        while it waits leaves nothing behind; one that is cancelled while it runs keeps nothing, and
        the next caller runs it.

        Raises what the function raises: nothing is kept, and the next caller runs it.
        ``LockTimeout`` when another caller still runs it. ``LockLostError`` when the hold was lost
        before the function's end: nothing is kept. ``ResultNotKeptError`` when the function has
        run, now or before, and its result cannot be kept: it is not JSON (in which ``Decimal``,
        times, ``UUID`` and bytes may be), has more than 1 MB, or is refused by the server.
        ``TypeError`` for what is no function. ``ConnectionError`` or ``ServerError`` when the
        server cannot be used; after the function's end the result may be kept or not.
        """
        checked_runnable(function)
        time = time_of(self._client._core, self._lock._wait)
        done = await drive(self._client, self._kept(time))
        if done is not None:
            return done.value
        hold = self._new_run(Hold)
        attempt = Attempt(hold, time)
        with attempt.keeping:  # whose end releases the lock
            done = await drive(self._client, self._begin(attempt, time))
            if done is None:
                result: Any = function(*args, **kwargs)
                result = finished(await result if isawaitable(result) else result, function)
                done = await drive(self._client, self._end(attempt, result, function))
        return done.value

    def _caller(self) -> object:
        return self._client._loops.current_task()

    # Made by tools/tasks.py, with _new_lock

    async def status(self) -> Status:
        """``"done"`` while a result is kept, ``"running"`` while a caller runs it, or ``"new"``.

        ``"done"``, too, where it has run and its result could not be kept.
        """
        return await drive(self._client, self._read_status())

    async def holders(self) -> list[late.Holder]:
        """Who runs it now, with what its client says of itself; see ``Lock.holders``."""
        return await drive(self._client, self._lock._holders())

    async def forget(self) -> bool:
        """Remove the kept result, so that the next caller runs it; ``True`` if there was one.

        A run under way goes on, and its result is kept at its end.
        """
        return await drive(self._client, self._delete())

    def _new_lock(self, name: Name, **options: Any) -> RunnerLock:
        return RunnerLock(self._client, name, **options)


def checked_runnable(function: Any) -> None:
    """Raise ``TypeError`` for what is neither a function nor a coroutine function."""
    try:
        checked_function(function, asynchronous=False)
    except TypeError:
        checked_function(function, asynchronous=True, what=RUNS)


# Made by tools/tasks.py: once_each, _decorated


def once_each(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``Client.once_each``."""
    fields = checked_fields(template)
    Once(client, ANY_NAME, **options)  # raises for invalid options; nothing is sent
    return partial(_decorated, client, template, fields, options)


def _decorated(
    client: Any, template: str, fields: list[str], options: dict[str, Any], function: Any, /
) -> Callable[..., Any]:
    checked_function(function, asynchronous=True, what=RUNS)
    key_of = naming(template, fields, function)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await Once(client, key_of(args, kwargs), **options).run(function, *args, **kwargs)

    return call
