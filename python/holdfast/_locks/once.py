"""What runs once, with its result kept on the server: the common part, and that for threads.

It is imported by the first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from holdfast._engine.arguments import Late, Name, Seconds, checked_name, milliseconds
from holdfast._engine.errors import (
    HoldfastError,
    LockError,
    LockLostError,
    LockTimeout,
    ResultNotKeptError,
    ServerError,
    foreign_data,
    quoted,
)
from holdfast._engine.process import AnyClient
from holdfast._locks.base import BaseLock, Synchronizer
from holdfast._locks.decorators import (
    ANY_NAME,
    checked_fields,
    checked_function,
    finished,
    naming,
)
from holdfast._locks.kinds import key_beside
from holdfast._locks.lock import BaseHold, Hold, Lock
from holdfast._locks.results import Codec, NoCodec, NotKept, Result, decoded, encoded, not_kept
from holdfast._locks.steps import (
    Argument,
    Command,
    Steps,
    commands,
    keeping,
    lasting_step,
    raised,
    run,
    step,
    time_of,
    time_over,
    without_limit,
)
from holdfast._locks.threads import core_of

if TYPE_CHECKING:
    from holdfast._core import CallersTime
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

P = ParamSpec("P")
R = TypeVar("R")
HoldT = TypeVar("HoldT", bound=BaseHold)

Status = Literal["new", "running", "done"]

#: Behind the key, in the name of its lock.
LOCK: Final = b":holdfast_once"
#: In errors about functions.
RUNS: Final = "a once {} runs"
#: By client, key and caller.
_runs: WeakValueDictionary[tuple[str, bytes, object], BaseHold] = WeakValueDictionary()


class OnceSide(BaseLock):
    """The lock of the one that runs: the common part of those for threads and for tasks."""

    __slots__ = ()

    _kind = "once"
    _hold_word = "caller that runs it"

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


class Attempt:
    """The lock of a run, from before its acquisition on; ``with attempt.keeping:`` releases it."""

    __slots__ = ("hold", "keeping")

    def __init__(self, hold: BaseHold, time: CallersTime) -> None:
        self.hold = hold
        self.keeping = keeping(hold, time)

    def leave_to_lease(self) -> None:
        """It is not released: the others wait until its lease is over."""
        self.keeping.pass_on()
        self.keeping.keep()
        core_of(self.hold.lock).leave_to_lease(self.hold._owner)


class BaseOnce(Synchronizer):
    """The common part for threads and for tasks: the two keys, and what a result is."""

    __slots__ = ("_codec", "_keep_ms", "_key", "_lock", "_result_key")

    _kind = "once"

    def __init__(
        self,
        client: AnyClient,
        key: Name,
        *,
        keep: Seconds = 86400.0,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        codec: Codec | None = None,
        label: str | None = None,
    ) -> None:
        name = checked_name("key", key) + LOCK
        self._keep_ms = milliseconds("keep", keep)
        self._codec = checked_codec(codec)
        super().__init__(client, key)
        shown = name if isinstance(key, bytes) else name.decode()
        self._lock = self._new_lock(shown, lease=lease, wait=wait, label=label)
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

    # ---- the calls: see steps.py

    def _ask(self, words: list[Command], time: CallersTime) -> Steps[list[Any]]:
        return raised((yield commands(self._client._core, self._key, words, time)))

    def _kept(self, time: CallersTime) -> Steps[Result | None]:
        """The result that is kept; ``None``: there is none."""
        [data] = yield from self._ask([(b"GET", self._result_key)], time)
        return None if data is None else self._found(data)

    def _begin(self, attempt: Attempt, time: CallersTime) -> Steps[Result | None]:
        """Acquire the lock; ``None``: the caller is to run it now."""
        if (yield attempt.keeping.acquire):
            kept = yield from self._kept(time)
            if kept is None:
                attempt.keeping.begin_use()
            return kept
        late = time_over(self._client._core)
        with suppress(HoldfastError):  # the time-out is what matters
            done = yield from self._kept(late)  # others read it one by one
            if done is not None:
                return done
        found: list[Holder] = []
        with suppress(HoldfastError):
            lock: BaseLock = self._lock
            found = yield from lock._holders(late)
        raise self._lock._timeout(None, found)

    def _end(self, attempt: Attempt, result: object, function: object) -> Steps[Result]:
        """Keep the result of a run, or the mark that it could not be kept."""
        attempt.keeping.end_use()
        try:
            data = encoded(result, self._codec)
            made = cast("Result", decoded(data, self._codec))
        except Exception as reason:
            what = f"{function!r} has returned what cannot be kept: {reason}"
            raise (yield from self._mark(attempt, result, what, reason)) from reason
        try:
            yield from self._store(attempt.hold, data, without_limit(self._client._core))
        except ServerError as reason:
            what = f"the server has refused it: {reason}"
            raise (yield from self._mark(attempt, result, what, reason)) from reason
        return made

    def _mark(
        self, attempt: Attempt, result: object, what: str, reason: Exception
    ) -> Steps[LockError]:
        """Say on the server that it has run, so that no other call does; the error of this one.

        Where the server refuses that as well, the lock stays until its lease is over, and the mark
        goes on until then.
        """
        hold = attempt.hold
        error = self._not_kept(what)
        error.result = result
        store = self._storing(hold, not_kept(what), needs_memory=False)
        try:
            answer = yield lasting_step(self._client._core, self._lock._lease.ms, *store)
        except HoldfastError as failed:
            attempt.leave_to_lease()
            unknown = self._lost(
                f"nor could it be said on the server that it has run ({failed}): unless that "
                "succeeds before the lease is over, the next call runs it again"
            )
            unknown.__context__ = reason
            return unknown
        return error if answer == 1 else self._lost_hold(hold)

    def _store(self, hold: BaseHold, data: bytes, time: CallersTime) -> Steps[None]:
        """Raise ``LockLostError`` where the run's hold is gone."""
        if hold.lost:  # by the client's clock, without a command
            raise self._lost_hold(hold)
        store = self._storing(hold, data, needs_memory=True)
        if (yield step(self._client._core, time, *store)) != 1:
            raise self._lost_hold(hold)

    def _storing(
        self, hold: BaseHold, data: bytes, *, needs_memory: bool
    ) -> tuple[str, Sequence[bytes], Sequence[Argument]]:
        """The step that keeps it: script, keys and arguments."""
        owner = f"{self._client.id}:{hold._owner}"
        args = (owner, data, self._keep_ms, int(needs_memory))
        return "once/store", (self._key, self._result_key), args

    def _read_status(self) -> Steps[Status]:
        words: list[Command] = [(b"EXISTS", self._result_key), (b"EXISTS", self._key)]
        there, locked = yield from self._ask(words, without_limit(self._client._core))
        return "done" if there else "running" if locked else "new"

    def _delete(self) -> Steps[bool]:
        words: list[Command] = [(b"DEL", self._result_key)]
        [deleted] = yield from self._ask(words, without_limit(self._client._core))
        return bool(deleted)

    # ---- what is kept, and errors

    def _found(self, data: bytes) -> Result:
        """What a caller gets of the key's value."""
        try:
            found = decoded(data, self._codec)
        except NoCodec as error:
            msg = f"the result of {quoted(self.name)} cannot be read: {error}; forget() removes it"
            raise LockError(msg) from None
        except Exception as error:
            why = f"its result cannot be used: {error}"
            raise foreign_data(self._result_key, why) from error
        if isinstance(found, NotKept):
            raise self._not_kept(found.reason)
        return found

    def _not_kept(self, reason: str) -> ResultNotKeptError:
        return ResultNotKeptError(
            f"{quoted(self.name)} has run, and its result is not kept: {reason}; it does not run "
            "again before forget() is called or `keep` is over"
        )

    def _lost_hold(self, hold: BaseHold) -> LockLostError:
        why = hold.loss or "its lock has another owner, or none"
        return self._lost(
            f"the hold was lost while its function ran: {why}; another caller may have run it, too"
        )

    def _lost(self, why: str) -> LockLostError:
        return LockLostError(f"the result of {quoted(self.name)} is not kept: {why}")


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

    def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The kept result; without one, that of ``function(*args, **kwargs)``, called now.

        While another caller runs it, this one waits for up to ``wait`` seconds. All callers get
        what was kept: of JSON a tuple as a list.

        Raises what the function raises: nothing is kept, and the next caller runs it.
        ``LockTimeout`` when another caller still runs it. ``LockLostError`` when the hold was lost
        before the function's end: nothing is kept. ``ResultNotKeptError`` when the function has
        run, now or before, and its result cannot be kept: it is not JSON (in which ``Decimal``,
        times, ``UUID`` and bytes may be), has more than 1 MB, or is refused by the server.
        ``TypeError`` for a coroutine or generator function, before it is called.
        ``ConnectionError`` or ``ServerError`` when the server cannot be used; after the function's
        end the result may be kept or not.
        """
        checked_function(function, asynchronous=False, what=RUNS)
        time = time_of(self._client._core, self._lock._wait)
        done = run(self._kept(time))
        if done is None:
            done = self._run(time, function, *args, **kwargs)
        value: R = done.value
        return value

    def _run(
        self, time: CallersTime, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Without a kept result."""
        hold = self._new_run(Hold)
        attempt = Attempt(hold, time)
        with attempt.keeping:  # whose end releases the lock
            done = run(self._begin(attempt, time))
            if done is None:
                result = finished(function(*args, **kwargs), function)
                done = run(self._end(attempt, result, function))
        return done

    def status(self) -> Status:
        """``"done"`` while a result is kept, ``"running"`` while a caller runs it, or ``"new"``.

        ``"done"``, too, where it has run and its result could not be kept.
        """
        return run(self._read_status())

    def holders(self) -> list[late.Holder]:
        """Who runs it now, with what its client says of itself; see ``Lock.holders``."""
        return run(self._lock._holders())

    def forget(self) -> bool:
        """Remove the kept result, so that the next caller runs it; ``True`` if there was one.

        A run under way goes on, and its result is kept at its end.
        """
        return run(self._delete())

    def _new_lock(self, name: Name, **options: Any) -> RunnerLock:
        return RunnerLock(self._client, name, **options)


def once_each(client: Any, template: str, **options: Any) -> Callable[..., Any]:
    """The decorator of ``Client.once_each``."""
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
