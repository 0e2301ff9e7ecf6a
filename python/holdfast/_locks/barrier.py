"""The barrier: parties that go on together, for threads, with the part that tasks share.

Each party that waits holds a permit of a permit semaphore without a limit, which the engine renews
and the guard returns: a party whose permit is gone has died. The state beside the name says which
parties wait (``lua/barrier``); they wait for its next revision, and look again at the moment at
which one of them would have died.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Final

from holdfast._clients.base import BaseClient
from holdfast._engine.arguments import MOST, Name, Seconds, checked_count, checked_timeout
from holdfast._engine.errors import BrokenBarrierError, HoldfastError, NotOwnedError, quoted
from holdfast._locks.base import Synchronizer
from holdfast._locks.kinds import key_beside
from holdfast._locks.permit_semaphore import PermitSemaphore
from holdfast._locks.steps import Revision, keys_of, step

__all__ = ["Barrier", "BaseBarrier", "Outcome"]

#: How long the semaphore stays once no party is left, in ms.
REST_MS: Final = 3_600_000
#: Each step reads all parties, so that a round costs the server the square of their number: about a
#: second of scripts for these, and as much whenever their leases are due.
MOST_PARTIES: Final = 1000

#: The replies of lua/barrier.
WAITS: Final = 1
PASSED: Final = 2
OTHER_PARTIES: Final = -1
GONE: Final = -3

#: The script's word, its keys and its arguments.
Step = tuple[str, list[bytes], list[bytes]]


class Outcome:
    """What has become of the wait of one party."""

    __slots__ = ("_end", "_name", "ended", "permit", "place", "revision", "seconds", "waits")

    def __init__(self, name: Name, permit: str, seconds: float) -> None:
        self._name = name
        self.permit = bytes.fromhex(permit)
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        #: Whether its time is not over.
        self.waits = True
        #: Why the barrier is broken, if it is.
        self.ended = ""
        #: ``None`` until the party has passed.
        self.place: int | None = None
        #: The revision that it waits to end, ``None`` if it does not wait.
        self.revision: int | None = None

    def arrived(self, reply: list[int], parties: int) -> bool:
        """After ``barrier/arrive``; ``False``: the permit died before its party was there."""
        status, number, revision = reply
        if status == OTHER_PARTIES:
            msg = (
                f"the barrier {quoted(self._name)} has {number} parties, not {parties}: "
                "all must give the same number"
            )
            raise ValueError(msg)
        if status == GONE and self.revision is None:
            return False
        self.revision = revision if status == WAITS else None
        self.place = number if status == PASSED else None
        if status == GONE:
            self.ended = "this party's lease ran out, or the server has lost its data"
        elif not self.waits:
            self.ended = f"this party timed out after {self.seconds:g} s"
        elif status < 0:
            self.ended = "another party left, died, aborted or reset it"
        return True

    def left(self) -> float:
        """Seconds that it may wait yet; -1: without limit."""
        return self.seconds if self.seconds < 0 else max(0.0, self._end - time.monotonic())

    def index(self) -> int:
        """The place; raises ``BrokenBarrierError`` without one."""
        if self.place is None:
            msg = f"the barrier {quoted(self._name)} is broken: {self.ended}"
            raise BrokenBarrierError(msg)
        return self.place


class BaseBarrier(Synchronizer):
    """The common part of the barriers for threads and for tasks: everything except waiting."""

    __slots__ = ("_keys", "_parties", "_revision", "_semaphore", "_timeouts")

    _semaphore: Any
    _revision: Any
    #: The classes of both.
    _permits: ClassVar[Callable[..., Any]]
    _revisions: ClassVar[Callable[..., Any]]

    def __init__(
        self, client: BaseClient, name: Name, parties: int, *, lease: Seconds | None = None
    ) -> None:
        super().__init__(client, name)
        self._keys = keys_of(client, name)
        self._timeouts = key_beside("permit_timeouts", self._keys.name)
        self._parties = checked_count("parties", parties, most=MOST_PARTIES)
        self._semaphore = self._permits(client, name, permits=MOST, lease=lease)
        self._revision = self._revisions(client, name)

    @property
    def parties(self) -> int:
        """How many have to wait before all go on."""
        return self._parties

    def _arrive_step(self, outcome: Outcome) -> Step:
        keys = [self._keys.name, self._timeouts, self._keys.state, self._keys.channel]
        args = [outcome.permit, b"%d" % self._parties, b"%d" % outcome.waits]
        return "barrier/arrive", keys, args

    def _leave_step(self, outcome: Outcome) -> Step:
        keys = [self._keys.name, self._timeouts, self._keys.state, self._keys.channel]
        return "barrier/leave", keys, [outcome.permit, b"%d" % REST_MS]

    def _whole_step(self, word: str) -> Step:
        keys = [self._timeouts, self._keys.state, self._keys.channel]
        return f"barrier/{word}", keys if word != "look" else keys[:2], []


class Barrier(BaseBarrier):
    """A barrier at which a number of parties wait for each other, shared by all processes.

    Made by ``client.barrier(name, parties)``; it is used as ``threading.Barrier``, any number of
    times. Each call of ``wait()`` is a party.
    """

    __slots__ = ()

    _permits = PermitSemaphore
    _revisions = Revision

    def wait(self, timeout: Seconds | None = None) -> int:
        """Wait until all parties do; the number of this party, from 0 on, each once.

        ``timeout``: seconds, ``None`` waits without limit.

        Raises ``BrokenBarrierError`` when the barrier is broken, or is while it waits: a party
        timed out, was interrupted or cancelled, died, or called ``abort()`` or ``reset()``. Raises
        ``ValueError`` where other parties that wait have given another number of them,
        ``ConnectionError`` and ``ServerError`` as the locks.
        """
        seconds = checked_timeout(True, timeout)
        while True:
            outcome = None
            there = False
            try:
                with self._semaphore as permit:  # natively: no interrupt comes before its end
                    outcome = Outcome(self.name, permit, seconds)
                    there = self._wait(outcome)
            except HoldfastError as error:
                # Else of the release: it goes on in the background, or the permit has died.
                if not there and not isinstance(error, NotOwnedError):
                    raise
            if there and outcome is not None:
                return outcome.index()

    def _wait(self, outcome: Outcome) -> bool:
        """``False``: the permit died before its party was there."""
        try:
            while True:
                if not outcome.arrived(self._send(*self._arrive_step(outcome)), self._parties):
                    return False
                if outcome.revision is None:
                    break
                outcome.waits = self._revision.wait(outcome.revision, outcome.left())
        except BaseException:
            with suppress(HoldfastError):  # the others find it dead at the end of its lease
                self._send(*self._leave_step(outcome))
            raise
        with suppress(HoldfastError):  # what stays of it goes with the next party
            self._send(*self._leave_step(outcome))
        return True

    def _send(self, word: str, keys: list[bytes], args: list[bytes]) -> Any:
        return step(self._client._core, word, keys, args, self._keys.name)

    def abort(self) -> None:
        """Break the barrier: all that wait, and those that come before ``reset()``, get the error.

        Raises ``ConnectionError`` when the server is out of reach: it may be called again.
        """
        self._send(*self._whole_step("abort"))

    def reset(self) -> None:
        """Mend the barrier; those that wait get ``BrokenBarrierError``."""
        self._send(*self._whole_step("reset"))

    @property
    def n_waiting(self) -> int:
        """How many parties wait; the server is asked."""
        waiting: int = self._send(*self._whole_step("look"))[0]
        return waiting

    @property
    def broken(self) -> bool:
        """Whether it is broken, also by a party that has died; the server is asked."""
        broken: bool = self._send(*self._whole_step("look"))[1] == 1
        return broken
