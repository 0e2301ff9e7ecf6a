"""The semaphore with permits that have ids and expire."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    UNSET,
    Late,
    LeaseTime,
    Name,
    Seconds,
    Terms,
    Unset,
    checked_callback,
    checked_count,
    checked_label,
    checked_name,
    checked_setup,
    checked_timeout,
    checked_wait,
    instead_of,
    milliseconds,
    refuse_deferring,
)
from holdfast._engine.errors import LockLostError, LostPermit, NotOwnedError, quoted
from holdfast._engine.process import AnyClient
from holdfast._locks.base import BlockingPermits, Permits, answers, native, seconds_left
from holdfast._locks.steps import granting, run, without_limit

if TYPE_CHECKING:
    from holdfast._core import CallersTime
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder
    from holdfast._locks.steps import Steps
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

#: Of a client, that its semaphores keep.
MOST_LOSSES: Final = 10_000
#: That one call takes or releases; each is one more hold to renew.
MOST_AT_ONCE: Final = 10_000


@cache
def host() -> str:
    """This machine, for those who ask who has a permit."""
    return os.uname().nodename


def here() -> bytes:
    """This process and machine, as the server keeps them behind the owner of a slot or a party."""
    return f" {os.getpid()} {host()}".encode()


class PermitReporter:
    """Has ``on_lost`` of a semaphore object called in the context of who took the permit.

    It is there until the permit is released, or its loss forgotten.
    """

    __slots__ = ("_context", "_semaphore", "slot")

    #: The slot of a block, to which no variable need refer.
    slot: object

    def __init__(self, semaphore: BasePermitSemaphore) -> None:
        if not semaphore._client._asynchronous:
            _events.keep_handlers(semaphore._client)
        self._semaphore = semaphore
        self._context = copy_context()

    def __call__(self, permit: str, owner: int) -> None:
        worker = _events.handlers_of(self._semaphore._client)
        _events.run_on(worker, owner, partial(self._tell, permit))

    def _tell(self, permit: str) -> None:
        try:
            self._context.run(self._semaphore._report, permit)
        except BaseException as error:  # noqa: BLE001 - also SystemExit
            self._semaphore._log_raised(error)


class PermitLosses(_events.Listener):
    """Receives the losses of all permits of a client."""

    __slots__ = ("_core", "_lost", "_taken")

    lasting = True

    def __init__(self, client: AnyClient) -> None:
        self._core = client._core
        self._taken = client._permits
        self._lost: deque[str] = deque()  # the oldest first
        super().__init__(client._listeners)

    def _hold_lost(self, reason: str) -> None:
        permit = _core.permit_id(self._core.id, self.lost_owner)
        if (taken := self._taken.get(permit)) is None:
            return  # it was released meanwhile
        semaphore, report = taken
        semaphore._gone[permit] = None
        self._lost.append(permit)
        if permit not in self._taken:
            semaphore._gone.pop(permit, None)  # released just now
        self._forget_oldest()
        if report is not None:
            report(permit, self.lost_owner)

    def _forget_oldest(self) -> None:
        """Keep the latest losses only, for programs that never release lost permits."""
        while len(self._lost) > MOST_LOSSES:
            oldest = self._lost.popleft()
            if (taken := self._taken.get(oldest)) is not None:
                taken[0]._forget(oldest)


def losses_of(client: AnyClient) -> PermitLosses:
    """The listener of a client, made with its first permit semaphore."""
    losses: dict[int, PermitLosses] = client._permit_losses
    if not losses:
        losses.setdefault(0, PermitLosses(client))  # of several threads, one makes it
    losses[0].listen()  # again: an interrupt may have come before it
    return losses[0]


class Granting:
    """Permits on their way, with their ids; to be used as ``with grant.keeping:``.

    ``acquire``: the exchange that takes them, all or none; ``label``: instead of the semaphore's.
    """

    __slots__ = ("_first", "_semaphore", "_who", "acquire", "keeping", "permits", "report")

    def __init__(
        self,
        semaphore: BasePermitSemaphore,
        count: int,
        lease: LeaseTime,
        time: CallersTime,
        *,
        waits: bool = True,
        label: str | None = None,
        terms: Terms | None = None,
    ) -> None:
        self._semaphore = semaphore
        self._who: bytes | None = None
        self.report = semaphore._reporter() if semaphore._on_lost is not None else None
        given = semaphore._losses, time, label, terms, self.report
        made = granting(semaphore, count, waits, lease, *given)
        self.keeping, self.acquire, self.permits, self._first = made

    def raw(self) -> bytes:
        """The first one, as the server has it."""
        return bytes.fromhex(self.permits[0])

    def who(self) -> bytes:
        """Who has it, as the server keeps that beside a slot or a party."""
        if self._who is None:
            self._who = f"{self._semaphore._client._core.id}:{self._first}".encode() + here()
        return self._who

    def keep(self) -> list[str]:
        """The permits, which are the caller's from now on, unless the client has closed."""
        try:
            self.keeping.keep()
        finally:
            if not self.keeping.kept:
                self.forget()
        return self.permits

    def undo(self) -> None:
        """Give them back, as their caller does not get them; does not wait."""
        self.keeping.undo()
        self.forget()

    def forget(self) -> None:
        """They were not granted, or are given back: no loss of them is reported."""
        for permit in self.permits:
            self._semaphore._forget(permit)


