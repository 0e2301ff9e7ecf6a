"""What the headers of the scripts in lua/ say of replies: which are theirs, and which are not.

A reply is `None`, `int`, `bytes`, a list of replies, or a `Status`. It is compared by rules that
are written here again, apart from those of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

MOST = 2**63 - 1
LEAST = -(2**63)
DECIMAL = re.compile(rb"-?\d{1,19}")
LIMIT = re.compile(r"(<=|>=|<|>) (-?\d+|[a-z_]+)")


class Status(NamedTuple):
    """A word of the server."""

    word: bytes


def encoded(reply: Any, protocol: int) -> bytes:
    """The reply in RESP2 or RESP3."""
    if reply is None:
        return b"_\r\n" if protocol == 3 else b"$-1\r\n"
    if isinstance(reply, Status):
        return b"+%s\r\n" % reply.word
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, bytes):
        return b"$%d\r\n%s\r\n" % (len(reply), reply)
    return b"*%d\r\n" % len(reply) + b"".join(encoded(one, protocol) for one in reply)


def allows(results: Iterable[str], reply: Any) -> bool:
    """Whether the reply is among the results of a script, as its header has them."""
    results = list(results)
    if isinstance(reply, int):
        limits = [limits_of(one) for one in results if is_number(one)]
        lows, highs = zip(*limits, strict=True) if limits else ((MOST,), (LEAST,))
        return min(lows) <= reply <= max(highs)
    if isinstance(reply, list):
        return any(_allows_array(one, reply) for one in results if one.startswith("{"))
    return any(_allows_plain(one, reply) for one in results)


def is_number(result: str) -> bool:
    return result not in {"nil", "decimal", "text", "error"} and not result.startswith("{")


def limits_of(number: str) -> tuple[int, int]:
    """The range of a result that is a number; a limit with a name is none."""
    limit = LIMIT.fullmatch(number)
    if limit is None:
        return (LEAST, MOST) if number == "any" else (int(number), int(number))
    order, named = limit.groups()
    if named.isidentifier():
        return LEAST, MOST
    inside = int(named) + {"<": -1, ">": 1}.get(order, 0)
    return (LEAST, inside) if order.startswith("<") else (inside, MOST)


def _allows_plain(result: str, reply: Any) -> bool:
    if reply is None:
        return result == "nil"
    if isinstance(reply, bytes):
        return result == "text" or (result == "decimal" and bool(DECIMAL.fullmatch(reply)))
    return False


def _elements(array: str) -> tuple[list[str], bool]:
    """What stands in the braces, and whether it comes any number of times."""
    inner = array[1:-1]
    return inner.removesuffix(", ...").split(", "), inner.endswith("...")


def _has_names(elements: Iterable[str]) -> bool:
    """Whether the elements are numbers that have names, and no limits."""
    words = re.findall(r"[a-z]+", " ".join(elements))
    return not {"any", "text", "decimal"}.issuperset(words)


def _allows_array(array: str, reply: list[Any]) -> bool:
    elements, repeats = _elements(array)
    if _has_names(elements):
        return (repeats or len(reply) in {2, 3}) and all(isinstance(one, int) for one in reply)
    times = len(reply) // len(elements) if repeats else 1
    wanted = elements * times
    return len(reply) == len(wanted) and all(map(allows, ([one] for one in wanted), reply))


def given(result: str) -> Any:
    """A reply that the result allows."""
    if result.startswith("{"):
        elements, repeats = _elements(result)
        if _has_names(elements):
            return [1] * len(elements)
        return [given(element) for element in elements * (2 if repeats else 1)]
    if not is_number(result):
        return {"nil": None, "decimal": b"1700000000000000", "text": b"any \xff"}[result]
    low, high = limits_of(result)
    return min(max(low, 0), high)


def others(results: Iterable[str]) -> Iterator[Any]:
    """Replies of another kind, out of range, or arrays with another shape."""
    results = list(results)
    seen = []
    for reply in _candidates([given(one) for one in results if one != "error"]):
        if not allows(results, reply) and reply not in seen:
            seen.append(reply)
            yield reply


def _candidates(good: list[Any]) -> Iterator[Any]:
    yield from (Status(b"OK"), None, LEAST, MOST, b"text", [], [None])
    for array in good:
        if isinstance(array, list):
            yield array[:-1]
            yield [*array, 0]
            for place, element in enumerate(array):
                for other in (None, LEAST, b"text" if isinstance(element, int) else 7, [element]):
                    yield [*array[:place], other, *array[place + 1 :]]
