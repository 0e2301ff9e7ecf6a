"""The fenced lock: a reentrant lock whose grants bring a token that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._lock import BaseLock, ClientT, Lock

if TYPE_CHECKING:
    from ._core import Lock as CoreLock

__all__ = ["BaseFencedLock", "FencedLock"]


class BaseFencedLock(BaseLock[ClientT]):
    """What the fenced locks for threads and for tasks have in common."""

    __slots__ = ()

    _core: CoreLock

    @property
    def token(self) -> int | None:
        """The token of the caller's newest grant; ``None`` when it holds nothing.

        It is greater than that of every grant before it, whoever got it; known without asking
        the server. A nested grant brings a new one, which stays after its release.
        """
        return self._core.known_token(self._owner())

    def _new_core(self, name: bytes) -> CoreLock:
        return self._client._core.fenced_lock(name, self._at_least)


class FencedLock(BaseFencedLock[Any], Lock):
    """A ``Lock`` whose grants bring a token, with which a resource can refuse a late holder.

    Made by ``client.fenced_lock(name)``. ``token`` grows with each grant over all clients, also
    after the server has lost its data. Redisson's ``RFencedLock`` of the same name is the same
    lock; so is ``client.lock(name)``, whose grants bring no token.
    """

    __slots__ = ()
