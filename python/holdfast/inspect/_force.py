"""Releases by force, so that waiters wake, with a record of who did it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import _core
from holdfast._errors import LockError, ServerError
from holdfast._lock import NO_OWNER

from ._forced import record, withdraw
from ._names import quoted

if TYPE_CHECKING:
    from ._deployment import Deployment
    from ._model import LockDetail

__all__ = ["force_release"]

#: For a fair lock that is only released: it does not wait.
NO_PATIENCE_MS = 1


def force_release(deployment: Deployment, name: bytes, found: LockDetail | None) -> bool:
    """Release the lock that was found; ``False`` if it is free by now."""
    if found is None:
        return False
    if not found.owners:
        return _released(deployment, name, found)
    core, key = deployment.core, deployment.prefix + name
    # First: the owner looks for it when it learns.
    entry = record(core, key, [owner.id for owner in found.owners])
    try:
        released = _released(deployment, name, found)
    except ServerError:
        withdraw(core, key, entry)
        raise
    if not released:
        withdraw(core, key, entry)
    return released


def _released(deployment: Deployment, name: bytes, found: LockDetail) -> bool:
    if found.kind in {"lock", "fair_lock"}:
        return _force(deployment, found.kind, name)
    if found.kind == "read_write_lock":
        written = _force(deployment, "write_lock", name)
        return _force(deployment, "read_lock", name) or written
    if found.kind == "permit_semaphore":
        semaphore = _core.PermitSemaphore(deployment.core, name)
        permits = [bytes.fromhex(owner.id) for owner in found.owners]
        released = [semaphore.release(permit) for permit in permits]
        return any(one is not None for one in released)
    msg = (
        f"{quoted(name)} is a {found.kind}, not a lock: it has no owners; "
        "change its number with its own methods"
    )
    raise LockError(msg)


def _force(deployment: Deployment, word: str, name: bytes) -> bool:
    lock = _core.new_lock(deployment.core, word, name, 0, NO_PATIENCE_MS, None)
    return lock.force_release(NO_OWNER) == 1
