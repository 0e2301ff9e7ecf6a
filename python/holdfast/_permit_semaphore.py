"""The semaphore whose permits have ids and expire."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from . import _core, _events
from ._arguments import (
    UNSET,
    LeaseTime,
    Name,
    Seconds,
    Unset,
    checked_count,
    checked_lease,
    checked_name,
    checked_timeout,
    checked_wait,
    milliseconds,
)
from ._errors import HoldfastError, LockTimeout, NotOwnedError

if TYPE_CHECKING:
    from ._client import BaseClient

__all__ = ["BasePermitSemaphore", "PermitSemaphore"]

PERMIT: Final = re.compile("[0-9a-fA-F]{32}")


class BasePermitSemaphore(_core.Native):
    """What the semaphores for threads and for tasks have in common: all but the waiting."""

    __slots__ = ("__weakref__", "_client", "_core", "_lease", "_wait", "name")

    #: The name, as it was given.
    name: Name

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
    ) -> None:
        self._client = client
        self._core = _core.PermitSemaphore(client._core, checked_name("name", name))
        self._lease = checked_lease("lease", lease, client._lease_ms)
        self._wait = checked_wait(wait)
        self.name = name

    def _lease_of(self, lease: Seconds | Unset | None) -> LeaseTime:
        if isinstance(lease, Unset):
            return self._lease
        return checked_lease("lease", lease, self._client._lease_ms)

    def _new_number(self, lease: LeaseTime) -> int:
        """The number of a new permit, of which the watchdog may soon have something to tell."""
        if lease.renewed and not _events.running():
            _events.start()
        return _core.next_owner()

    def _timed_out(self) -> LockTimeout:
        return LockTimeout(
            f"no permit of {self.name!r} was free in the {self._wait:g} s that were waited"
        )

    def _not_out(self, permit: str) -> NotOwnedError:
        return NotOwnedError(
            f"{permit!r} is no permit of {self.name!r} that is out: "
            "it was released, has expired, or never was one"
        )

    def _not_entered(self) -> NotOwnedError:
        return NotOwnedError(f"{self.name!r} was not entered, or entered by another process")

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        """An error of the release must not hide the error of the body: it is added to it."""
        what = f"while a permit of {self.name!r} was released after this"
        _events.note(body, f"{what}: {type(release).__name__}: {release}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __reduce__(self) -> Any:
        msg = (
            f"a {type(self).__name__} cannot be pickled or copied: "
            "make one of the same name from a client of the other process"
        )
        raise TypeError(msg)


class PermitSemaphore(BasePermitSemaphore, _core.BlockingPermitSemaphore):
    """A semaphore whose permits have ids and come back by themselves when their lease is over.

    Made by ``client.permit_semaphore(name)``, shared by all processes that use its name. A permit
    belongs to whoever has its id, not to a thread: any client may release or extend it. One that is
    taken without a lease is renewed by the client that took it until it is released, or the client
    is closed. Redisson's ``RPermitExpirableSemaphore`` of the same name is the same semaphore.
    """

    __slots__ = ()

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
    ) -> None:
        super().__init__(client, name, lease=lease, wait=wait)
        self._bind(self._core, self._lease, self._wait)

    def try_set_permits(self, n: int) -> bool:
        """Say how many permits there are; ``False`` when that was said before: nothing changes."""
        return self._core.try_set_permits(checked_count("n", n, least=0)) == 1

    def _checked_request(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> tuple[bool, float, LeaseTime]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return bool(blocking), seconds, self._lease_of(lease)

    def _checked_permit(self, permit: str) -> tuple[bytes]:
        """The argument of ``release``."""
        return (checked_permit(permit),)

    def try_release(self, permit: str) -> bool:
        """Give a permit back, whoever has taken it; ``False`` when it is unknown or has expired."""
        try:
            self.release(permit)
        except NotOwnedError:
            return False
        return True

    def extend(self, permit: str, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when it is unknown or has expired.

        This client no longer renews it.
        """
        raw, ms = checked_permit(permit), milliseconds("lease", lease)
        return self._core.extend(raw, ms) == 1

    def available_permits(self) -> int:
        """The permits that are free, once those that have expired are counted back."""
        return self._core.available_permits()

    def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        return self._core.delete() == 1


def checked_permit(permit: Any) -> bytes:
    """A permit's id as the server has it: 16 bytes."""
    if not isinstance(permit, str):
        msg = f"permit must be str, not {type(permit).__name__}"
        raise TypeError(msg)
    if not PERMIT.fullmatch(permit):
        msg = f"permit must be 32 hex digits, not {permit!r}"
        raise ValueError(msg)
    return bytes.fromhex(permit)
