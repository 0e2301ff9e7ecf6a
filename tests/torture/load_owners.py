"""The owners of the load run: threads that acquire, count, and release until they are to stop.

A name has a number in a file that all processes of the run map. Nothing but the lock of the name
guards it: an owner reads it, works, and writes it back. Two owners at one time see each other, or
lose an update.
"""

from __future__ import annotations

import itertools
import mmap
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast import Client

MEMBERS = 10
"""Locks of a multi lock."""
MULTI_LOCK_THREADS = 4
PLAIN_THREADS = 2
WAITERS = 4
RIVALS = 2
PERMITS = 3
END_BOUND = 120.0
"""Seconds for all threads of a process to end once they are to stop."""
_NICE = 10
_SHARED_EVERY = 20
"""The turn of a thread that is for the multi lock that all of them share: each 20th."""
_ALL_PERMITS_EVERY = 4
"""The turn for the semaphore that takes all permits, whose release wakes several waiters."""

CONTENDED = "contended"
SHARED = tuple(f"shared-{n}" for n in range(MEMBERS))
PERMITS_NAME = "permits"


def own_names(thread: int) -> tuple[str, ...]:
    """The members of the multi lock that only this thread takes."""
    return tuple(f"multi-{thread}-{n}" for n in range(MEMBERS))


def plain_name(thread: int) -> str:
    return f"plain-{thread}"


NAMES = (
    CONTENDED,
    *SHARED,
    *map(plain_name, range(PLAIN_THREADS)),
    *itertools.chain.from_iterable(map(own_names, range(MULTI_LOCK_THREADS))),
)
_PLACES = {name: place for place, name in enumerate(NAMES)}


class TwoOwnersError(Exception):
    """An owner met another one."""


class Numbers:
    """For each name how often it was held, and the owner that is inside; 0 for none."""

    def __init__(self, path: Path) -> None:
        """`path` is of a file that `create` has made."""
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    @staticmethod
    def create(path: Path) -> None:
        path.write_bytes(bytes(8 * 2 * len(NAMES)))

    def count(self, names: Sequence[str], owner: int, work: Callable[[], None]) -> None:
        """Count the names as their owner, with `work` between the reads and the writes."""
        places = [_PLACES[name] for name in names]
        with memoryview(self._map).cast("q") as numbers:
            inside = len(NAMES)
            for place in places:
                _check(numbers[inside + place], 0, NAMES[place])
                numbers[inside + place] = owner
            read = [numbers[place] for place in places]
            work()
            for place, value in zip(places, read, strict=True):
                _check(numbers[inside + place], owner, NAMES[place])
                numbers[place] = value + 1
                numbers[inside + place] = 0

    def totals(self) -> dict[str, int]:
        with memoryview(self._map).cast("q") as numbers:
            return {name: numbers[place] for name, place in _PLACES.items()}


def _check(inside: int, expected: int, name: str) -> None:
    if inside != expected:
        raise TwoOwnersError(f"{name!r} has two owners: {inside} is inside, expected {expected}")


