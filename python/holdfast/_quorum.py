"""The common part of ``MultiLock`` and ``RedLock``: members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._base_lock import BaseLock
from ._errors import ConnectionError
from ._names import quoted
from ._watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["QuorumSide", "checked_members", "cores_of", "may_stand", "title_of"]

Members = tuple[BaseLock, ...]


class QuorumSide(BaseLock):
    """The common part of multi locks and red locks, for threads and for tasks."""

    __slots__ = ()

    _may_wait_for_itself = True
    _may_defer = False

    _members: Members

    def _refuse_upgrade(self) -> None:
        for member in self._members:
            member._refuse_upgrade()


def checked_members(kind: type, locks: Sequence[Any], asynchronous: bool) -> Members:
    """The members: at least one lock, each once, of open clients; raises for others."""
    if not locks:
        msg = f"a {kind.__name__} needs at least one lock"
        raise ValueError(msg)
    for place, lock in enumerate(locks):
        _check_member(kind, lock, asynchronous)
        if any(lock._core.same_as(other._core) for other in locks[:place]):
            msg = f"a {kind.__name__} cannot have {quoted(lock.name)} of one client twice"
            raise ValueError(msg)
    return tuple(locks)


def _is_lock(thing: object) -> bool:
    return isinstance(getattr(thing, "_core", None), _core.Lock) and isinstance(thing, BaseLock)


def _check_member(kind: type, lock: Any, asynchronous: bool) -> None:
    if not _is_lock(lock):
        msg = f"the members of a {kind.__name__} must be locks, not {type(lock).__name__}"
        raise TypeError(msg)
    if lock._client._asynchronous != asynchronous:
        needed, theirs = ("asyncio", "sync") if asynchronous else ("sync", "asyncio")
        msg = (
            f"the members of this {kind.__name__} must be locks of {needed} clients, "
            f"but {quoted(lock.name)} is of a client for {theirs}"
        )
        raise TypeError(msg)
    if lock._client._core.closed:
        msg = f"{quoted(lock.name)} cannot be part of a {kind.__name__}: its client was closed"
        raise ConnectionError(msg)


def title_of(members: Members) -> str:
    """The name of the whole: the members' names, each once."""
    names = dict.fromkeys(member.name for member in members)
    return ", ".join(
        name if isinstance(name, str) else name.decode(errors="backslashreplace") for name in names
    )


def cores_of(members: Members) -> list[_core.Lock]:
    return [member._core for member in members if isinstance(member._core, _core.Lock)]


def may_stand(watcher: Watcher, owner: int) -> bool:
    """After the loss of a member: whether enough members are held; `watcher` then stays."""
    core = watcher.lock._core
    if core.known_lost(owner):
        return False
    watcher.listen()
    if not core.known_count(owner):
        watcher.forget()
    return True
