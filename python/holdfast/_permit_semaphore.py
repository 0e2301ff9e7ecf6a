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
    """The common part of the semaphores for threads and for tasks: everything except waiting."""

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
        """The number of a new permit; starts the events' thread if the watchdog will renew it."""
        if lease.renewed and not _events.running():
            _events.start()
        return _core.next_owner()

    def _timed_out(self) -> LockTimeout:
        return LockTimeout(
            f"timed out after {self._wait:g} s waiting for a permit of {self.name!r}: none is free"
        )

    def _not_out(self, permit: str) -> NotOwnedError:
        return NotOwnedError(
            f"{permit!r} is not a permit of {self.name!r} in use: "
            "it was released, has expired, or never existed"
        )

    def _not_entered(self) -> NotOwnedError:
        return NotOwnedError(f"{self.name!r} was not entered, or entered by another process")

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        """Add an error of the release to the body's error, which it must not hide."""
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
    """A semaphore whose permits have ids and are returned when their lease ends.

    Made by ``client.permit_semaphore(name)``, shared by all processes that use its name. A permit
    is identified by its id and belongs to no thread: any client that knows the id may release or
    extend it. The client renews a permit that it took without a lease, until the permit is released
    or the client is closed. Redisson's ``RPermitExpirableSemaphore`` of the same name is the same
    semaphore.
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
        """Set the number of permits; ``False``, and no change, if it has been set before."""
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
        """Release a permit of any client; ``False`` when it is unknown or has expired."""
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
        """The number of free permits, including those that have expired."""
        return self._core.available_permits()

    def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        return self._core.delete() == 1


def checked_permit(permit: Any) -> bytes:
    """A permit's id as stored on the server: 16 bytes."""
    if not isinstance(permit, str):
        msg = f"permit must be str, not {type(permit).__name__}"
        raise TypeError(msg)
    if not PERMIT.fullmatch(permit):
        msg = f"permit must be 32 hex digits, not {permit!r}"
        raise ValueError(msg)
    return bytes.fromhex(permit)
