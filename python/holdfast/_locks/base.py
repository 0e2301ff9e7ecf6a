"""The common part of all synchronizers and of all locks, for threads and for tasks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from itertools import starmap
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from holdfast import _core
from holdfast._core import Lockable
from holdfast._engine import events as _events
from holdfast._engine import log as _log
from holdfast._engine.arguments import (
    LeaseTime,
    Name,
    Seconds,
    Unset,
    check_minimum,
    checked_at_least,
    checked_callback,
    checked_label,
    checked_lease,
    checked_name,
    checked_wait,
    encoded_text,
)
from holdfast._engine.errors import (
    ConnectionError,
    HoldfastError,
    LockTimeout,
    NotOwnedError,
    ServerError,
    left_elsewhere,
    not_owned,
    quoted,
)
from holdfast._engine.process import AnyClient
from holdfast._engine.records import FOREIGN
from holdfast._locks.steps import run, time_over, without_limit

if TYPE_CHECKING:
    from types import FunctionType

    from holdfast._core import CallersTime
    from holdfast._locks.holders import Holder
    from holdfast._locks.steps import Steps


def held_by(found: Sequence[Holder]) -> str:
    """The part of an error that says who holds it; empty: it is not known."""
    if not found:
        return ""
    from holdfast._locks.holders import words  # dataclasses are slow to import

    return f": held by {words(found)}"


NEVER_INITIALIZED: Final = (
    "it was never initialized, or was deleted; make it with permits=, or call try_set_permits()"
)


#: Of a lease that is given in seconds.
PLAUSIBLE_MS: Final = (100, 2 * 60 * 60 * 1000)
#: What has been logged of leases in this process.
_doubts: set[str] = set()


def in_doubt(error: BaseException) -> bool:
    """Whether the command that raised it may have been executed: it was interrupted, too."""
    if isinstance(error, ServerError):
        return error._repeated
    return isinstance(error, ConnectionError) or not isinstance(error, HoldfastError)


class Synchronizer(_core.Native):
    """An object of a client, under one name; its state is on the server."""

    __slots__ = ("__weakref__", "_client", "name")

    #: The kind, as observers and the fields of records name it.
    _kind = ""
    #: What an owner releases, in the note about a failed release.
    _released_word = ""

    #: The name, as it was given.
    name: Name

    def __init__(self, client: AnyClient, name: Name) -> None:
        self._client = client
        self.name = name

    def _checked_lease(self, lease: Seconds | None) -> LeaseTime:
        """The lease of an argument; one that looks like another unit is logged, once."""
        given = checked_lease("lease", lease, self._client._lease_ms)
        if not given.renewed and not PLAUSIBLE_MS[0] <= given.ms <= PLAUSIBLE_MS[1]:
            self._doubt(given.ms)
        return given

    def _doubt(self, ms: int) -> None:
        """Log once for each end that a lease is far from those of most programs."""
        if ms < PLAUSIBLE_MS[0]:
            text = (
                "less than 0.1 s: leases are in seconds, and one so short is over before most work"
            )
        else:
            text = (
                "more than two hours: leases are in seconds, and if the owner dies, all others "
                "wait for that long; without lease= it is renewed, and free soon after the "
                "owner's death"
            )
        if text not in _doubts:
            _doubts.add(text)
            about, name = self._for_log("doubtful_lease"), quoted(self.name)
            _log.warning(about, "the lease of %s is %g s, %s", name, ms / 1000, text)

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        """Add an error of the release to the body's error, which it must not hide."""
        what = f"while {self._released_word}{quoted(self.name)} was released after this"
        about = self._for_log("release_failed")
        _events.note(body, about, f"{what}: {type(release).__name__}: {release}")

    def _log_raised(self, error: BaseException) -> None:
        """Its ``on_lost`` has raised an error, which no caller gets."""
        about = self._for_log("on_lost_raised")
        _log.exception(about, "on_lost of %r raised", self.name, cause=error)

    def _for_log(self, event: str) -> _log.About:
        about: _log.About = self._client._for_log(event, self.name, 0)
        about.kind = self._kind
        return about

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {quoted(self.name)}>"

    def __reduce__(self) -> Any:
        msg = (
            f"a {type(self).__name__} cannot be pickled or copied: "
            "make one of the same name from a client of the other process"
        )
        raise TypeError(msg)