class PermitsInside:
    """How many permits are taken, as the threads of one process see it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = 0

    def take(self, count: int) -> None:
        with self._guard:
            self._taken += count
            taken = self._taken
        if taken > PERMITS:
            raise TwoOwnersError(f"{taken} of {PERMITS} permits are taken")

    def give_back(self, count: int) -> None:
        with self._guard:
            self._taken -= count


@dataclass
class _Tally:
    """What a thread has held so far."""

    acquisitions: int = 0
    held: Counter[str] = field(default_factory=Counter)


class Owners:
    """The threads of a process, one client for all of them. The first error stops them."""

    def __init__(self, client: Client, numbers: Numbers, limit: int = sys.maxsize) -> None:
        """`limit`: the acquisitions after which a thread ends."""
        self.stopped = threading.Event()
        self.errors: list[str] = []
        self._client = client
        self._numbers = numbers
        self._limit = limit
        self._permits = PermitsInside()
        self._threads: list[threading.Thread] = []
        self._tallies: list[_Tally] = []

    def start_load(self) -> None:
        """The multi locks at nice 10, the plain locks, the waiters."""
        for thread in range(MULTI_LOCK_THREADS):
            self._start(f"multi lock {thread}", self._multi_locks(own_names(thread)), nice=True)
        for thread in range(PLAIN_THREADS):
            self._start(f"plain lock {thread}", self._plain_locks(plain_name(thread)))
        for thread in range(WAITERS):
            self._start(f"waiter {thread}", self._waits(thread))

    def start_rivals(self) -> None:
        """What contends with the load from another process."""
        for thread in range(RIVALS):
            self._start(f"rival {thread}", self._contends())

    @property
    def running(self) -> bool:
        """Whether a thread has turns to take."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def acquisitions(self) -> int:
        return sum(tally.acquisitions for tally in self._tallies)

    def held(self) -> Counter[str]:
        """How often each name was held, once all threads have ended."""
        total = Counter[str]()
        for tally in self._tallies:
            total.update(tally.held)
        return total

    def join(self, bound: float) -> None:
        """Stop, and wait `bound` seconds for all threads; what does not end is an error."""
        self.stopped.set()
        deadline = time.monotonic() + bound
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self.errors.append(f"{thread.name} has not ended within {bound:g} s")

    def _start(self, name: str, turns: Iterator[Sequence[str]], *, nice: bool = False) -> None:
        tally = _Tally()
        self._tallies.append(tally)

        def live() -> None:
            if nice:
                _be_nice()
            try:
                for names in itertools.islice(turns, self._limit):
                    tally.acquisitions += 1
                    tally.held.update(names)
                    if self.stopped.is_set():
                        return
            except BaseException:  # noqa: BLE001 - whatever it is, it is the run's result
                self.errors.append(f"{name}: {traceback.format_exc()}")
                self.stopped.set()

        self._threads.append(threading.Thread(target=live, name=name, daemon=True))
        self._threads[-1].start()

    # ---- turns: each yields the names that it held

    def _multi_locks(self, names: tuple[str, ...]) -> Iterator[Sequence[str]]:
        own, shared = self._multi_lock(names), self._multi_lock(SHARED)
        for turn in itertools.count(1):
            if turn % _SHARED_EVERY:
                yield self._hold(own, names, _nothing)
            else:
                yield self._hold(shared, SHARED, _yield)

    def _plain_locks(self, name: str) -> Iterator[Sequence[str]]:
        lock = self._client.lock(name)
        while True:
            yield self._hold(lock, (name,), _nothing)

    def _waits(self, thread: int) -> Iterator[Sequence[str]]:
        lock = self._client.lock(CONTENDED)
        semaphore = self._client.semaphore(PERMITS_NAME)
        for turn in itertools.count(thread):
            yield self._hold(lock, (CONTENDED,), _yield)
            count = 1 if turn % _ALL_PERMITS_EVERY else PERMITS
            semaphore.acquire(permits=count)
            self._permits.take(count)
            _yield()
            self._permits.give_back(count)
            semaphore.release(count)
            yield (PERMITS_NAME,)

    def _contends(self) -> Iterator[Sequence[str]]:
        lock, shared = self._client.lock(CONTENDED), self._multi_lock(SHARED)
        for turn in itertools.count(1):
            if turn % _SHARED_EVERY:
                yield self._hold(lock, (CONTENDED,), _yield)
            else:
                yield self._hold(shared, SHARED, _yield)

    def _multi_lock(self, names: Sequence[str]) -> Any:
        return self._client.multi_lock(*map(self._client.lock, names))

    def _hold(self, lock: Any, names: Sequence[str], work: Callable[[], None]) -> Sequence[str]:
        with lock:
            self._numbers.count(names, threading.get_native_id(), work)
        return names


def _nothing() -> None:
    """Holds that last no time follow each other quickly."""


def _yield() -> None:
    """Let other threads run."""
    time.sleep(0)


def _be_nice() -> None:
    """The thread gets the processor after those of the busy processes."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICE, os.getpriority(os.PRIO_PROCESS, thread)))
