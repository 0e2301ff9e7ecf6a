"""Releases by force, so that waiters wake, with a record of who did it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._errors import LockError, ServerError
from ._forced import record, withdraw
from ._kinds import kind_of
from ._names import quoted
from ._process import NO_OWNER

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["force_release"]

#: For a fair lock that is only released: it does not wait.
QUEUE_TIMEOUT_MS = 1


def force_release(core: _core.Client, name: bytes, kind: str, owners: Sequence[str]) -> bool:
    """Release a lock of that kind, which has these owners; ``False`` if it is free by now."""
    if not owners:
        return _released(core, name, kind, owners)
    key = _core.options_of(core).name_prefix + name
    entry = record(core, key, owners)  # first: the owner looks for it when it learns
    try:
        released = _released(core, name, kind, owners)
    except ServerError:
        withdraw(core, key, entry)
        raise
    if not released:
        withdraw(core, key, entry)
    return released


def _released(core: _core.Client, name: bytes, kind: str, owners: Sequence[str]) -> bool:
    which = kind_of(kind)
    if which.type == b"hash":  # of two sides, the second first: its owner may also have the first
        words = [f"{side}_lock" for side in reversed(which.sides)] or [kind]
        return sum(_force(core, word, name) for word in words) > 0
    if not which.number:
        semaphore = _core.PermitSemaphore(core, name)
        released = [semaphore.release(bytes.fromhex(permit)) for permit in owners]
        return any(one is not None for one in released)
    msg = (
        f"{quoted(name)} is a {kind}, not a lock: it has no owners; "
        "change its number with its own methods"
    )
    raise LockError(msg)


def _force(core: _core.Client, word: str, name: bytes) -> bool:
    lock = _core.new_lock(core, word, name, 0, QUEUE_TIMEOUT_MS, None)
    return lock.force_release(NO_OWNER) == 1
