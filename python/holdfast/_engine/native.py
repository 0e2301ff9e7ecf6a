"""The native methods of the public classes: each stands in its class as a declaration.

A declaration gives the signature and the docstring; the method is the native one, which is called
without a frame of Python.

``with`` and signals in CPython 3.14 and newer: there a call of a native method ends with a look for
signals, also that of ``__enter__`` by ``with``. A handler that raises, as Ctrl-C, would leave held
what it has acquired, because the block has not begun and no ``__exit__`` follows. A call of a
function in Python ends without such a look (``Python/bytecodes.c``: ``_CHECK_PERIODIC`` is a part
of ``CALL`` for what is no Python function).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from holdfast import _core

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["native"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def native(method: Callable[..., Any]) -> Callable[[FunctionT], FunctionT]:
    """A decorator of a declaration: the native method takes its place, with its texts."""

    def declare(declared: FunctionT) -> FunctionT:
        text = text_of(cast("FunctionType", declared))
        described: Callable[..., Any] = _core.described(method, text)
        if sys.version_info >= (3, 14) and declared.__name__ == "__enter__":
            described = _protected(described)
            described.__doc__ = declared.__doc__
        return cast("FunctionT", described)

    return declare


def text_of(declared: FunctionType) -> str:
    """The signature of a function, as those of native methods are written, and its docstring."""
    code = declared.__code__
    last = code.co_argcount
    positional, named = code.co_varnames[:last], code.co_varnames[last:]
    given = declared.__defaults__ or ()
    defaults = dict(zip(positional[last - len(given) :], given, strict=True))
    defaults |= declared.__kwdefaults__ or {}
    terms = [_term(name, defaults) for name in positional]
    terms.insert(max(1, code.co_posonlyargcount), "/")
    if code.co_kwonlyargcount:
        terms += ["*", *(_term(name, defaults) for name in named[: code.co_kwonlyargcount])]
    return f"{declared.__name__}(${', '.join(terms)})\n--\n\n{declared.__doc__ or ''}"


def _term(name: str, defaults: dict[str, Any]) -> str:
    if name not in defaults:
        return name
    value = defaults[name]
    return f"{name}={value!r}" if value is None or isinstance(value, int) else f"{name}=..."


def _protected(native: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The ``__enter__`` that is undone if a handler raises at its end."""

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
