"""What a once keeps of a run: its result as bytes, with their kind before them.

An earlier version refuses a kind that it does not know.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The most bytes of a result: a megabyte.
MOST_BYTES: Final = 1 << 20
#: The kinds: JSON; JSON with objects that stand for other types (``WRITTEN``); bytes; a codec's
#: bytes; a codec's text; the mark of a run whose result could not be kept, with the reason.
JSON, TYPED_JSON, BYTES, CODEC_BYTES, CODEC_TEXT, MARK = b"j", b"J", b"b", b"c", b"t", b"x"
#: Of a reason, in characters.
MOST_REASON: Final = 500

#: What stands for a value of another type, in an object with its word alone. The first type that a
#: value is an instance of counts: a datetime is a date, too.
WRITTEN: Final[Mapping[type, tuple[str, Callable[[Any], Any]]]] = {
    Decimal: ("$decimal", str),
    datetime: ("$datetime", datetime.isoformat),
    date: ("$date", date.isoformat),
    time: ("$time", time.isoformat),
    timedelta: ("$timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    UUID: ("$uuid", str),
    bytes: ("$bytes", lambda value: b64encode(value).decode()),
}
READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "$decimal": Decimal,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$timedelta": lambda parts: timedelta(*parts),
    "$uuid": UUID,
    "$bytes": lambda text: b64decode(text, validate=True),
}


class Codec(Protocol):
    """What writes results, and reads them: for example the module ``pickle``."""

    def dumps(self, result: Any, /) -> bytes | str:
        """The result as bytes or text."""
        raise NotImplementedError

    def loads(self, data: Any, /) -> Any:
        """The result, of what ``dumps`` has made."""
        raise NotImplementedError


class Result(NamedTuple):
    """A result that is kept."""

    value: Any


class NotKept(NamedTuple):
    """The mark of a run that has ended, and whose result could not be kept."""

    reason: str


def encoded(result: object, codec: Codec | None) -> bytes:
    """A result as it is kept; raises ``TypeError`` or ``ValueError`` for one that cannot be.

    So does the codec, whatever it likes.
    """
    data = _dumped(result, codec)
    if len(data) - 1 > MOST_BYTES:
        msg = (
            f"it has {len(data) - 1} bytes, and may have at most {MOST_BYTES}: return where the "
            "data are instead"
        )
        raise ValueError(msg)
    return data


def not_kept(reason: str) -> bytes:
    """The mark of a run whose result could not be kept."""
    return MARK + reason[:MOST_REASON].encode(errors="backslashreplace")


class NoCodec(ValueError):
    """A codec has written what is kept, and the reader has none."""


def decoded(data: bytes, codec: Codec | None) -> Result | NotKept:
    """What is kept; raises ``ValueError`` where another program wrote it.

    The codec raises whatever it likes.
    """
    kind, body = data[:1], data[1:]
    if kind == MARK:
        return NotKept(body.decode(errors="backslashreplace"))
    if kind in {CODEC_BYTES, CODEC_TEXT}:
        if codec is None:
            msg = "a codec has written it: give the same codec="
            raise NoCodec(msg)
        return Result(codec.loads(body.decode() if kind == CODEC_TEXT else body))
    if kind == BYTES:
        return Result(body)
    if kind not in READERS:
        msg = "it has a kind that this version does not know"
        raise ValueError(msg)
    try:
        read = READERS[kind].decode(body.decode())
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        msg = f"it is no JSON: {error}"
        raise ValueError(msg) from None
    return Result(read)


def _dumped(result: object, codec: Codec | None) -> bytes:
    if codec is not None:
        dumped: Any = codec.dumps(result)
        if isinstance(dumped, str):
            return CODEC_TEXT + dumped.encode()
        if not isinstance(dumped, (bytes, bytearray, memoryview)):
            msg = f"codec.dumps() must return bytes or str, not {type(dumped).__name__}"
            raise TypeError(msg)
        return CODEC_BYTES + dumped
    if isinstance(result, bytes):
        return BYTES + result
    try:
        try:
            return JSON + _json(result)
        except TypeError:
            return TYPED_JSON + _json(_written(result))
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"it is neither bytes nor JSON: it has the type {type(result).__name__}: {error}"
        raise type(error)(msg) from None


def _json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _written(value: Any) -> Any:
    """A value in which other types stand as objects of one word."""
    if isinstance(value, dict):
        return _written_object(cast("Any", value))
    if isinstance(value, (list, tuple)):
        return [_written(each) for each in cast("list[Any]", value)]
    for type_, (word, write) in WRITTEN.items():
        if isinstance(value, type_):
            return {word: write(value)}
    return value


def _written_object(given: dict[Any, Any]) -> dict[Any, Any]:
    """The same of an object; one that looks like what stands for a value gets a "$" more."""
    inner = {key: _written(each) for key, each in given.items()}
    word = str(next(iter(inner), ""))
    return {f"${word}": inner[word]} if len(inner) == 1 and word[:1] == "$" else inner


def _no_number(word: str) -> None:
    """``NaN`` and infinities, which ``encoded`` refuses."""
    msg = f"{word} is no number"
    raise ValueError(msg)


def _read_object(read: dict[str, Any]) -> Any:
    """The value that an object stands for; with one "$" more it is an object of its program."""
    if len(read) != 1:
        return read
    [(word, inner)] = read.items()
    if word in READ:
        return READ[word](inner)
    return {word[1:]: inner} if word.startswith("$$") else read


#: By the byte before what is kept.
READERS: Final = {
    JSON: json.JSONDecoder(parse_constant=_no_number),
    TYPED_JSON: json.JSONDecoder(object_hook=_read_object, parse_constant=_no_number),
}
