"""Blocks of a lock and a transaction: entered again and again, by one caller or by several."""

# pyright: basic
from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holdfast import HoldfastError
from holdfast.integration import about, checked_function, finished, log_warning, quoted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager


__all__ = ["AsyncBlock", "Block", "Outcome", "held", "held_async", "refuse_transactions"]


class _BaseBlock:
    """A context that may be used again, and by several callers at once, and decorates functions.

    ``entry``: makes the context of one caller's entry. ``name``: the lock's.
    """

    def __init__(self, name: Any, entry: Callable[[], Any]) -> None:
        self._name = name
        self._entry = entry

    def _refuse_again(self, entered: object) -> None:
        if entered is not None:
            msg = (
                f"the block of {quoted(self._name)} is entered again inside of itself: its "
                "transaction cannot be opened twice; nothing was touched"
            )
            raise RuntimeError(msg)

    def _entered_here(self, entered: Any, caller: str) -> Any:
        """What this caller has entered; another caller's entry stays open."""
        if entered is None:
            msg = (
                f"the block of {quoted(self._name)} was not entered by this {caller}: leave it in "
                f"the {caller} that has entered it, which keeps the lock and the transaction"
            )
            raise RuntimeError(msg)
        return entered


class Block(_BaseBlock):
    """For threads."""

    def __init__(self, name: Any, entry: Callable[[], AbstractContextManager[Any]]) -> None:
        super().__init__(name, entry)
        self._here = threading.local()

    def __enter__(self) -> Any:
        self._refuse_again(getattr(self._here, "entered", None))
        entered = self._entry()
        value = entered.__enter__()
        self._here.entered = entered
        return value

    def __exit__(self, *raised: object) -> bool | None:
        entered = self._entered_here(getattr(self._here, "entered", None), "thread")
        self._here.entered = None
        left: bool | None = entered.__exit__(*raised)
        return left

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: each call runs inside of the block."""
        checked_function(function, asynchronous=False)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return finished(function(*args, **kwargs), function)

        return call


class AsyncBlock(_BaseBlock):
    """For the tasks of an event loop."""

    def __init__(self, name: Any, entry: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        super().__init__(name, entry)
        self._entered: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    async def __aenter__(self) -> Any:
        task = asyncio.current_task()
        self._refuse_again(self._entered.get(task))
        entered = self._entry()
        value = await entered.__aenter__()
        self._entered[task] = entered
        return value

    async def __aexit__(self, *raised: object) -> bool | None:
        entered = self._entered_here(self._entered.pop(asyncio.current_task(), None), "task")
        left: bool | None = await entered.__aexit__(*raised)
        return left

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a coroutine function: each call runs inside of the block."""
        checked_function(function, asynchronous=True)

        @wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            async with self:
                return finished(await function(*args, **kwargs), function)

        return call


class Outcome:
    """What came of the work under a lock.

    ``told``: ``commit`` is called by a hook of the commit, where the end of the work may as well be
    a rollback; else the end without an error is the commit.
    """

    #: The transaction was committed.
    committed = False
    #: The work has ended without an error: only the release is left.
    _ended = False

    def __init__(self, *, told: bool = False) -> None:
        self._told = told

    def commit(self) -> None:
        self.committed = True

    def end(self) -> None:
        self._ended = True
        self.committed = self.committed or not self._told

    def is_release(self, error: BaseException) -> bool:
        """Whether it is the release that failed; an error after the commit gets ``committed``."""
        if self.committed:
            with suppress(AttributeError):
                error.committed = True  # type: ignore[attr-defined]
        return self._ended and isinstance(error, HoldfastError)


def _log_release(lock: Any, error: BaseException) -> None:
    text = "the work under %s is done, but its lock could not be released: %s"
    log_warning(about(lock, "release_failed"), text, quoted(lock.name), error)


@contextmanager
def held(lock: Any, outcome: Outcome, kept: type[Exception] | tuple[()] = ()) -> Iterator[Any]:
    """Hold a lock, or a hold, for the time of some work; its release cannot undo the work.

    Where the work has ended a release that fails is a record of the log, and no error: a caller
    that repeats what failed would do the work twice. ``kept``: the errors of it that are raised.
    """
    try:
        with lock:
            yield lock
            outcome.end()
    except BaseException as error:
        if not outcome.is_release(error) or isinstance(error, kept):
            raise
        _log_release(lock, error)


@asynccontextmanager
async def held_async(lock: Any, outcome: Outcome) -> AsyncIterator[Any]:
    """The same of a lock for asyncio."""
    try:
        async with lock:
            yield lock
            outcome.end()
    except BaseException as error:
        if not outcome.is_release(error):
            raise
        _log_release(lock, error)


def refuse_transactions(what: str, advice: str) -> None:
    """``RuntimeError`` if this thread is inside of one of Django's transactions, on any database.

    It would be committed after the release. Those of a ``TestCase`` do not count, as for
    ``transaction.atomic(durable=True)``.
    """
    django: Any = sys.modules.get("django.db")
    if django is None or not sys.modules["django.conf"].settings.configured:
        return
    for connection in django.connections.all(initialized_only=True):
        blocks = connection.atomic_blocks
        if blocks and not getattr(blocks[-1], "_from_testcase", False):
            msg = (
                f"{what} cannot be used inside a transaction, here of the database "
                f"{connection.alias!r}, which would commit after the release: {advice}"
            )
            raise RuntimeError(msg)