class Permits(Synchronizer):
    """The common part of the two semaphores."""

    __slots__ = ("_core", "_number_checked", "_wait")

    _released_word = "a permit of "
    #: What its permits are, in records.
    _hold_word = "permit"
    #: Whether the loss of one is the error of a call that waits with it.
    _reports_itself = False

    _core: Any
    _wait: float
    #: Whether the warning about a missing ``try_set_permits()`` was checked.
    _number_checked: bool

    def __init__(self, client: AnyClient, name: Name) -> None:
        super().__init__(client, name)
        self._number_checked = False
        _events.start()  # also for the events of the client: a warning needs no lock

    def _bind_core(self) -> None:
        """At the end of the constructor: pass the engine's semaphore to native methods."""

    def _set(self, count: int, answer: int) -> bool:
        """After ``try_set_permits``: 1 if it has set their number."""
        if answer == 1:
            self._core.expect(count)
        return answer == 1

    @contextmanager
    def _expecting(self, change: int) -> Generator[None]:
        """The own number has changed so, as a waiter may wake before the reply is here.

        It changes back if the command fails. Where it may have been executed, the smaller number
        stays: what is set up again must not be more than what was there.
        """
        try:
            yield
        except BaseException as error:
            if change > 0 or not in_doubt(error):
                self._core.expect_more(-change)
            raise

    @contextmanager
    def _setting(self, count: int) -> Generator[None]:
        """The same of ``try_set_permits``, of which only the answer says what is there."""
        try:
            yield
        except BaseException as error:
            change = self._core.expect(count) if in_doubt(error) else 0
            if change > 0:
                self._core.expect_more(-change)
            raise

    def _none_free(self) -> Steps[LockTimeout]:
        """The error of a wait that is over, with who has permits, if the server answers at once."""
        exists: bool | None = None
        found: list[Holder] = []
        with suppress(HoldfastError):  # the time-out is what matters
            exists = (yield self._core.late_value()) is not None
            if exists:
                found = yield from self._holders(time_over(self._client._core))
        msg = f"timed out after {self._wait:g} s waiting for a permit of {quoted(self.name)}: "
        if exists is None:  # the server, which has refused a permit before, does not say
            return LockTimeout(msg + "none was free when the server answered last")
        return LockTimeout(msg + (f"none is free{held_by(found)}" if exists else NEVER_INITIALIZED))

    def _holders(self, time: CallersTime | None = None) -> Steps[list[Holder]]:
        """What ``holders()`` asks; ``time``: what its caller has, the command time-out if none."""
        yield from ()  # of a plain semaphore nothing is known
        return []

    def _warn_unless(self, exists: bool) -> None:
        """After the first ``acquire`` that timed out, which returns no reason."""
        self._number_checked = True
        if not exists:
            text = "timed out waiting for a permit of %r: %s"
            _log.warning(self._for_log("no_permits"), text, self.name, NEVER_INITIALIZED)

    def _not_entered(self) -> NotOwnedError:
        return NotOwnedError(f"{quoted(self.name)} was not entered, or entered by another process")


class BlockingPermits(Permits):
    """The common part of the two semaphores for threads."""

    __slots__ = ()

    def _timed_out(self) -> LockTimeout:
        return run(self._none_free())

    def _check_number(self) -> None:
        if self._number_checked:
            return
        with suppress(HoldfastError):  # the time-out is what matters
            self._warn_unless(self._core.late_value().wait() is not None)


class Watcher(_events.Listener):
    """Receives the losses of one owner of a lock."""

    __slots__ = ("_context", "holds", "lock")

    def __init__(self, lock: Any) -> None:
        if lock._on_lost is not None and not lock._client._asynchronous:
            _events.keep_handlers(lock._client)
        self.lock = lock
        self.holds = 0  # acquired by this lock object
        self._context = copy_context()  # of the acquiring caller
        super().__init__(lock._client._listeners)

    def _hold_lost(self, reason: str) -> None:
        worker = _events.handlers_of(self.lock._client)
        _events.run_on(worker, self.lost_owner, partial(self._tell, self._loss(reason)))

    def _loss(self, reason: str) -> _events.Loss:
        return _events.Loss(self.lock, self.lost_owner, self.lost_token, reason)

    def _tell(self, loss: _events.Loss) -> None:
        """Call ``on_lost``; on the thread that it may block."""
        try:
            self._context.run(self._report, loss)
        except BaseException as error:  # noqa: BLE001 - also SystemExit
            self.lock._log_raised(error)

    def _report(self, loss: _events.Loss) -> Any:
        """Call ``on_lost``; in the acquirer's context."""
        _events.current_loss.set(loss)
        return self._call_on_lost()

    def _call_on_lost(self) -> Any:
        if self.lock._on_lost is not None:
            return self.lock._on_lost(self.lock)
        return None


