"""Leader election for threads, with the part that it shares with that for tasks.

A leader holds the fenced lock of the name. Beside it the state of the name says who leads and with
which value, as long as that owner holds the lock. The step that grants the lock writes it: see
``lua/leader``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar
from weakref import ref

from holdfast import _core
from holdfast._engine.arguments import (
    Name,
    Seconds,
    Self,
    checked_callback,
    checked_timeout,
    checked_wait,
)
from holdfast._engine.errors import (
    HoldfastError,
    LockLostError,
    NotOwnedError,
    foreign_data,
    quoted,
    shown,
)
from holdfast._engine.process import AnyClient
from holdfast._locks.base import Synchronizer
from holdfast._locks.fields import checked_number, checked_text
from holdfast._locks.holders import Holder
from holdfast._locks.lock import BaseHold, Hold
from holdfast._locks.steps import (
    Steps,
    changes,
    keeping,
    keys_of,
    run,
    step,
    time_of,
    without_limit,
)
from holdfast._locks.threads import FencedLock, core_of

if TYPE_CHECKING:
    from holdfast._core import CallersTime

T = TypeVar("T")
HoldT = TypeVar("HoldT", bound=BaseHold)

Value = str | bytes | None

#: In bytes, of a text in UTF-8.
MOST_VALUE: Final = 1024
#: For how long the state of a leader that has died stays, in ms: a year, after which one that leads
#: yet must have been looked at, or have set a value.
KEEP_MS: Final = 365 * 24 * 3_600_000
KEEP: Final = b"%d" % KEEP_MS


class LeaderInfo(NamedTuple):
    """The leader of a name, as the server has it."""

    #: What it has announced, such as its address.
    value: Value
    #: The fencing token of its election.
    token: int
    #: ``<client id>:<number>``; another one for each election.
    owner: str
    #: The same owner, with what its client says of itself.
    holder: Holder


def checked_value(value: Any) -> bytes:
    """A value as the server keeps it: its type, and its bytes."""
    if value is None:
        return b"n"
    if not isinstance(value, str | bytes):
        msg = f"value must be str, bytes or None, not {type(value).__name__}"
        raise TypeError(msg)
    raw = value.encode() if isinstance(value, str) else value
    if len(raw) > MOST_VALUE:
        msg = f"value must have at most {MOST_VALUE} bytes, not {len(raw)}"
        raise ValueError(msg)
    return (b"s" if isinstance(value, str) else b"b") + raw


def value_of(state: bytes, kept: bytes) -> Value:
    """The value that ``checked_value`` has made; ``state``: the key that has it."""
    kind, raw = kept[:1], kept[1:]
    if kind == b"s":
        return checked_text(state, "the leader's value", raw)
    if kind not in {b"b", b"n"}:
        raise foreign_data(state, "the leader's value has no known type")
    return raw if kind == b"b" else None


def checked_main(main: Any, *, asynchronous: bool) -> None:
    """What a leader is to do."""
    if main is None:
        msg = "main must be callable, not NoneType"
        raise TypeError(msg)
    checked_callback("main", main, asynchronous=asynchronous)


class Campaign(Generic[HoldT]):
    """What one campaign has made and got, until its caller knows."""

    __slots__ = ("__weakref__", "attempt", "hold", "over")

    def __init__(self) -> None:
        self.hold: HoldT | None = None
        self.attempt: _core.Keeping | None = None
        self.over = False

    def end(self, leader: BaseLeader[HoldT], *, elected: bool) -> bool:
        """Its outcome; a campaign that has failed leaves nothing behind."""
        if elected and self.attempt is not None:
            leader._hold = self.hold
            self.attempt.keep()
        elif self.hold is not None:
            if self.attempt is not None:
                self.attempt.undo()
            if leader._hold is self.hold:
                leader._hold = None
            self.hold._unwatch()
        return elected


class BaseLeader(Synchronizer, Generic[HoldT]):
    """The common part of the leaders for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_campaigns",
        "_changes",
        "_hold",
        "_keys",
        "_lock",
        "_observed",
        "_on_lost",
        "_term",
        "_value",
        "_wait",
    )

    _kind = "leader"
    _released_word = "the leadership of "

    _lock: Any
    _hold: HoldT | None

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        value: Value = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(client, name)
        self._value = checked_value(value)
        self._keys = keys_of(client, name)
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        self._on_lost = on_lost
        self._wait = checked_wait(wait)
        self._campaigns: dict[int, ref[Campaign[HoldT]]] = {}
        self._changes = count(1)
        self._hold = None
        self._term: Any = None  # of a task, which its loss cancels
        self._lock = self._new_lock(lease=lease, label=label)
        self._observed = changes(client, name, led=True)

    def _new_lock(self, **options: Any) -> Any:
        raise NotImplementedError

    def _new_hold(self, lock: Any) -> HoldT:
        raise NotImplementedError

    def _hold_lost(self) -> Callable[[Any], object]:
        """The ``on_lost`` of the lock, which does not keep this object alive."""
        found = ref(self)

        def hold_lost(hold: BaseHold) -> object:
            leader = found()
            led = leader is not None and leader._hold is hold
            return leader._leadership_lost() if leader is not None and led else None

        return hold_lost

    def _leadership_lost(self) -> object:
        return self._on_lost(self) if self._on_lost is not None else None

    @property
    def leading(self) -> bool:
        """Whether this object leads, by the client's clock; nothing is sent."""
        left = self._hold.left if self._hold is not None else None
        return left is not None and left > 0

    @property
    def lost(self) -> bool:
        """Whether it led last and is known to have lost that, until it is elected again."""
        return self._hold is not None and self._hold.lost

    @property
    def token(self) -> int | None:
        """The fencing token of the election; ``None`` while it does not lead."""
        return self._hold.token if self._hold is not None else None

    @contextmanager
    def _campaigning(self, campaign: Campaign[HoldT]) -> Generator[bool]:
        """One campaign of this object at a time; those of a parent of ``fork()`` do not count.

        Whether it leads by now, since a campaign of another thread that has just ended.
        """
        epoch, own = _core.epoch(), ref(campaign)
        try:
            while (found := self._campaigns.setdefault(epoch, own)) is not own:
                other = found()
                if other is not None and not other.over:
                    msg = (
                        f"this {type(self).__name__} of {quoted(self.name)} campaigns already: "
                        "make one for each candidate"
                    )
                    raise RuntimeError(msg)
                self._campaigns.pop(epoch, None)  # an interrupt came before its call did
            yield self.leading
        finally:
            campaign.over = True
            if self._campaigns.get(epoch) is own:
                del self._campaigns[epoch]

    def _elect(self, campaign: Campaign[HoldT], seconds: float) -> Steps[bool]:
        """Campaign for so long."""
        if self.leading:
            return True
        time = time_of(self._client._core, seconds)
        hold = campaign.hold = self._new_hold(self._lock)  # the owner of this campaign alone
        with self._campaigning(campaign) as leads, self._attempt(hold, time) as attempt:
            if leads or not (yield attempt.acquire):
                return leads
            campaign.attempt = attempt
            attempt.pass_on()
            return True

    def _attempt(self, hold: BaseHold, time: CallersTime) -> _core.Keeping:
        return keeping(hold, time, (self._value, KEEP, b""))

    def _resign(self) -> Steps[None]:
        """Release the lock, which withdraws what was announced."""
        hold = self._hold
        if hold is None:
            raise self._no_leader(None)
        try:
            yield hold._core.release(hold._owner, True)
        except LockLostError:
            raise
        except NotOwnedError:  # it has resigned before
            raise self._no_leader(None) from None
        hold._unwatch()

    def _set_value(self, value: Value) -> Steps[None]:
        kept, hold, core = checked_value(value), self._leading_hold(), self._client._core
        token = hold.token
        if token is None:
            raise self._no_leader(hold)
        keys = self._keys.name, self._keys.state, self._keys.channel
        owner, change = f"{core.id}:{hold._owner}", next(self._changes)
        args = (owner, token, change, kept, KEEP_MS)
        if (yield step(core, without_limit(core), "leader/set", keys, args)) == 0:
            raise self._no_leader(hold)
        self._value = kept

    def _no_leader(self, hold: BaseHold | None) -> NotOwnedError:
        """The error of a call that only a leader may make."""
        if hold is not None and (hold.lost or hold.left is not None):
            why = hold.loss or "the server no longer has its lock"
            return LockLostError(f"the leadership of {quoted(self.name)} was lost: {why}")
        msg = f"{quoted(self.name)} is not led by this {type(self).__name__}: call campaign() first"
        return NotOwnedError(msg)

    def _leading_hold(self) -> HoldT:
        """The hold while it leads; raises ``NotOwnedError`` or ``LockLostError``."""
        hold = self._hold
        if hold is None or not self.leading:
            raise self._no_leader(hold)
        return hold

    def _read(self, time: CallersTime) -> Steps[tuple[int, LeaderInfo | None]]:
        """The revision of the leader's state, and the leader; ``None``: there is none."""
        from holdfast._locks.holders import Holder, named  # dataclasses are slow to import

        core, key, state = self._client._core, self._keys.name, self._keys.state
        revision, *of = yield step(core, time, "leader/current", (key, state), (KEEP_MS,))
        if not of:
            return revision, None
        left, owner, kept_token, kept = of
        token, value = (
            checked_number(state, "the leader's token", kept_token),
            value_of(state, kept),
        )
        alone = Holder(shown(owner), None, 1, left / 1000 if left >= 0 else float("inf"))
        found = yield from named(core, key, [alone], time)
        return revision, LeaderInfo(value, token, alone.owner, found[0])

    def _next(self, known: int, time: CallersTime) -> Steps[tuple[int, LeaderInfo | None] | None]:
        """The same once the revision is another; ``None``: it still is that when time is over."""
        if not (yield self._observed.wait(known, time)):
            return None
        return (yield from self._read(time))

    def __repr__(self) -> str:
        what, hold = f"<{type(self).__name__} {quoted(self.name)}", self._hold
        left = hold.left if hold is not None else None
        if hold is not None and hold.lost:
            return f"{what} lost: {hold.loss}>"
        if left is None:
            return f"{what} not leading>"
        return f"{what} leading with token {self.token}, {left:.1f} s left>"