class BasePermitSemaphore(Permits):
    """The common part of the semaphores for threads and for tasks: everything except waiting."""

    __slots__ = ("_gone", "_lease", "_losses", "_on_lost")

    _kind = "permit_semaphore"

    _core: _core.PermitSemaphore

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        permits: int | None = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[str], object] | None = None,
        label: str | None = None,
    ) -> None:
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        super().__init__(client, name)
        self._on_lost = on_lost
        self._gone: dict[str, None] = {}  # permits of this object, lost and not released
        self._losses = losses_of(client).number
        encoded = checked_name("name", name)
        setup = checked_setup(permits)
        purpose = checked_label(label)
        self._core = _core.PermitSemaphore(client._core, self._kind, encoded, setup, purpose)
        self._lease = self._checked_lease(lease)
        self._wait = checked_wait(wait)
        self._bind_core()

    def _lease_of(self, lease: Seconds | Unset | None) -> LeaseTime:
        if isinstance(lease, Unset):
            return self._lease
        return self._checked_lease(lease)

    @property
    def lost(self) -> bool:
        """A permit that was taken through this object is gone, and has not been released."""
        return bool(self._gone)

    def _reporter(self) -> PermitReporter:
        """Before an acquire: what is to be called with a permit of it that is lost."""
        return PermitReporter(self)

    def _take(
        self, count: int, lease: LeaseTime, time: CallersTime, label: str | None
    ) -> Steps[Granting | None]:
        """Take permits, all or none, to be kept by the caller; ``None``: not in time."""
        grant = Granting(self, count, lease, time, label=label)
        taken: Granting | None = None
        try:
            with grant.keeping:
                if (yield grant.acquire):
                    grant.keeping.pass_on()
                    taken = grant
                return taken
        finally:
            if taken is None:
                grant.forget()

    def _forget(self, permit: str) -> None:
        """The permit is not in use, or has no owner any more."""
        _core.forget_permit(self, permit.lower())

    def _report(self, permit: str) -> Any:
        return self._on_lost(permit) if self._on_lost is not None else None

    def _not_out(self, permit: str) -> NotOwnedError:
        return NotOwnedError(
            f"{permit!r} is not a permit of {quoted(self.name)} in use: "
            "it was released, has expired, or never existed"
        )

    def _about(self, lost: LostPermit) -> tuple[str, int, list[tuple[str, bytes, str, str]]]:
        """Of a loss, the arguments of ``explained_text()``."""
        client = self._client
        key = client.name_prefix + checked_name("name", self.name)
        parts = [(client.id, key, "", lost.reason)] if lost.gone else []
        return lost.reason, lost.owner, parts

    def _lost_of(self, permits: list[str], lost: LostPermit, reason: str) -> LockLostError:
        permit = permits[lost.place]
        self._forget(permit)
        return LockLostError(
            f"permit {permit!r} of {quoted(self.name)} was lost: {reason}; none was released"
        )

    def _check_release(self, permits: list[str], answer: int) -> None:
        """After the release of several; see ``release_many.lua`` for the server's answer."""
        if answer < 0:
            absent = permits[-answer - 1]
            self._forget(absent)
            raise NotOwnedError(f"{self._not_out(absent)}; none was released")

    def _number_of(self, permit: str) -> int:
        """The owner's number in a permit's id of this process; see ``recipes/step.cpp``."""
        mixed = int(_core.permit_id(self._client.id, 0)[16:], 16)
        return mixed ^ int(permit[16:], 16)

    def _holders(self, time: CallersTime | None = None) -> Steps[list[Holder]]:
        from holdfast._locks.permit_holders import of_permits  # dataclasses are slow to import

        core = self._client._core
        key = self._client.name_prefix + checked_name("name", self.name)
        return of_permits(core, key, self._own, time or without_limit(core))

    def _own(self, permit: str) -> str:
        """The owner of a permit of this client; empty: it is another's."""
        taken = permit in self._client._permits
        return f"{self._client.id}:{self._number_of(permit)}" if taken else ""

    def _let_go(self, permits: list[bytes]) -> None:
        """They are not renewed any more, and no loss of them is found."""
        self._core.leave(permits)
        _core.forget_permits(self, permits)


