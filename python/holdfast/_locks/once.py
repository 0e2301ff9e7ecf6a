"""What runs once, with its result kept on the server: the common part, and that for threads.

It is imported by the first use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

from holdfast import _core
from holdfast._clients.base import BaseClient
from holdfast._engine.arguments import Name, Seconds, checked_name, milliseconds
from holdfast._engine.errors import (
    HoldfastError,
    LockError,
    LockLostError,
    LockTimeout,
    is_busy,
    quoted,
)
from holdfast._locks.base import BaseLock, Synchronizer
from holdfast._locks.decorators import (
    ANY_NAME,
    checked_fields,
    checked_function,
    finished,
    naming,
)
from holdfast._locks.force import raised
from holdfast._locks.kinds import key_beside
from holdfast._locks.lock import BaseHold, Hold, Lock, acquire_for
from holdfast._locks.steps import step

if TYPE_CHECKING:
    from holdfast._locks.holders import Holder
    from holdfast._locks.steps import Argument


P = ParamSpec("P")
R = TypeVar("R")
HoldT = TypeVar("HoldT", bound=BaseHold)

__all__ = ["BaseOnce", "Codec", "Once", "OnceSide", "Status", "once_each"]

Status = Literal["new", "running", "done"]

#: Behind the key, in the name of its lock.
LOCK: Final = b":holdfast_once"
#: The most bytes of a result: a megabyte.
MOST_BYTES: Final = 1 << 20
#: The kinds of results, by the byte before them: JSON, bytes, a codec's bytes, a codec's text.
JSON, BYTES, CODEC_BYTES, CODEC_TEXT = b"j", b"b", b"c", b"t"
#: In errors about functions.
RUNS: Final = "a once {} runs"
#: The step that keeps a result.
STORE: Final = "once/store"

Command = tuple[bytes, ...]

#: By client, key and caller.
_runs: WeakValueDictionary[tuple[str, bytes, object], BaseHold] = WeakValueDictionary()


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


class OnceSide(BaseLock):
    """The lock of the one that runs: the common part of those for threads and for tasks."""

    __slots__ = ()

    _key_of_once: Name

    def _timeout(self, seconds: float | None, found: list[Holder]) -> LockTimeout:
        if self._core.foreign:
            return super()._timeout(seconds, found)
        seconds = self._wait if seconds is None else seconds
        msg = f"timed out after {seconds:g} s waiting for the result of {quoted(self._key_of_once)}"
        runner = "another caller still runs it"
        if found:
            from holdfast._locks.holders import words

            runner += f", {words(found)}"
        return LockTimeout(f"{msg}: {runner}")


class BaseOnce(Synchronizer):
    """The common part for threads and for tasks: the two keys, and what a result is."""

    __slots__ = ("_codec", "_keep_ms", "_key", "_lock", "_result_key")

    def __init__(
        self,
        client: BaseClient,
        key: Name,
        *,
        keep: Seconds = 86400.0,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        codec: Codec | None = None,
    ) -> None:
        name = checked_name("key", key) + LOCK
        self._keep_ms = milliseconds("keep", keep)
        self._codec = checked_codec(codec)
        super().__init__(client, key)
        shown = name if isinstance(key, bytes) else name.decode()
        self._lock = self._new_lock(shown, lease=lease, wait=wait)
        self._lock._key_of_once = key
        self._key = client.name_prefix + name
        self._result_key = key_beside("result", self._key)

    def _new_lock(self, name: Name, **options: Any) -> Any:
        raise NotImplementedError

    def _new_run(self, new_hold: Callable[[Any], HoldT]) -> HoldT:
        """The hold of a run of the caller, which is an owner for this run alone.

        So a copy of an earlier run's step that comes late keeps nothing. Raises ``LockError``
        where the caller runs the key already.
        """
        run = self._client.id, self._key, self._caller()
        outer = _runs.get(run)
        if outer is not None and outer._known_count():
            msg = (
                f"this {self._lock._owner_word} runs {quoted(self.name)} already, and would wait "
                "for itself: a function cannot run its own key"
            )
            raise LockError(msg)
        hold = _runs[run] = new_hold(self._lock)
        return hold

    def _caller(self) -> object:
        """The calling thread, or task."""
        return self._lock._key()

    def _read(self) -> list[Command]:
        return [(b"GET", self._result_key)]

    def _look(self) -> list[Command]:
        return [(b"EXISTS", self._result_key), (b"EXISTS", self._key)]

    def _delete(self) -> list[Command]:
        return [(b"DEL", self._result_key)]

    def _store(self, run: BaseHold, data: bytes) -> tuple[Any, str, list[bytes], list[Argument]]:
        """The step that keeps the result of a run, while its hold is there."""
        arguments: list[Argument] = [f"{self._client.id}:{run._owner}", data, self._keep_ms]
        return self._client._core, STORE, [self._key, self._result_key], arguments

    def _found(self, data: bytes | None) -> Result | None:
        """What a caller gets of the key's value; ``None``: there is no result."""
        return None if data is None else Result(self._decoded(data))

    def _made(self, run: BaseHold, result: object, function: object) -> tuple[bytes, Result]:
        """Of a run's result: what is to be kept, and what the callers get of that.

        A hold that is lost by the client's clock raises, without a command.
        """
        data = self._encoded(result, function)
        made = Result(self._decoded(data))
        if run.lost:
            raise self._lost(run.loss or "its lease is over")
        return data, made

    def _kept(self, answer: int) -> None:
        """Raise ``LockLostError`` where the step says that the run's hold is gone."""
        if answer != 1:
            raise self._lost("its lock has another owner, or none")

    def _lost(self, why: str) -> LockLostError:
        return LockLostError(
            f"the result of {quoted(self.name)} is not kept: the hold was lost while its function "
            f"ran: {why}; another caller may have run it, too"
        )

    def _status(self, there: int, locked: int) -> Status:
        return "done" if there else "running" if locked else "new"

    def _encoded(self, result: object, function: object) -> bytes:
        """A result as it is kept; raises ``TypeError`` or ``ValueError`` for one that cannot be."""
        data = self._dumped(result, function)
        if len(data) - 1 > MOST_BYTES:
            msg = (
                f"the result of {quoted(self.name)} has {len(data) - 1} bytes, and may have at "
                f"most {MOST_BYTES}: nothing was kept; return where the data are instead"
            )
            raise ValueError(msg)
        return data

    def _dumped(self, result: object, function: object) -> bytes:
        if self._codec is not None:
            dumped: Any = self._codec.dumps(result)
            if isinstance(dumped, str):
                return CODEC_TEXT + dumped.encode()
            if not isinstance(dumped, (bytes, bytearray, memoryview)):
                msg = f"codec.dumps() must return bytes or str, not {type(dumped).__name__}"
                raise TypeError(msg)
            return CODEC_BYTES + dumped
        if isinstance(result, bytes):
            return BYTES + result
        try:
            return JSON + json.dumps(result, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            msg = (
                f"the result of {quoted(self.name)} is neither bytes nor JSON: {function!r} "
                f"returned an object of the type {type(result).__name__}: {error}; nothing was kept"
            )
            raise TypeError(msg) from None

    def _decoded(self, data: bytes) -> Any:
        kind, body = data[:1], data[1:]
        if kind in {CODEC_BYTES, CODEC_TEXT}:
            if self._codec is None:
                raise self._unreadable("a codec has written it: give the same codec=")
            return self._codec.loads(body.decode() if kind == CODEC_TEXT else body)
        if kind == BYTES:
            return body
        if kind != JSON:
            raise self._unreadable(f"another program has written {quoted(self._result_key)}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._unreadable(f"it is no JSON: {error}") from None

    def _unreadable(self, why: str) -> LockError:
        return LockError(
            f"the result of {quoted(self.name)} cannot be read: {why}; forget() removes it"
        )


def checked_codec(codec: Any) -> Any:
    """A codec, or ``None``."""
    for method in ("dumps", "loads"):
        if codec is not None and not callable(getattr(codec, method, None)):
            msg = f"codec must have dumps() and loads(), and {codec!r} has no {method}()"
            raise TypeError(msg)
    return codec


class RunnerLock(OnceSide, Lock):  # type: ignore[misc]
    """The lock of the thread that runs."""

    __slots__ = ("_key_of_once",)


class Once(BaseOnce):
    """A thing that runs once, by whichever thread, and whose result all callers get.

    Made by ``client.once(key)``. Over all processes that use the key the first caller runs it, the
    others wait for it. The result is kept on the server for ``keep`` seconds.

    What it guarantees, and what it cannot, is in ``docs/synchronizers/once.md``.
    """

    __slots__ = ()

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The kept result; without one, that of ``function(*args, **kwargs)``, called now.

        While another caller runs it, this one waits for up to ``wait`` seconds. All callers get
        what was kept: of JSON a tuple as a list.

        Raises what the function raises: nothing is kept, and the next caller runs it.
        ``LockTimeout`` when another caller still runs it. ``LockLostError`` when the hold was lost
        before the function's end: nothing is kept. ``TypeError`` for a coroutine or generator
        function before it is called, and for a result that is neither JSON nor bytes;
        ``ValueError`` for one of more than 1 MB. ``ConnectionError`` or ``ServerError`` when the
        server cannot be used; after the function's end the result may be kept or not.
        """
        checked_function(function, asynchronous=False, what=RUNS)
        done = self._found(self._ask(self._read())[0])
        if done is not None:
            return done.value
        run, entered = self._new_run(Hold), False
        try:
            acquire_for(run)
            with run:
                entered = True
                done = self._found(self._ask(self._read())[0])
                if done is None:
                    result = finished(function(*args, **kwargs), function)
                    data, made = self._made(run, result, function)
                    self._kept(step(*self._store(run, data)))
                    done = made
        except HoldfastError as error:
            if not entered and isinstance(error, LockTimeout) and is_busy(error):
                done = self._found(self._ask(self._read())[0])  # others read it one by one
            if done is None:
                raise  # else the release has failed, which the engine goes on with
        finally:
            if run._known_count():  # a signal handler raised between the grant and the block
                with suppress(HoldfastError):
                    run.release()
        return done.value

    def status(self) -> Status:
        """``"done"`` while a result is kept, ``"running"`` while a caller runs it, or ``"new"``."""
        there, locked = self._ask(self._look())
        return self._status(there, locked)

    def forget(self) -> bool:
        """Remove the kept result, so that the next caller runs it; ``True`` if there was one.

        A run under way goes on, and its result is kept at its end.
        """
        return bool(self._ask(self._delete())[0])

    def _new_lock(self, name: Name, **options: Any) -> RunnerLock:
        return RunnerLock(self._client, name, **options)

    def _ask(self, commands: list[Command]) -> list[Any]:
        return raised(_core.send_commands(self._client._core, self._key, commands))


def once_each(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``holdfast.Client.once_each``."""
    fields = checked_fields(template)
    Once(client, ANY_NAME, **options)  # raises for invalid options; nothing is sent
    return partial(_decorated, client, template, fields, options)


def _decorated(
    client: Any, template: str, fields: list[str], options: dict[str, Any], function: Any, /
) -> Callable[..., Any]:
    checked_function(function, asynchronous=False, what=RUNS)
    key_of = naming(template, fields, function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return Once(client, key_of(args, kwargs), **options).run(function, *args, **kwargs)

    return call
