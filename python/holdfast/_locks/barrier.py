"""The barrier: parties that go on together, for threads, with the part that tasks share.

Each party that waits holds a permit of a permit semaphore without a limit, which the engine renews
and the guard returns: a party whose permit is gone has died, and the release of a permit ends the
wait of its party. The state beside the name says which parties wait (``lua/barrier``); they wait
for its next revision, and look again at the moment at which one of them would have died.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from holdfast._engine.arguments import MOST, Late, Name, Seconds, checked_count, checked_timeout
from holdfast._engine.errors import BrokenBarrierError, foreign_data, quoted
from holdfast._engine.process import AnyClient
from holdfast._locks.base import Synchronizer
from holdfast._locks.kinds import key_beside
from holdfast._locks.permit_semaphore import Granting, PermitSemaphore
from holdfast._locks.steps import Steps, changes, keys_of, run, step, time_of, without_limit

if TYPE_CHECKING:
    from holdfast._core import CallersTime, Exchange
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

#: Each step reads all parties, so that a round costs the server the square of their number: about a
#: second of scripts for these, and as much whenever their leases are due.
MOST_PARTIES: Final = 1000

#: The replies of lua/barrier.
WAITS: Final = 1
PASSED: Final = 2
OTHER_PARTIES: Final = -1
GONE: Final = -3
OTHER_KIND: Final = -4


class BaseBarrier(Synchronizer):
    """The common part of the barriers for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_changes",
        "_keys",
        "_number",
        "_parties",
        "_places",
        "_semaphore",
        "_timeouts",
        "_warned",
    )

    _kind = "barrier"
    _semaphore: Any
    #: The class of it.
    _permits: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        parties: int,
        *,
        lease: Seconds | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(client, name)
        self._keys = keys_of(client, name)
        self._timeouts = key_beside("permit_timeouts", self._keys.name)
        self._parties = checked_count("parties", parties, most=MOST_PARTIES)
        self._number = b"%d" % self._parties
        self._places = self._keys.name, self._timeouts, self._keys.state, self._keys.channel
        self._semaphore = self._permits(client, name, permits=MOST, lease=lease, label=label)
        self._changes = changes(client, name)
        self._warned = False

    @property
    def parties(self) -> int:
        """How many have to wait before all go on."""
        return self._parties

    def _checked_time(self, timeout: Seconds | None) -> float:
        """The seconds of a wait, -1: without limit. Warns once where a fixed lease is shorter."""
        seconds = checked_timeout(True, timeout)
        lease = self._semaphore._lease
        if not (lease.renewed or self._warned) and seconds * 1000 > lease.ms:
            self._warned = True
            msg = (
                f"wait({seconds:g}) at the barrier {quoted(self.name)} is longer than its fixed "
                f"lease of {lease.ms / 1000:g} s, after which this party counts as dead and breaks "
                "the barrier; leave out `lease`, which is then renewed, or give a longer one"
            )
            warnings.warn(msg, RuntimeWarning, stacklevel=3)
        return seconds

    def _wait(self, seconds: float) -> Steps[int]:
        time = time_of(self._client._core, seconds)
        place = None
        while place is None:
            grant = Granting(self._semaphore, 1, self._semaphore._lease, time, waits=False)
            try:
                # The end of the context releases the permit, which ends the wait of the party.
                with grant.keeping:
                    if not (yield grant.acquire):
                        raise self._other_kind("all its permits are in use")
                    place = yield from self._pass(grant, seconds, time)
            finally:
                grant.forget()
        return place

    def _pass(self, grant: Granting, seconds: float, time: CallersTime) -> Steps[int | None]:
        """The place of a party; ``None``: its permit died before it was there."""
        waits, there = seconds != 0, False
        while True:
            status, number, revision = yield self._arrive(grant, waits, time)
            if status == PASSED:
                if number >= self._parties:
                    raise foreign_data(self._keys.state, f"a party has the number {number}")
                return int(number)
            if status == GONE and not there:
                return None
            if status != WAITS:
                raise self._broken_by(status, number, "" if waits else f"{seconds:g} s")
            there = True
            waits = yield self._changes.wait(revision, time)

    def _arrive(self, grant: Granting, waits: bool, time: CallersTime) -> Exchange[Any]:
        args = (grant.raw(), self._number, b"1" if waits else b"0", grant.who())
        return step(self._client._core, time, "barrier/arrive", self._places, args)

    def _broken_by(self, status: int, number: int, timed_out: str) -> Exception:
        """The error of a party that does not wait, by the reply; ``timed_out``: after so long."""
        if status == OTHER_KIND:
            return self._other_kind(f"it has {number} permits")
        if status == OTHER_PARTIES:
            return ValueError(
                f"the barrier {quoted(self.name)} has {number} parties, not {self._parties}: "
                "all must give the same number"
            )
        why = "another party left, died, aborted or reset it"
        if status == GONE:
            lease = self._semaphore._lease
            fixed = f"its fixed lease of {lease.ms / 1000:g} s is over"
            why = "its lease ran out" if lease.renewed else fixed
            why = f"this party counts as dead: {why}, or the server has lost its data"
        elif timed_out:
            why = f"this party timed out after {timed_out}"
        return BrokenBarrierError(f"the barrier {quoted(self.name)} is broken: {why}")

    def _other_kind(self, why: str) -> ValueError:
        return ValueError(
            f"{quoted(self.name)} is a permit semaphore, or slots: {why}; give the barrier a name "
            "that nothing else has"
        )

    def _holders(self) -> Steps[list[Holder]]:
        from holdfast._locks.permit_holders import of_barrier  # dataclasses are slow to import

        core, keys = self._client._core, self._keys
        return of_barrier(core, keys.name, keys.state, without_limit(core))

    def _whole(self, word: str) -> Steps[Any]:
        """Carry out ``abort``, ``reset`` or ``look``; its reply."""
        core, keys = self._client._core, (self._timeouts, self._keys.state, self._keys.channel)
        used, script = keys if word != "look" else keys[:2], f"barrier/{word}"
        return (yield step(core, without_limit(core), script, used, name=self._keys.name))