class PermitSemaphore(BasePermitSemaphore, BlockingPermits, _core.BlockingPermitSemaphore):
    """A semaphore with permits that have ids and are returned when their lease ends.

    Made by ``client.permit_semaphore(name)``, shared by all processes that use its name. A permit
    is identified by its id and belongs to no thread: any client that knows the id may release or
    extend it. The client renews a permit that it took without a lease, until the permit is released
    or the client is closed. Redisson's ``RPermitExpirableSemaphore`` of the same name is the same
    semaphore.
    """

    __slots__ = ()

    def _bind_core(self) -> None:
        reports = self._on_lost is not None
        self._bind(self._core, self._lease, self._wait, self._losses, reports)

    def try_set_permits(self, n: int) -> bool:
        """Set the number of permits; ``False``, and no change, if it has been set before."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(count, self._core.try_set_permits(count).wait())

    @native(_core.BlockingPermitSemaphore.acquire)
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> str | None:
        """Take a permit; its id, 32 hex digits, or ``None`` when none was free in time.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. ``lease``: after how many seconds the permit is returned; ``None``: it is
        renewed; by default the semaphore's own. ``label``: what the permit is for, instead of the
        semaphore's ``label``.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out, ``ServerError`` when it refuses.
        """
        raise NotImplementedError

    @native(_core.BlockingPermitSemaphore.acquire_many)
    def acquire_many(
        self,
        n: int,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> list[str] | None:
        """Take ``n`` permits at once, all or none; ``None`` when they were not free in time.

        Returns their ids. ``n``: 1 to 10 000. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit; ``blocking=False`` does not wait. ``lease``: after how many seconds a permit
        is returned; ``None``: it is renewed; by default the semaphore's own. ``label``: what they
        are for, instead of the semaphore's ``label``. Each permit has its own lease, and may be
        released alone. A request for many may be overtaken by requests for fewer. It raises what
        ``acquire`` raises; then none was taken.
        """
        raise NotImplementedError

    @native(_core.BlockingPermitSemaphore.release)
    def release(self, permit: str, *, wait: bool = True) -> None:
        """Release a permit of any client.

        Raises ``TypeError`` or ``ValueError`` for an invalid permit id; ``NotOwnedError`` when it
        is unknown or has expired; ``LockLostError``, a kind of that, (once) when this client
        renewed it and found it gone; ``ConnectionError`` when the server is out of reach: it may be
        called again.
        """

    @native(_core.BlockingPermitSemaphore.__enter__)
    def __enter__(self) -> str:
        """Take a permit and return its id; after ``wait`` seconds it raises ``LockTimeout``."""
        raise NotImplementedError

    @native(_core.BlockingPermitSemaphore.__exit__)
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Release the latest permit that the calling thread has entered with, else the oldest.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """

    @instead_of(ACQUIRE_KEYWORDS, "acquire")
    def _checked_request(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> tuple[bool, float, LeaseTime, str | None]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return bool(blocking), seconds, self._lease_of(lease), checked_label(label)

    @instead_of({}, "release")
    def _checked_permit(self, permit: str, *, wait: bool = True) -> tuple[bytes]:
        """The arguments of ``release``."""
        refuse_deferring("PermitSemaphore", wait)
        return (checked_permit(permit),)

    @instead_of(ACQUIRE_KEYWORDS, "acquire_many")
    def _checked_request_of_many(
        self,
        n: int,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> tuple[bool, float, LeaseTime, str | None, int]:
        """The arguments of ``acquire_many``."""
        count = checked_many(n)
        seconds = checked_timeout(blocking, timeout)
        return bool(blocking), seconds, self._lease_of(lease), checked_label(label), count

    def release_many(self, permits: Iterable[str]) -> None:
        """Release permits of any client, all or none.

        Raises ``TypeError`` or ``ValueError`` for an invalid id, one that is there twice, or none;
        ``NotOwnedError`` when one is unknown or has expired, ``LockLostError`` as ``release``: then
        none was released. ``ConnectionError`` when the server is out of reach: it goes on in the
        background for twice the command time-out, and the permits are not renewed any more.
        """
        ids, raw = checked_permits(permits)
        release = answers(self._core.release_many, raw)
        try:
            answer = next(release)  # before this call it has not begun, and they are renewed
            if answer > 0:
                _core.forget_permits(self, raw)
        except LostPermit as lost:
            reason = _events.explained_text(*self._about(lost))
            raise self._lost_of(ids, lost, reason) from None
        except BaseException:
            self._let_go(raw)
            raise
        self._check_release(ids, answer)

    def try_release(self, permit: str) -> bool:
        """Release a permit of any client; ``False`` when it is unknown or has expired."""
        try:
            self.release(permit)
        except NotOwnedError:
            return False
        return True

    def extend(self, permit: str, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when it is unknown or has expired.

        ``lease``: seconds. This client no longer renews it, even if this fails; then the shorter
        one of both leases counts. At its end the permit is lost, as any other.

        Raises ``TypeError`` or ``ValueError`` for an invalid id or lease, ``ConnectionError`` when
        the server is out of reach.
        """
        raw, ms = checked_permit(permit), milliseconds("lease", lease)
        extended = next(answers(self._core.extend, raw, ms)) == 1
        return extended and not self._core.known_lost(raw)

    def lease_left(self, permit: str) -> float | None:
        """Seconds until a permit of any client expires; ``None`` when it is unknown or has expired.

        ``math.inf``: it never expires, as a permit that Redisson has taken without a lease.
        """
        return seconds_left(self._core.lease_left(checked_permit(permit)).wait())

    def set_permits(self, n: int) -> None:
        """Set the number of permits, those in use included.

        Where more than ``n`` are in use, they stay so, and none is free until enough are released.
        """
        count = checked_count("n", n, least=0)
        with self._expecting(self._core.expect(count)):
            self._core.set_permits(count).wait()

    def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            self._core.add_permits(count).wait()

    def permits(self) -> int:
        """The number of all permits, free and in use."""
        return self._core.permits().wait()

    def holders(self) -> list[late.Holder]:
        """The permits in use, according to the server, the next to expire first.

        ``owner`` is a permit's id. What its client says is known of those of this client only: the
        server does not say whose a permit is. At most 4096.
        """
        return run(self._holders())

    def acquired_permits(self) -> int:
        """The number of permits in use."""
        return self._core.acquired_permits().wait()

    def available_permits(self) -> int:
        """The number of free permits, including those that have expired."""
        return self._core.value().wait() or 0

    def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        return self._core.delete().wait() == 1


def checked_permit(permit: Any) -> bytes:
    """A permit's id as stored on the server: 16 bytes."""
    if not isinstance(permit, str):
        msg = f"permit must be str, not {type(permit).__name__}"
        raise TypeError(msg)
    if (raw := _core.permit_bytes(permit)) is None:
        msg = f"permit must be 32 hex digits, not {permit!r}"
        raise ValueError(msg)
    return raw


def checked_many(n: Any) -> int:
    """How many permits to take at once."""
    count = checked_count("n", n)
    if count > MOST_AT_ONCE:
        msg = f"n must be at most {MOST_AT_ONCE}, not {n!r}: each permit is a hold to renew"
        raise ValueError(msg)
    return count


def checked_permits(permits: Any) -> tuple[list[str], list[bytes]]:
    """Several ids, as given and as stored."""
    if isinstance(permits, (str, bytes)):
        msg = f"permits must be several ids, not {type(permits).__name__}"
        raise TypeError(msg)
    ids = list(permits)
    raw = [checked_permit(permit) for permit in ids]
    if not 1 <= len(raw) <= MOST_AT_ONCE:
        msg = f"permits must be 1 to {MOST_AT_ONCE} ids, not {len(raw)}"
        raise ValueError(msg)
    if len(set(raw)) < len(raw):
        twice = next(permit for permit in raw if raw.count(permit) > 1)
        msg = f"permits must be different ids: {twice.hex()!r} is there twice"
        raise ValueError(msg)
    return ids, raw
