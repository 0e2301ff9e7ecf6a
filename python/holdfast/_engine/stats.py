"""What a program measures: the figures of a client, and the interface of an observer of locks.

A module that is imported on first use: ``dataclasses`` is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from holdfast import _core

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Histogram:
    """The distribution of a duration, in seconds.

    ``counts[i]`` is the number of values up to ``bounds[i]`` and above the bound before it; the
    last count is that of the values above all bounds.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float
    count: int


@dataclass(frozen=True)
class Stats:
    """The figures of one client's locks and semaphores since it was made.

    In a forked child they are those since the fork. Of a semaphore each permit counts; one without
    an owner is held until this client releases it. A ``MultiLock`` or ``RedLock`` counts as its
    members, each in the figures of the member's client; an acquisition of it that ends without a
    grant counts once, for its first member.
    """

    #: Grants, nested ones included; of several permits at once, their number.
    acquired: int
    #: Of these, grants that had to wait.
    contended: int
    #: Acquisitions that ended without a grant because another held the lock.
    timed_out: int
    #: Acquisitions that their caller gave up: a cancelled task, Ctrl-C.
    cancelled: int
    #: Acquisitions that ended with an error.
    failed: int
    #: Releases, nested ones included.
    released: int
    #: Holds lost, or left behind by a thread or task that ended; nested ones count once.
    lost: int
    #: Renewals by the watchdog that the server has answered.
    renewals: int
    #: Renewals that the server has refused, or not answered within a second (or a third of a
    #: shorter lease), because they could not be sent or for another reason.
    renewal_failures: int
    #: Commands sent, also those that were sent again.
    commands: int
    #: Connections established again.
    reconnects: int
    #: Connections ended because the server, or a proxy, sent bytes that match no command.
    #: Unanswered commands were sent again on another connection.
    protocol_errors: int
    #: Replies for which a thread looked before it slept: ``busy_poll``.
    busy_polls: int
    #: Of these, replies that it found so.
    busy_polls_right: int
    #: Holds and permits now; nested holds count once.
    held: int
    #: Acquisitions that wait now.
    waiting: int
    #: Holds now whose changes the server will report at once, permits included: ``tracking``.
    tracked: int
    #: Whether a guard would release what this client holds if the program died now: ``guard``.
    guarded: bool
    #: From the beginning of an acquisition to its grant.
    wait_seconds: Histogram
    #: From the first grant of a hold to its last release, or its loss.
    hold_seconds: Histogram


def read_stats(core: _core.Client) -> Stats:
    """The figures as the engine has them now."""
    *counters, waits, holds = core.stats()
    guarded = core.guard_pid != 0
    figures: list[Any] = [*counters, guarded, _histogram(waits), _histogram(holds)]
    return Stats(*figures)


def _histogram(figures: tuple[Any, ...]) -> Histogram:
    counts, total = figures
    return Histogram(_core.histogram_bounds(), counts, total, sum(counts))


for _class in (Histogram, Stats):
    _class.__module__ = "holdfast"
del _class


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
