"""The common part of all synchronizers, for threads and for tasks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

from . import _core, _events, _log
from ._arguments import LeaseTime, Name, Seconds, checked_lease
from ._base_client import BaseClient
from ._errors import ConnectionError, HoldfastError, LockTimeout, ServerError
from ._names import quoted

__all__ = ["BlockingPermits", "Permits", "Synchronizer"]

NEVER_INITIALIZED: Final = (
    "it was never initialized, or was deleted; make it with permits=, or call try_set_permits()"
)


#: Of a lease that is given in seconds.
PLAUSIBLE_MS: Final = (100, 2 * 60 * 60 * 1000)
#: What has been logged of leases in this process.
_doubts: set[str] = set()


def _in_doubt(error: BaseException) -> bool:
    """Whether the command that raised it may have been executed: it was interrupted, too."""
    if isinstance(error, ServerError):
        return error._repeated
    return isinstance(error, ConnectionError) or not isinstance(error, HoldfastError)


def _doubt(name: Name, ms: int) -> None:
    """Log once for each end that a lease is far from those of most programs."""
    if ms < PLAUSIBLE_MS[0]:
        text = "less than 0.1 s: leases are in seconds, and one so short is over before most work"
    else:
        text = (
            "more than two hours: leases are in seconds, and if the owner dies, all others wait "
            "for that long; without lease= it is renewed, and free soon after the owner's death"
        )
    if text not in _doubts:
        _doubts.add(text)
        _log.warning("the lease of %s is %g s, %s", quoted(name), ms / 1000, text)


class Synchronizer(_core.Native):
    """An object of a client, under one name; its state is on the server."""

    __slots__ = ("__weakref__", "_client", "name")

    #: What an owner releases, in the note about a failed release.
    _released_word = ""

    #: The name, as it was given.
    name: Name

    def __init__(self, client: BaseClient, name: Name) -> None:
        self._client = client
        self.name = name

    def _checked_lease(self, lease: Seconds | None) -> LeaseTime:
        """The lease of an argument; one that looks like another unit is logged, once."""
        given = checked_lease("lease", lease, self._client._lease_ms)
        if not given.renewed and not PLAUSIBLE_MS[0] <= given.ms <= PLAUSIBLE_MS[1]:
            _doubt(self.name, given.ms)
        return given

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        """Add an error of the release to the body's error, which it must not hide."""
        what = f"while {self._released_word}{quoted(self.name)} was released after this"
        _events.note(body, f"{what}: {type(release).__name__}: {release}")

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

    _core: Any
    _wait: float
    #: Whether the warning about a missing ``try_set_permits()`` was checked.
    _number_checked: bool

    def __init__(self, client: BaseClient, name: Name) -> None:
        super().__init__(client, name)
        self._number_checked = False
        _events.start()  # also for the events of the client: a warning needs no lock

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
            if change > 0 or not _in_doubt(error):
                self._core.expect_more(-change)
            raise

    @contextmanager
    def _setting(self, count: int) -> Generator[None]:
        """The same of ``try_set_permits``, of which only the answer says what is there."""
        try:
            yield
        except BaseException as error:
            change = self._core.expect(count) if _in_doubt(error) else 0
            if change > 0:
                self._core.expect_more(-change)
            raise

    def _timeout(self, exists: bool | None) -> LockTimeout:
        """``None``: the server, which has refused a permit before, does not say."""
        msg = f"timed out after {self._wait:g} s waiting for a permit of {quoted(self.name)}: "
        if exists is None:
            return LockTimeout(msg + "none was free when the server answered last")
        return LockTimeout(msg + ("none is free" if exists else NEVER_INITIALIZED))

    def _warn_unless(self, exists: bool) -> None:
        """After the first ``acquire`` that timed out, which returns no reason."""
        self._number_checked = True
        if not exists:
            _log.warning("timed out waiting for a permit of %r: %s", self.name, NEVER_INITIALIZED)


class BlockingPermits(Permits):
    """The common part of the two semaphores for threads."""

    __slots__ = ()

    def _timed_out(self) -> LockTimeout:
        exists: bool | None = None
        with suppress(HoldfastError):  # the time-out is what matters
            exists = self._core.late_value() is not None
        return self._timeout(exists)

    def _check_number(self) -> None:
        if self._number_checked:
            return
        with suppress(HoldfastError):  # the time-out is what matters
            self._warn_unless(self._core.late_value() is not None)