#: Never written to.
NO_WATCHERS: dict[int, Watcher] = {}


class BaseLock(Synchronizer):
    """The common part of the locks for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_at_least",
        "_label",
        "_lease",
        "_on_lost",
        "_wait",
        "_watchers",
    )

    _kind = "lock"
    _word = "lock"  # of the kind, for the engine
    _owner_word = "thread"
    #: What a hold is that has an owner for itself alone, in records and errors.
    _hold_word = "hold object"
    _may_wait_for_itself = False  # see _refuse_upgrade()
    _may_defer = True  # a release need not be awaited

    #: The engine's lock, an attribute of the native type that each lock is also derived from.
    _core: Lockable

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        at_least: Seconds | None = None,
        label: str | None = None,
    ) -> None:
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        super().__init__(client, name)
        self._lease = self._checked_lease(lease)
        self._at_least = checked_at_least(at_least, self._lease)
        self._label = checked_label(label)
        core = self._new_core(checked_name("name", name))
        self._wait = checked_wait(wait)
        self._on_lost = on_lost
        # By owner; one empty dict is shared by all locks without watchers.
        self._watchers: dict[int, Watcher] = NO_WATCHERS if on_lost is None else {}
        if self._defers():
            self._check_deferring("releases='deferred'")
        self._bind_core(core)

    @property
    def lost(self) -> bool:
        """Whether a hold of the caller is known to be gone; cleared by the next grant.

        Inside ``on_lost`` it is the hold that was lost, as for ``loss``, ``token`` and ``repr``.
        """
        return _events.loss_of(self) is not None or self._core.known_lost(self._owner())

    @property
    def loss(self) -> str | None:
        """Why a hold of the caller was lost; ``None`` while ``lost`` is false."""
        loss = _events.loss_of(self)
        return self._core.known_loss(self._owner()) if loss is None else loss.reason

    def _new_core(self, name: bytes) -> Lockable:
        """The engine's lock; kinds with further options override it."""
        options = (self._at_least, 0, None, self._label)
        return _core.new_lock(self._client._core, self._word, name, *options)

    def _bind_core(self, core: Lockable) -> None:
        """Pass the engine's lock to the native methods."""
        raise NotImplementedError

    def _owner(self) -> int:
        raise NotImplementedError

    def _defers(self) -> bool:
        """Whether the end of ``with`` does not wait for the answer to the release."""
        return self._may_defer and self._client._defers

    def _check_deferring(self, what: str) -> None:
        """Raise ``ValueError`` if releases of this lock have to be awaited."""
        reason = ""
        if not self._may_defer:
            reason = f"{type(self).__name__}.release() is always awaited"
        elif self._at_least:
            reason = "the lock has a minimum hold time (at_least)"
        elif self._client._waits_for_replicas:
            reason = "the client waits for replicas (replicas_to_wait)"
        if reason:
            msg = f"{what} cannot be given for {quoted(self.name)}: {reason}"
            raise ValueError(msg)

    def _lease_of(self, lease: Seconds | Unset | None) -> LeaseTime:
        if isinstance(lease, Unset):
            return self._lease
        given = self._checked_lease(lease)
        check_minimum(self._at_least, given)
        return given

    def _key(self) -> int:
        """The owner's number, unique in this process."""
        return self._owner()

    def _wants_watcher(self) -> bool:
        return self._on_lost is not None

    def _new_watcher(self) -> Watcher:
        return Watcher(self)

    def _watch(self) -> Watcher | None:
        """Before an acquire: prepare to report a loss to the caller, if ``on_lost`` is set.

        Each hold has a separate watcher, so that a pending report of an earlier hold, or of another
        owner's, does not affect it.
        """
        if not _events.running():
            _events.start()
        if not self._wants_watcher():
            return None
        watcher = self._watchers.get(self._key())
        if watcher is None or not self._core.known_count(self._owner()):
            if watcher is not None and not self._core.known_lost(self._owner()):
                watcher.forget()  # released by another lock object, or the release was interrupted
            watcher = self._watchers[self._key()] = self._new_watcher()
        watcher.listen()  # again: an interrupt may have come before it, or in _unwatch()
        return watcher

    def _attempted(self, watcher: Watcher | None, granted: bool) -> None:
        """After an acquire: count the hold, or forget the watcher of an owner without holds."""
        if watcher is None:
            return
        if granted:
            watcher.holds += 1
        elif not watcher.holds:
            self._unwatch(watcher)

    def _gave_back(self, holds: int, deferred: bool = False) -> None:
        """After a release of ``holds`` holds; 0 when it failed.

        ``deferred``: the watcher of a last release stays until the engine reports its end.
        """
        watcher = self._watchers.get(self._key()) if self._watchers else None
        if watcher is None:
            return
        watcher.holds -= holds
        held = self._core.known_count(self._owner())
        if deferred and not held:
            self._leave_watcher()
        elif watcher.holds <= 0 or not held:
            self._unwatch(watcher)

    def _unwatch(self, watcher: Watcher) -> None:
        watcher.forget()  # first: one that is left in place is forgotten with the next acquire
        self._leave_watcher()
        self._core.forget_listener(self._owner(), watcher.number)

    def _leave_watcher(self) -> None:
        """Leave the watcher of a lost hold in place: it still reports the loss."""
        self._watchers.pop(self._key(), None)

    def _refuse_upgrade(self) -> None:
        """Raise ``LockError`` if the caller would wait for itself."""

    def _timeout(self, seconds: float | None, found: list[Holder]) -> LockTimeout:
        """``found``: who holds it; empty: the server does not say."""
        seconds = self._wait if seconds is None else seconds
        why = "another owner holds it"
        if self._core.foreign:
            why = FOREIGN
        elif found:
            from holdfast._locks.holders import words

            why = f"it is held by {words(found)}"
        return LockTimeout(f"timed out after {seconds:g} s waiting for {quoted(self.name)}: {why}")

    def _not_owned(self, block: bool = False) -> NotOwnedError:
        """The error of a release without a hold; ``block``: at the end of ``with``."""
        owners, title = self._core.known_owners(), self._client._owner_title
        if block and owners and not owners[0][1]:
            return left_elsewhere(self.name, title(owners[0][0]), self._owner_word)
        return not_owned(self.name, owners, title)

    def __repr__(self) -> str:
        kind = type(self).__name__
        if (loss := _events.loss_of(self)) is not None:
            return f"<{kind} {quoted(self.name)} lost: {loss.reason}>"
        owner = self._known_owner()
        why = self._core.known_loss(owner) if owner is not None else None
        if why is not None:
            return f"<{kind} {quoted(self.name)} lost by this {self._owner_word}: {why}>"
        count = self._core.known_count(owner) if owner is not None else 0
        left = self._core.known_left(owner) if count and owner is not None else None
        if left is None:
            return f"<{kind} {quoted(self.name)} not held by this {self._owner_word}>"
        held = f"held by this {self._owner_word} ({count}), {left:.1f} s left"
        return f"<{kind} {quoted(self.name)} {held}>"

    def _known_owner(self) -> int | None:
        return self._owner()

    def _holders(self, time: CallersTime | None = None) -> Steps[list[Holder]]:
        """What ``holders()`` asks; ``time``: what its caller has, the command time-out if none."""
        from holdfast._locks.holders import holders  # dataclasses are slow to import

        core = self._client._core
        return holders(core, self._whole_name(), time or without_limit(core))

    def _whole_name(self) -> bytes:
        return self._client._name_prefix + encoded_text("name", self.name)


def answers(begin: Callable[..., _core.Exchange[int]], *arguments: Any) -> Iterator[int]:
    """The answer of an exchange that takes effect in this client before it is sent: ``next()``.

    That begins it and waits for it in one call, in which no signal handler runs in between.
    """
    return map(methodcaller("wait"), starmap(begin, (arguments,)))


def seconds_left(ms: int | None) -> float | None:
    """The server's PTTL, or what is left of a lease, in seconds; ``None``: there is none."""
    if ms is None or ms == -2:
        return None
    return math.inf if ms < 0 else ms / 1000


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
