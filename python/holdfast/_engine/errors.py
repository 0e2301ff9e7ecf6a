"""The errors of the library, and how messages, logs and reprs show a name; patterns of names."""

from __future__ import annotations

import builtins
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from holdfast import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast._engine.arguments import Name


def shown(name: Name) -> str:
    r"""A name as text for people.

    Control characters, characters that are invisible or change the direction of the text, and bytes
    that are not UTF-8 are ``\xNN``.
    """
    raw = name.encode(errors="surrogatepass") if isinstance(name, str) else bytes(name)
    return _core.shown(raw)


def quoted(name: Name) -> str:
    """The same between single quotes."""
    return f"'{shown(name)}'"


def braced(name: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A key or channel that belongs to a name: in a cluster, in the slot of the name's own key."""
    return before + (name if b"{" in name else b"{" + name + b"}") + after


def escaped(raw: bytes) -> bytes:
    """A glob that matches these bytes only."""
    return re.sub(rb"([*?\[\]\\])", rb"\\\1", raw)


@lru_cache(maxsize=8)
def matcher(pattern: bytes) -> re.Pattern[bytes]:
    """A glob of ``SCAN MATCH`` as a regular expression for ``fullmatch``, byte by byte."""
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        part, at = _translated(pattern, at)
        if not (part == b".*" and parts[-1:] == [part]):
            parts.append(part)
    return re.compile(b"".join(parts), re.DOTALL)


def _translated(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The element of a glob that begins there, translated, and where the next one begins."""
    byte = pattern[at : at + 1]
    if byte == b"*":
        return b".*", at + 1
    if byte == b"?":
        return b".", at + 1
    if byte == b"[":
        return _translated_set(pattern, at + 1)
    if byte == b"\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1 : at + 2]), at + 2
    return re.escape(byte), at + 1


def _translated_set(pattern: bytes, at: int) -> tuple[bytes, int]:
    """A set in brackets; one that is not closed ends with the pattern."""
    negated = pattern[at : at + 1] == b"^"
    at += negated
    members: set[int] = set()
    while at < len(pattern) and pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
            members.add(pattern[at + 1])
            at += 2
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            low, high = sorted((pattern[at], pattern[at + 2]))
            members.update(range(low, high + 1))
            at += 3
        else:
            members.add(pattern[at])
            at += 1
    if negated:
        members = set(range(256)) - members
    body = b"".join(b"\\x%02x" % byte for byte in sorted(members))
    return (b"[" + body + b"]" if body else rb"(?!)"), at + 1


class HoldfastError(Exception):
    """The base of all errors of this library."""

    __module__ = "holdfast"

    #: The error came after the commit of the transaction that a helper of ``holdfast.contrib`` ran.
    committed: bool = False


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


class BrokenBarrierError(LockError):
    """A party of the barrier timed out, was cancelled, died or aborted: no party goes on."""

    __module__ = "holdfast"


class ResultNotKeptError(LockError):
    """What is to run once has run, and its result could not be kept: it does not run again.

    ``__cause__`` is the reason, where this caller has run it.
    """

    __module__ = "holdfast"

    #: What the function returned, for the caller that has run it; ``None`` for all others.
    result: Any = None


class StaleTokenError(LockError):
    """The resource has seen a greater fencing token: a later owner has used it since.

    Raised by ``holdfast.contrib.fencing``. Nothing was written: roll back, and acquire the lock
    again. If every owner is refused, the lock's server has lost its counter: ``holdfast token``.
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

    def __init__(self, place: int, owner: int, reason: str, gone: bool) -> None:
        super().__init__(place, owner, reason, gone)
        self.place = place
        self.owner = owner
        self.reason = reason
        #: The server no longer has it: it may have been released by force.
        self.gone = gone


def foreign_data(key: Name, why: str) -> LockError:
    """The error of a key, a field or a value that the library's clients do not write.

    ``key``: where it is; ``why``: what is wrong with it, as "its token is no number".
    """
    return LockError(
        f"{quoted(key)} cannot be read: {why}, so another program wrote this key: "
        "use another name, or delete the key"
    )


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
