"""The fenced lock: a reentrant lock with fencing tokens, which grow with each grant."""

from __future__ import annotations

from ._base_lock import BaseLock
from ._core import Lock as CoreLock
from ._events import loss_of
from ._lock import Lock

__all__ = ["BaseFencedLock", "FencedLock"]


class BaseFencedLock(BaseLock):
    """The common part of the fenced locks for threads and for tasks."""

    __slots__ = ()

    _word = "fenced_lock"

    _core: CoreLock

    @property
    def token(self) -> int | None:
        """The token of the caller's newest grant; ``None`` when it holds nothing.

        It is greater than the token of every earlier grant to any owner, and known without asking
        the server. A nested grant brings a new token, which stays after its release.
        """
        loss = loss_of(self)
        return self._core.known_token(self._owner()) if loss is None else loss.token


class FencedLock(BaseFencedLock, Lock):  # type: ignore[misc]
    """A ``Lock`` with fencing tokens, by which a resource can refuse a late owner.

    Made by ``client.fenced_lock(name)``. ``token`` grows with each grant over all clients, also
    after the server has lost its data. Redisson's ``RFencedLock`` of the same name is the same
    lock; so is ``client.lock(name)``, whose grants have no token.
    """

    __slots__ = ()
