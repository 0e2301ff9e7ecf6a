"""``with`` and signals in CPython 3.14 and newer.

There a call of a native method ends with a look for signals, also that of ``__enter__`` by
``with``: a handler that raises, as Ctrl-C, would leave held what it has acquired, because the block
has not begun and no ``__exit__`` follows. A call of a function in Python ends without such a look
(``Python/bytecodes.c``: ``_CHECK_PERIODIC`` is a part of ``CALL`` for what is no Python function).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["protect"]


def protect() -> None:
    """Give the native types an ``__enter__`` that is undone if a handler raises at its end."""
    for native in (
        _core.BlockingHold,
        _core.BlockingLock,
        _core.BlockingPermitSemaphore,
        _core.BlockingSemaphore,
    ):
        enter = _protected(native.__enter__)
        enter.__doc__ = native.__enter__.__doc__
        native.__enter__ = enter  # type: ignore[method-assign]


def _protected(native: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def __enter__(self: Any) -> Any:  # noqa: N807
        entered: list[Any] = []
        try:
            entered.extend(map(native, (self,)))  # kept before a handler can run
        except BaseException as error:
            if entered:
                self.__exit__(type(error), error, error.__traceback__)
            raise
        return entered[0]

    return __enter__
