"""Locks around the calls of functions and of coroutine functions.

It is imported by the first decoration, so programs without one start faster.
"""

from __future__ import annotations

import inspect
import string
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from holdfast._engine.errors import LockTimeout, is_busy
from holdfast._locks.kinds import COUNTING, LOCKING, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal, TypedDict

    from typing_extensions import Required

    from holdfast._engine.arguments import Seconds
    from holdfast._locks.kinds import Decorating

    class _Options(TypedDict, total=False):
        kind: Decorating
        lease: Seconds | None
        at_least: Seconds | None
        on_lost: Callable[[Any], object] | None
        permits: int | None
        label: str | None

    class Calling(_Options, total=False):
        """A decorator: each call runs, or raises."""

        busy: Literal["wait", "raise"]
        wait: Seconds | None

    class Skipping(_Options, total=False):
        """A decorator: a call may be skipped."""

        busy: Required[Literal["skip"]]
        wait: None


BUSY = ("wait", "raise", "skip")

#: A lock of this name is made to check the other arguments; it sends nothing.
ANY_NAME = "name"


def decorated(lock: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called inside ``with lock:``."""
    checked_function(function, asynchronous=False)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with lock:
            return finished(function(*args, **kwargs), function)

    return call


def async_decorated(lock: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The coroutine function, called inside ``async with lock:``."""
    checked_function(function, asynchronous=True)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        async with lock:
            return finished(await function(*args, **kwargs), function)

    return call


def locked(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``holdfast.Client.locked``."""
    return partial(_locked, _naming(client, template, options))


def async_locked(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``holdfast.asyncio.Client.locked``."""
    return partial(_async_locked, _naming(client, template, options))


def _naming(client: Any, template: str, options: dict[str, Any]) -> Naming:
    known = inspect.signature(Naming).parameters
    for name in options:
        if name not in known:
            msg = f"locked() got an unexpected keyword argument {name!r}"
            raise TypeError(msg)
    return Naming(client, template, **options)


def _locked(naming: Naming, function: Callable[..., Any], /) -> Callable[..., Any]:
    checked_function(function, asynchronous=False)
    lock_of = naming.bound_to(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        entered = False
        try:
            # Not an ExitStack: a signal handler may raise between the grant and its push.
            with lock_of(args, kwargs):
                entered = True
                return finished(function(*args, **kwargs), function)
        except LockTimeout as error:
            if entered or not naming.skips(error):
                raise
            return None

    return call


def _async_locked(naming: Naming, function: Callable[..., Any], /) -> Callable[..., Any]:
    checked_function(function, asynchronous=True)
    lock_of = naming.bound_to(function)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        entered = False
        try:
            async with lock_of(args, kwargs):
                entered = True
                return finished(await function(*args, **kwargs), function)
        except LockTimeout as error:
            if entered or not naming.skips(error):
                raise
            return None

    return call


class Naming:
    """The arguments of ``locked``, checked: which lock belongs to a call. Times are seconds."""

    def __init__(
        self,
        client: Any,
        template: str,
        *,
        kind: str = "lock",
        busy: str = "wait",
        wait: Seconds | None = None,
        lease: Seconds | None = None,
        at_least: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        permits: int | None = None,
        label: str | None = None,
    ) -> None:
        checked_word("kind", kind, (*LOCKING, *COUNTING))
        checked_word("busy", busy, BUSY)
        if busy != "wait" and wait is not None:
            msg = f"wait cannot be given with busy={busy!r}: only busy='wait' waits"
            raise ValueError(msg)
        self._template = template
        self._fields = checked_fields(template)
        self._busy = busy
        self._client = client
        self._kind = kind
        more = {"lease": lease, "at_least": at_least, "on_lost": on_lost, "label": label}
        more["permits"] = permits
        self._options: dict[str, Any] = checked_more(kind, more)
        self._options["wait"] = wait if busy == "wait" else 0
        self._lock(template if not self._fields else ANY_NAME)

    def _lock(self, name: str) -> Any:
        kind = kind_of(self._kind)
        made = getattr(self._client, kind.word)(name, **self._options)
        return getattr(made, self._kind) if kind.sides else made

    def bound_to(self, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        """The function that returns the lock for a call of `function` with (args, kwargs)."""
        if not self._fields:
            lock = self._lock(self._template.format())
            return lambda args, kwargs: lock
        name_of = naming(self._template, self._fields, function)
        return lambda args, kwargs: self._lock(name_of(args, kwargs))

    def skips(self, error: LockTimeout) -> bool:
        """Whether to skip the call: the lock is busy, and no server refused to work."""
        return self._busy == "skip" and is_busy(error)


def naming(
    template: str, fields: list[str], function: Callable[..., Any]
) -> Callable[[Any, Any], str]:
    """The function that fills in a template for a call of `function` with (args, kwargs).

    Raises ``ValueError`` for a field that is no parameter of it.
    """
    known = inspect.signature(function)
    for field in fields:
        if field not in known.parameters:
            msg = (
                f"field {field!r} of the template {template!r} is not a parameter of "
                f"{function!r}{known}"
            )
            raise ValueError(msg)

    def name_of(args: Any, kwargs: Any) -> str:
        bound = known.bind(*args, **kwargs)
        bound.apply_defaults()
        return template.format_map(bound.arguments)

    return name_of


def checked_more(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, which this kind must have."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in kind_of(kind).options:
            have = [one for one in (*LOCKING, *COUNTING) if name in kind_of(one).options]
            msg = f"{name} cannot be given with kind={kind!r}: {' and '.join(have)} only"
            raise ValueError(msg)
    return given


def checked_word(what: str, word: Any, words: tuple[str, ...]) -> None:
    """Refuse what is none of these words: ``TypeError`` or ``ValueError``, which names them."""
    if not isinstance(word, str):
        msg = f"{what} must be str, not {type(word).__name__}"
        raise TypeError(msg)
    if word not in words:
        msg = f"{what} must be one of {', '.join(words)}, not {word!r}"
        raise ValueError(msg)


def checked_fields(template: Any) -> list[str]:
    """The names of the arguments that a template contains."""
    if not isinstance(template, str):
        msg = f"template must be str, not {type(template).__name__}"
        raise TypeError(msg)
    try:
        fields = list(_fields(template))
    except ValueError as error:
        msg = f"template {template!r} is not a format string: {error}"
        raise ValueError(msg) from None
    for field in fields:
        if not field.isidentifier():
            msg = (
                f"template {template!r} has a positional field {{{field}}}: name the parameter, "
                "such as {user}"
            )
            raise ValueError(msg)
    return fields


def _fields(template: str) -> Iterator[str]:
    for _, field, spec, conversion in string.Formatter().parse(template):
        if field is not None:
            string.Formatter().convert_field("", conversion)
            yield field.split(".")[0].split("[")[0]
            yield from _fields(spec or "")


def checked_function(
    function: Any, *, asynchronous: bool, what: str = "a lock {} decorates"
) -> None:
    """Raise ``TypeError`` for a function that a lock of this client cannot decorate.

    ``what``: the thing that has the function, with a place for the words of its client.
    """
    found = _kind_of(function)
    wanted = "a coroutine function" if asynchronous else "a function"
    if found != wanted:
        which = "of an asyncio client" if asynchronous else "of a client for threads"
        msg = f"{what.format(which)} {wanted}, not {found}: {function!r}"
        raise TypeError(msg)


def finished(result: Any, function: Any) -> Any:
    """What a decorated function returned, if its work is done: the lock is released next.

    Raises ``TypeError`` for a coroutine, a generator, a task and a future: it is closed or
    cancelled, so that its work does not run without the lock. The work of a
    ``concurrent.futures.Future`` that runs already cannot be cancelled, and goes on without it.
    """
    advice = _unfinished(result)
    if advice is None:
        return result
    end = getattr(result, "close", None) or getattr(result, "cancel", None)
    if end is not None:
        end()
    msg = (
        f"{function!r}, which runs inside of a lock, returned a {type(result).__name__!r} object, "
        f"whose work would run after the release of the lock: {advice}"
    )
    raise TypeError(msg)


def _unfinished(result: object) -> str | None:
    """What to decorate in the place of a function whose result is not its work, done."""
    kind = type(result)
    if isinstance(result, (Generator, AsyncGenerator)):
        return "take the lock inside the generator function, by `with`, or return a list"
    if isinstance(result, Coroutine) or hasattr(kind, "_asyncio_future_blocking"):
        return "decorate the coroutine function that does the work, by a lock of an asyncio client"
    futures: Any = sys.modules.get("concurrent.futures._base")
    if futures is not None and isinstance(result, futures.Future):
        return "decorate the function that does the work, or return the future's result()"
    return None


def _kind_of(function: Any) -> str:
    if isinstance(function, (staticmethod, classmethod)):
        return "a staticmethod or classmethod (put the lock below it)"
    if inspect.isclass(function) or not callable(function):
        return (
            "a class" if callable(function) else f"an object of the type {type(function).__name__}"
        )
    while isinstance(function, partial):
        function = function.func
    # What else is called has a method for it.
    called = [function] if inspect.isroutine(function) else [function, type(function).__call__]
    if any(map(inspect.iscoroutinefunction, called)):
        return "a coroutine function"
    if any(map(inspect.isgeneratorfunction, called)):
        return "a generator function"
    if any(map(inspect.isasyncgenfunction, called)):
        return "an asynchronous generator function"
    return "a function"