class Parties(PermitSemaphore):
    """The permits of the parties of a barrier."""

    __slots__ = ()

    _kind = "barrier"
    _hold_word = "party of the barrier"
    _reports_itself = True


class Barrier(BaseBarrier):
    """A barrier at which a number of parties wait for each other, shared by all processes.

    Made by ``client.barrier(name, parties)``; it is used as ``threading.Barrier``, any number of
    times. Each call of ``wait()`` is a party.
    """

    __slots__ = ()

    _permits = Parties

    def wait(self, timeout: Seconds | None = None) -> int:
        """Wait until all parties do; the number of this party, from 0 on, each once.

        ``timeout``: seconds, ``None`` waits without limit; 0 does not wait, which breaks it unless
        this is the last party. With a fixed ``lease`` a wait that is longer counts as a dead party:
        a ``RuntimeWarning`` says so once.

        Raises ``BrokenBarrierError`` when the barrier is broken, or is while it waits: a party
        timed out, was interrupted or cancelled, died, or called ``abort()`` or ``reset()``. Raises
        ``ValueError`` where other parties that wait have given another number of them,
        ``ConnectionError`` and ``ServerError`` as the locks.
        """
        return run(self._wait(self._checked_time(timeout)))

    def abort(self) -> None:
        """Break the barrier: all that wait, and those that come before ``reset()``, get the error.

        Raises ``ConnectionError`` when the server is out of reach: it may be called again.
        """
        run(self._whole("abort"))

    def reset(self) -> None:
        """Mend the barrier; those that wait get ``BrokenBarrierError``."""
        run(self._whole("reset"))

    def holders(self) -> list[late.Holder]:
        """The parties that wait, the first to arrive first, with what their clients say."""
        return run(self._holders())

    @property
    def n_waiting(self) -> int:
        """How many parties wait; the server is asked."""
        waiting: int = run(self._whole("look"))[0]
        return waiting

    @property
    def broken(self) -> bool:
        """Whether it is broken, also by a party that has died; the server is asked."""
        broken: bool = run(self._whole("look"))[1] == 1
        return broken
