"""The errors.

::

    HoldfastError
    ├── LockError                 also a RuntimeError, as threading has it
    │   ├── NotOwnedError         the caller does not hold what it released
    │   │   └── LockLostError     the caller did hold it, and its hold is gone
    │   ├── LockTimeout           also a TimeoutError: ``with`` could not get the lock in time
    │   └── StaleTokenError       the resource has seen the fencing token of a later grant
    ├── ConnectionError           also the built-in one: no server, or none in time
    └── ServerError               the server answered with an error; ``code`` is its first word

A message says what failed, on which name and server, and what to do; it never contains a password.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from holdfast._engine.names import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast._engine.arguments import Name

__all__ = [
    "ConnectionError",
    "HoldfastError",
    "LockError",
    "LockLostError",
    "LockTimeout",
    "LostPermit",
    "NotOwnedError",
    "ServerError",
    "StaleTokenError",
    "is_busy",
    "left_elsewhere",
    "not_owned",
]


class HoldfastError(Exception):
    """The base of all errors of this library."""

    __module__ = "holdfast"


class LockError(HoldfastError, RuntimeError):
    """A lock was used in a way that its state does not allow."""

    __module__ = "holdfast"


class NotOwnedError(LockError):
    """The caller (its thread or task) does not hold what it released."""

    __module__ = "holdfast"


class LockLostError(NotOwnedError):
    """The caller's hold is gone: its lease ran out, or it was removed on the server."""

    __module__ = "holdfast"


class LockTimeout(LockError, TimeoutError):
    """Another owner held the lock for as long as the caller waited.

    Or the server refused to work until then: ``__cause__`` is its error.
    """

    __module__ = "holdfast"


class StaleTokenError(LockError):
    """The resource has seen a greater fencing token: a later owner has used it since.

    Raised by ``holdfast.contrib.fencing``. Nothing was written; acquire the lock again.
    """

    __module__ = "holdfast"


class ConnectionError(HoldfastError, builtins.ConnectionError):
    """No server could be reached, or none answered in time; or the client was closed."""

    __module__ = "holdfast"


class ServerError(HoldfastError):
    """The server answered with an error (including a wrong password and missing rights)."""

    __module__ = "holdfast"

    #: The first word of the server's reply, such as ``WRONGTYPE``.
    code: str = ""
    #: The server refuses to work for the moment, as with ``LOADING``: a later attempt may succeed.
    temporary: bool = False
    # Of a repetition of a command that the server may have executed before.
    _repeated: bool = False


class LostPermit(Exception):
    """To the semaphore: which of the permits that it releases together is lost, and why."""

    def __init__(self, place: int, owner: int, reason: str, gone: bool) -> None:  # noqa: FBT001
        super().__init__(place, owner, reason, gone)
        self.place = place
        self.owner = owner
        self.reason = reason
        #: The server no longer has it: it may have been released by force.
        self.gone = gone


def is_busy(error: LockTimeout) -> bool:
    """Whether another owner held the lock, rather than the server refused to work."""
    return error.__cause__ is None


def left_elsewhere(name: Name, owner: str, word: str) -> NotOwnedError:
    """The error of a block's end whose caller does not hold the lock, while ``owner`` does.

    ``word``: "thread" or "task".
    """
    return NotOwnedError(
        f"{quoted(name)} is held by another block, in {owner}: a `with` block ends in the {word} "
        "that has entered it; use lock.hold() for a hold that any other may end"
    )


def not_owned(
    name: Name, owners: list[tuple[int, str]], title: Callable[[int], str]
) -> NotOwnedError:
    """The error of a release by a caller that does not hold the lock.

    ``owners``: those of the same client that hold it, each with the kind that has ended ("thread",
    "task"), or "" while it lives; ``title`` describes an owner.
    """
    if not owners:
        msg = f"{quoted(name)} is not held by the caller; only its owner can release it"
        return NotOwnedError(msg)
    number, ended = owners[0]
    who = f"acquired by a {ended} that has ended" if ended else f"held by {title(number)}"
    msg = f"{quoted(name)} is not held by the caller, but {who}; only its owner can release it"
    return NotOwnedError(msg)
