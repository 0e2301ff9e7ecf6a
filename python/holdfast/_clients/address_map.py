"""Address maps: where the servers that other servers announce are reachable from here.

A table goes to the engine as it is. A callable stays here, and the engine calls ``ask`` for it, on
a thread that lives for this one call; see ``cpp/bindings/passwords.h``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

from holdfast._clients.passwords import Supplier, kept

if TYPE_CHECKING:
    from holdfast import _core

__all__ = ["AddressMap", "ask", "read_address_map"]

MOST_PORTS = 65535
#: Of a table; the guard gets it in one message.
MOST_ENTRIES = 512
#: Of a host, as the domain name system has it.
LONGEST_HOST = 253

_numbers = count(1)
_maps: WeakValueDictionary[int, AddressMap] = WeakValueDictionary()


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


def ask(number: int, host: str, port: int) -> tuple[str, str, str, int]:
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
