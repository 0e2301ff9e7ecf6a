"""Work that several threads do at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.support.waiting import BOUND

THREADS = 8


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
