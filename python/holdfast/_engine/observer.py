"""The interface of an observer of locks, which ``holdfast.observe`` adds and removes."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Observer"]


class Observer(Protocol):
    """Is called for each acquisition, release and loss of the locks and permits of this process.

    The calls come on the threads of callers, and of event loops, before the caller's method
    returns, losses also on a thread of the library; so each has to return soon. An ``Exception``
    that one raises is reported as unraisable, or logged; a ``KeyboardInterrupt`` gives the grant
    back.

    ``name`` is the key on the server, with the client's ``name_prefix``. ``client`` is the client's
    ``id``, of a lock made of several that of the first member; owners of different clients may have
    the same number. Permits have the owner 0.
    """

    def begun(self, kind: str, name: bytes, /) -> Any:
        """An acquisition is about to begin; what this returns is given to ``ended()``.

        ``kind``: ``lock``, ``fair_lock``, ``fenced_lock``, ``spin_lock``, ``read``, ``write``,
        ``multi_lock``, ``red_lock``, ``semaphore`` or ``permit_semaphore``.
        """

    def ended(self, begun: Any, outcome: str, client: str, owner: int, /) -> None:
        """It has ended: ``acquired``, ``timed_out``, ``cancelled`` or ``failed``."""

    def released(self, name: bytes, client: str, owner: int, /) -> None:
        """An owner's last hold was given back."""

    def lost(self, name: bytes, client: str, owner: int, reason: str, /) -> None:
        """A hold is gone; reported once or twice."""
