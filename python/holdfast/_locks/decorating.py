"""Mixins that make locks decorators and give clients ``locked``; ``_decorators`` does the work.

That module is imported by the first decoration, so programs without one start faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Literal, ParamSpec, TypedDict, TypeVar, overload

    from typing_extensions import Required, Unpack

    from holdfast._engine.arguments import Seconds
    from holdfast._locks.kinds import Decorating

    P = ParamSpec("P")
    R = TypeVar("R")

    class _Options(TypedDict, total=False):
        kind: Decorating
        lease: Seconds | None
        at_least: Seconds | None
        on_lost: Callable[[Any], object] | None
        permits: int | None

    class _Calling(_Options, total=False):
        """A decorator: each call runs, or raises."""

        busy: Literal["wait", "raise"]
        wait: Seconds | None

    class _Skipping(_Options, total=False):
        """A decorator: a call may be skipped."""

        busy: Required[Literal["skip"]]
        wait: None


__all__ = ["AsyncDecorates", "AsyncLocked", "Decorates", "Locked"]


class Decorates:
    """Makes a lock for threads a decorator."""

    __slots__ = ()

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Decorate a function: each call runs inside ``with lock:``.

        Raises ``TypeError`` for a coroutine function and for a generator function.
        """
        from holdfast._locks.decorators import decorated

        return decorated(self, function)


class AsyncDecorates:
    """Makes a lock for asyncio a decorator."""

    __slots__ = ()

    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate a coroutine function: each call runs inside ``async with lock:``.

        Raises ``TypeError`` for any other function.
        """
        from holdfast._locks.decorators import async_decorated

        return async_decorated(self, function)


class Locked:
    """Gives a client for threads its decorator ``locked``."""

    if TYPE_CHECKING:

        @overload
        def locked(
            self, template: str, **options: Unpack[_Calling]
        ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

        @overload
        def locked(
            self, template: str, **options: Unpack[_Skipping]
        ) -> Callable[[Callable[P, R]], Callable[P, R | None]]: ...

    def locked(self, template: str, **options: Any) -> Any:
        """Decorate a function: each call holds a lock named by its arguments.

        ``template`` is filled in by ``str.format`` with the call's arguments by name, defaults
        included: ``"report:{user.id}"``. ``kind``: ``lock``, ``fair_lock``, ``fenced_lock``,
        ``read`` or ``write``; or ``semaphore`` or ``permit_semaphore``, with ``permits``: how many
        calls run at a time. ``busy``: ``"wait"`` waits up to ``wait`` seconds (``None``: without
        limit), then raises ``LockTimeout``; ``"raise"`` raises it at once; ``"skip"`` returns
        ``None`` without calling the function. ``lease``, ``at_least``, ``on_lost``: the lock's.

        Raises ``ValueError`` for a positional field, a field that the function's signature lacks,
        or ``wait`` with a ``busy`` other than ``"wait"``; ``TypeError`` for a function of the wrong
        kind. Both are raised before the first call.
        """
        from holdfast._locks.decorators import locked

        return locked(self, template, **options)


class AsyncLocked:
    """Gives a client for asyncio its decorator ``locked``."""

    if TYPE_CHECKING:

        @overload
        def locked(
            self, template: str, **options: Unpack[_Calling]
        ) -> Callable[
            [Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]
        ]: ...

        @overload
        def locked(
            self, template: str, **options: Unpack[_Skipping]
        ) -> Callable[
            [Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R | None]]
        ]: ...

    def locked(self, template: str, **options: Any) -> Any:
        """Decorate a coroutine function, as ``holdfast.Client.locked`` decorates a function."""
        from holdfast._locks.decorators import async_locked

        return async_locked(self, template, **options)
