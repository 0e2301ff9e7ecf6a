"""The spin lock: a reentrant lock with waiters that poll instead of subscribing."""

from __future__ import annotations

from typing import Any, Final

from . import _core
from ._arguments import Name, Seconds, Unpack, milliseconds
from ._base_client import BaseClient
from ._base_lock import BaseLock
from ._keywords import MinimumLockOptions
from ._lock import Lock

__all__ = ["EXPONENTIAL", "Backoff", "BaseSpinLock", "SpinLock", "checked_backoff"]


STEEPEST: Final = 1000


def _checked_multiplier(multiplier: Any) -> float:
    if isinstance(multiplier, bool) or not isinstance(multiplier, (int, float)):
        msg = f"multiplier must be a number, not {type(multiplier).__name__}"
        raise TypeError(msg)
    if not 1 <= multiplier <= STEEPEST:
        msg = f"multiplier must be from 1 to {STEEPEST}, not {multiplier!r}"
        raise ValueError(msg)
    return float(multiplier)


class Backoff:
    """How long a waiter rests between attempts: random times with a growing bound.

    Each rest is a random time between ``bound / multiplier`` and ``bound``, which begins with
    ``initial`` seconds and grows by ``multiplier`` each time, up to ``maximum`` seconds. With a
    multiplier of 1 every rest is ``initial``. Times below a millisecond count as one. A ``Backoff``
    is immutable.

    Raises ``ValueError`` or ``TypeError``, naming the argument, for times that are not positive, a
    ``maximum`` below ``initial``, or a ``multiplier`` that is not from 1 to 1000.
    """

    __slots__ = ("_initial", "_maximum", "_multiplier")

    def __init__(
        self, initial: Seconds = 0.001, maximum: Seconds = 0.128, multiplier: float = 2
    ) -> None:
        self._initial = milliseconds("initial", initial)
        self._maximum = milliseconds("maximum", maximum)
        self._multiplier = _checked_multiplier(multiplier)
        if self._maximum < self._initial:
            msg = f"maximum must not be below initial: {maximum!r} is below {initial!r}"
            raise ValueError(msg)

    @property
    def initial(self) -> float:
        """Seconds: the bound of the first rest."""
        return self._initial / 1000

    @property
    def maximum(self) -> float:
        """Seconds: the greatest bound."""
        return self._maximum / 1000

    @property
    def multiplier(self) -> float:
        """The factor by which the bound grows each time."""
        return self._multiplier

    def _terms(self) -> tuple[int, int, float]:
        """The arguments of the engine's back-off: milliseconds and the factor."""
        return self._initial, self._maximum, self._multiplier

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backoff) and self._terms() == other._terms()

    def __hash__(self) -> int:
        return hash(self._terms())

    def __repr__(self) -> str:
        return (
            f"Backoff(initial={self.initial:g}, maximum={self.maximum:g}, "
            f"multiplier={self.multiplier:g})"
        )


#: From 1 to 128 ms, doubling: as Redisson.
EXPONENTIAL: Final = Backoff()


class BaseSpinLock(BaseLock):
    """The common part of the spin locks for threads and for tasks."""

    __slots__ = ()

    _word = "spin_lock"
    _backoff: Backoff

    @property
    def backoff(self) -> Backoff:
        """The rest between its waiters' attempts."""
        return self._backoff

    def _new_core(self, name: bytes) -> _core.Lock:
        backoff = self._backoff._terms()
        return _core.new_lock(self._client._core, self._word, name, self._at_least, 0, backoff)


class SpinLock(BaseSpinLock, Lock):  # type: ignore[misc]
    """A ``Lock`` with waiters that poll the server, with rests in between.

    Made by ``client.spin_lock(name)``. It never subscribes: for servers without pub/sub, and for
    clusters where each message goes to every node. On the server it is the lock of
    ``client.lock(name)``, and Redisson's ``RSpinLock`` and ``RLock``; its release wakes their
    subscribers.
    """

    __slots__ = ("_backoff",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        backoff: Backoff | Seconds = EXPONENTIAL,
        **options: Unpack[MinimumLockOptions],
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(client, name, **options)


def checked_backoff(backoff: Any) -> Backoff:
    """A back-off; a number of seconds is a constant one."""
    if isinstance(backoff, Backoff):
        return backoff
    if isinstance(backoff, bool) or not isinstance(backoff, (int, float)):
        hint = ": use its .total_seconds()" if hasattr(backoff, "total_seconds") else ""
        msg = (
            f"backoff must be a Backoff or a number of seconds, not {type(backoff).__name__}{hint}"
        )
        raise TypeError(msg)
    milliseconds("backoff", backoff)
    return Backoff(backoff, backoff, 1)