class LeaderLock(FencedLock):  # type: ignore[misc]
    """The lock of a leader for threads; its release withdraws what the leader has announced."""

    __slots__ = ()

    _kind = "leader"
    _word = "leader"
    _hold_word = "leader"


class Leader(BaseLeader[Hold]):
    """A candidate for the leadership of a name, of which one at a time is elected.

    Made by ``client.leader(name)``. One object is one candidate, which any thread may use. The
    leadership is that of ``client.fenced_lock(name)``: renewed while the object is there, and over
    with its lease if the process dies. ``docs/guides/leader-election.md`` has more.
    """

    __slots__ = ()

    def _new_lock(self, **options: Any) -> LeaderLock:
        lost = self._hold_lost() if self._on_lost is not None else None
        return LeaderLock(self._client, self.name, on_lost=lost, **options)

    def _new_hold(self, lock: LeaderLock) -> Hold:
        return Hold(lock)

    def campaign(self, timeout: Seconds | None = None) -> bool:
        """Wait until this object leads; ``False`` if another one still does after ``timeout``.

        ``timeout``: seconds, 0 not to wait, ``None`` without limit. ``True`` at once while it
        leads.

        Raises ``TypeError`` or ``ValueError`` for a bad argument, before anything is sent;
        ``ConnectionError`` when no server answers within ``timeout`` and the command time-out;
        ``ServerError`` when it refuses; ``LockLostError`` when its lease was over before the
        caller had it; ``RuntimeError`` while another thread campaigns with this object.
        """
        seconds, campaign = checked_timeout(True, timeout), Campaign[Hold]()
        try:
            return campaign.end(self, elected=run(self._elect(campaign, seconds)))
        except BaseException:  # an interrupt, too, before the caller knew
            campaign.end(self, elected=False)
            raise

    def resign(self) -> None:
        """Give the leadership up; the next candidate is elected at once.

        Raises ``NotOwnedError`` when it does not lead, ``LockLostError`` (once) when that was lost,
        ``ConnectionError`` when the server is out of reach: then the release goes on in the
        background until the lease is over, and ``resign`` may be called again.
        """
        run(self._resign())

    def set_value(self, value: str | bytes | None) -> None:
        """Announce another value.

        Raises ``TypeError`` or ``ValueError`` for a value that is too long, before anything is
        sent; ``NotOwnedError`` when this object does not lead, ``LockLostError`` when that was
        lost; ``ConnectionError``: either value may be announced.
        """
        run(self._set_value(value))

    def current(self) -> LeaderInfo | None:
        """The leader, whichever candidate that is; ``None``: no candidate leads."""
        _, info = run(self._read(without_limit(self._client._core)))
        return info

    def holders(self) -> list[Holder]:
        """The leader, if there is one, with what its client says; see ``Lock.holders``."""
        return run(self._lock._holders())

    def watch(self, timeout: Seconds | None = None) -> Iterator[LeaderInfo | None]:
        """The leader now, and then each other one, or ``None``, as it is announced.

        It waits for the server's messages. Of changes that follow each other quickly it may show
        the last one only. It ends after ``timeout`` seconds, with 0 after the first one; ``None``:
        never.

        Raises ``ConnectionError`` and ``ServerError`` while it waits.
        """
        time = time_of(self._client._core, checked_timeout(True, timeout))
        return self._watch(time)

    def _watch(self, time: CallersTime) -> Iterator[LeaderInfo | None]:
        found = run(self._read(time))
        yield found[1]
        while (other := run(self._next(found[0], time))) is not None:
            if said(other[1]) != said(found[1]):
                yield other[1]
            found = other

    def run(self, main: Callable[[Leader], T]) -> T:
        """Campaign, and call ``main`` with this object; again whenever the leadership was lost.

        ``main`` looks at ``leader.leading`` between its steps, and returns when it is false. When
        ``main`` returns while it leads, this resigns, and returns the same. An error of ``main`` is
        raised after resigning.
        """
        checked_main(main, asynchronous=False)
        while True:
            self.campaign()
            try:
                result = main(self)
            except BaseException as error:
                if self._leave(error) and isinstance(error, LockLostError):
                    continue
                raise
            if not self._is_over():
                return result

    def _is_over(self) -> bool:
        """Resign after ``main`` has returned; whether the leadership was lost before."""
        if not self.leading and not self.lost:
            return False  # main has resigned
        try:
            self.resign()
        except LockLostError:
            return True
        return False

    def _leave(self, error: BaseException) -> bool:
        """The same after an error of ``main``."""
        if self.lost:
            with suppress(HoldfastError):
                self.resign()
            return True
        if self.leading:
            self._end(error)
        return False

    def _end(self, body: BaseException | None) -> None:
        """Resign at the end of a block; an error of it must not hide the block's."""
        try:
            self.resign()
        except HoldfastError as error:
            if body is None:
                raise
            if body is not error:
                self._note(body, error)

    def __enter__(self) -> Self:
        """Campaign for ``wait`` seconds, then raise ``LockTimeout``."""
        campaign: Campaign[Hold] = Campaign()
        try:
            if not campaign.end(self, elected=run(self._elect(campaign, self._wait))):
                raise self._lock._timed_out(self._wait)
            return self
        except BaseException:
            campaign.end(self, elected=False)
            raise

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Resign. An error of the body is raised; one of ``resign`` is added to it as a note."""
        try:
            self._end(exc)
        except HoldfastError:
            raise
        except BaseException:  # an interrupt, which may have come before the release
            if self.leading and self._hold is not None:
                core_of(self._lock).release_unawaited(self._hold._owner)
            raise


def said(info: LeaderInfo | None) -> tuple[Any, ...] | None:
    """What a leader has announced, without what time changes."""
    return info and info[:3]
