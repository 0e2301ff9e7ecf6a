"""Passwords that change: a callable that is called for each attempt to connect.

The engine calls ``ask`` on a thread that lives for this one call; see ``cpp/bindings/passwords.h``.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Password", "Supplier", "ask", "cause", "kept"]

#: Calls of one callable that may be under way; more are a sign that it blocks.
MOST_CALLS = 8
#: How many of the newest errors are kept, for the ``ConnectionError`` that they are the cause of.
MOST_CAUSES = 8

_numbers = count(1)
_passwords: WeakValueDictionary[int, Password] = WeakValueDictionary()
_causes: dict[int, BaseException] = {}
_cause_numbers = count(1)


class Supplier:
    """A callable that the engine calls for an attempt to connect, on any number of threads."""

    __slots__ = ("__weakref__", "_calls", "_source")

    def __init__(self, source: Callable[..., Any]) -> None:
        self._source = source
        self._calls: set[object] = set()  # under way; no lock, which a fork() could leave locked

    def call(self, *arguments: object) -> Any:
        """What the callable returns."""
        call = object()
        self._calls.add(call)
        try:
            if len(self._calls) > MOST_CALLS:
                msg = f"{MOST_CALLS} earlier calls of {self._source!r} have not returned yet"
                raise RuntimeError(msg)
            return self._source(*arguments)
        finally:
            self._calls.discard(call)


class Password(Supplier):
    """The callable of one client, which keeps it; ``number`` is its id in the engine.

    ``source`` returns a password, or a tuple of a user name and a password, or of a password alone.
    A ``username`` that is given here wins.
    """

    __slots__ = ("_username", "number")

    def __init__(self, source: Callable[[], Any], username: str) -> None:
        super().__init__(source)
        self._username = username
        self.number = next(_numbers)
        _passwords[self.number] = self

    def credentials(self) -> tuple[str, str]:
        """A user name, empty for none, and a password."""
        username, password = _pair(self.call())
        return self._username or username, password


def _pair(given: object) -> tuple[str, str]:
    words = cast("tuple[object, ...]", given) if isinstance(given, tuple) else (given,)
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) != len(words) or len(texts) not in {1, 2}:
        kinds = ", ".join(type(word).__name__ for word in words)
        msg = f"the callable given as password must return str or (str, str), not {kinds}"
        raise TypeError(msg)
    return "" if len(texts) == 1 else texts[0], texts[-1]


def ask(number: int) -> tuple[str, str, str, int]:
    """For the engine: user name and password, or a message and the number of the exception.

    The message has the kind of the error only: its text may contain a password.
    """
    try:
        password = _passwords.get(number)
        if password is None:
            return "", "", "its client is gone", kept(RuntimeError("the client is gone"))
        username, word = password.credentials()
        (username + word).encode()
    except BaseException as error:  # noqa: BLE001 - the caller's, who waits for the connection
        kind = type(error).__name__
        return "", "", f"the callable given as password raised {kind}", kept(error)
    return username, word, "", 0


def kept(error: BaseException) -> int:
    """A number for an exception, by which ``cause`` finds it."""
    number = next(_cause_numbers)
    _causes[number] = error
    for old in sorted(_causes)[:-MOST_CAUSES]:
        _causes.pop(old, None)
    return number


def cause(number: int) -> BaseException | None:
    """The exception with this number, if it is still kept."""
    return _causes.get(number)
