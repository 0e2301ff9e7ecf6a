"""Work that several threads do at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tests.support.waiting import BOUND

THREADS = 8

T = TypeVar("T")


def together(*works: Callable[[], object]) -> None:
    """Run each in a thread, beginning at once; raise the first error."""
    begin = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            begin.wait()
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * BOUND)
        assert not thread.is_alive(), "a thread did not end"
    if errors:
        raise errors[0]


def by_all(work: Callable[[], object], *others: Callable[[], object]) -> None:
    """The same work in all threads, and beside it the others."""
    together(*[work] * THREADS, *others)


def in_step(items: Sequence[T], work: Callable[[T], object]) -> None:
    """Two threads do the work for each item, both at the same moment."""
    places = [-1, -1]

    def run(mine: int, other: int) -> None:
        try:
            for place, item in enumerate(items):
                places[mine] = place
                while places[other] < place:
                    os.sched_yield()
                work(item)
        finally:
            places[mine] = len(items)

    together(partial(run, 0, 1), partial(run, 1, 0))


class Until:
    """Calls that another thread repeats until the threads of the test have ended."""

    def __init__(self, working: int) -> None:
        self._left = [None] * working

    def ends(self, work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            finally:
                self._left.pop()

        return run

    def repeat(self, work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            while self._left:
                work()

        return run


def by_all_while(work: Callable[[], object], other: Callable[[], object]) -> None:
    """The work in all threads, while one more repeats the other."""
    until = Until(THREADS)
    by_all(until.ends(work), until.repeat(other))
