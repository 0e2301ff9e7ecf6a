"""Options that are a callable: passwords that change, and where announced servers are reachable.

The engine calls ``ask_password`` and ``ask_address`` on a thread that lives for this one call, for
each attempt to connect; see ``cpp/bindings/passwords.h``. An address map that is a table goes to
the engine as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast import _core


#: Calls of one callable that may be under way; more are a sign that it blocks.
MOST_CALLS = 8
#: How many of the newest errors are kept, for the ``ConnectionError`` that they are the cause of.
MOST_CAUSES = 8
MOST_PORTS = 65535
#: Of a table; the guard gets it in one message.
MOST_ENTRIES = 512
#: Of a host, as the domain name system has it.
LONGEST_HOST = 253

_numbers = count(1)
_passwords: WeakValueDictionary[int, Password] = WeakValueDictionary()
_maps: WeakValueDictionary[int, AddressMap] = WeakValueDictionary()
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


def ask_password(number: int) -> tuple[str, str, str, int]:
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


class AddressMap(Supplier):
    """The callable of one client, which keeps it; ``number`` is its id in the engine."""

    __slots__ = ("number",)

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.number = next(_numbers)
        _maps[self.number] = self


def read_address_map(value: Any, endpoint: _core.Endpoint) -> AddressMap | None:
    """Give a map to the engine; returns what the client has to keep.

    Raises ``TypeError`` and ``ValueError``, naming what is wrong.
    """
    if endpoint.deployment == "standalone":
        msg = (
            "address_map needs a URL with sentinels or a cluster (redis+sentinel://, "
            "redis+cluster://): a single server announces no other"
        )
        raise ValueError(msg)
    if callable(value) and not isinstance(value, Mapping):
        source = AddressMap(value)
        endpoint.set_address_source(source.number)
        return source
    if not isinstance(value, Mapping):
        msg = f"address_map must be a mapping or a callable, not {type(value).__name__}"
        raise TypeError(msg)
    table = cast("Mapping[object, object]", value)
    if len(table) > MOST_ENTRIES:
        msg = f"address_map has {len(table)} entries, more than {MOST_ENTRIES}: use a callable"
        raise ValueError(msg)
    entries = [
        (
            *checked_address(f"key {key!r} of address_map", key),
            *checked_address(f"address_map[{key!r}]", reachable),
        )
        for key, reachable in table.items()
    ]
    endpoint.set_address_table(entries)
    return None


def checked_address(what: str, value: object) -> tuple[str, int]:
    """A pair of host and port."""
    kinds = _kinds(value)
    pair = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    if len(pair) != 2 or not isinstance(pair[0], str) or not _is_integer(pair[1]):
        msg = f"{what} must be (str, int), host and port, not {kinds}"
        raise TypeError(msg)
    host, port = cast("tuple[str, int]", pair)
    if not host or len(host) > LONGEST_HOST or not host.isprintable() or set(host) & set(" []/@"):
        msg = f"{what}: the host must be a name, or an IP address without brackets, not {host!r}"
        raise ValueError(msg)
    if not 1 <= port <= MOST_PORTS:
        msg = f"{what}: the port must be from 1 to {MOST_PORTS}, not {port}"
        raise ValueError(msg)
    return host, port


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kinds(value: object) -> str:
    if not isinstance(value, tuple):
        return type(value).__name__
    parts = cast("tuple[object, ...]", value)
    return f"({', '.join(type(part).__name__ for part in parts)})"


def ask_address(number: int, host: str, port: int) -> tuple[str, str, str, int]:
    """For the engine: host and port, or a message and the number of the exception."""
    try:
        source = _maps.get(number)
        if source is None:
            return "", "", "its client is gone", kept(RuntimeError("the client is gone"))
        answer = source.call((host, port))
        host, port = checked_address("the result of the callable given as address_map", answer)
        host.encode()
    except BaseException as error:  # noqa: BLE001 - the caller's, who waits for the connection
        kind = type(error).__name__
        return "", "", f"the callable given as address_map raised {kind}", kept(error)
    return host, str(port), "", 0
