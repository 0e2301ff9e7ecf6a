"""Threads that run the program's code for the library: ``on_lost``, log handlers and observers.

Each has its queue, so that code that blocks delays no code of another thread, and nothing of the
library. ``docs/client.md`` says what runs on which thread.

Not a pool: it keeps no order, and as many handlers as it has threads block it. Not a thread for
each call: a ``FLUSHALL`` would start ten thousand. Nor do callers write their records themselves,
as a handler that blocks would block ``release()``.
"""

from __future__ import annotations

import os
import sys
import threading
from _queue import Empty, SimpleQueue  # gevent replaces the names of `queue`
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

from holdfast import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[], object]

#: Seconds for which a thread without a job waits for the next one before it ends.
LINGER = 0.2

_workers: WeakSet[Worker] = WeakSet()


class ThreadRefused(RuntimeError):
    """The system has no thread left, or the interpreter ends."""


def _nothing() -> None:
    """Wake a thread."""


class Worker:
    """Runs jobs on one daemon thread, in order. Any thread may use it, a signal handler too.

    The thread starts with a job and ends ``LINGER`` seconds after the last one, or by ``end()``;
    from ``keep()`` on it waits for jobs. Where the system has no thread left, or the program is
    over, the job runs on the thread that has queued it. A child of ``fork()`` has neither the
    thread nor the jobs. ``put()`` never waits for a job.
    """

    __slots__ = (
        "__weakref__",
        "_counting",
        "_dropped",
        "_idle",
        "_jobs",
        "_kept",
        "_most",
        "_name",
        "_report",
        "_running",
        "_thread",
    )

    def __init__(self, name: str, most: int, report: Callable[[int], object]) -> None:
        """``most``: jobs that wait; ``report`` is called, as a job, with the number of more."""
        self._name = name
        self._most = most
        self._report = report
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        # Beside jobs: a queue into which the thread puts something when it has ended, at once.
        self._jobs: SimpleQueue[Job | SimpleQueue[None]] = SimpleQueue()
        # The thread that takes its one element starts the worker, which puts it back at its end.
        self._idle: SimpleQueue[None] = SimpleQueue()
        self._idle.put(None)
        self._kept = False  # the thread waits for jobs until end()
        self._running = 0  # the number of the system's thread
        self._thread: threading.Thread | None = None  # the one that was started last
        self._dropped = 0
        self._counting = threading.RLock()

    def put(self, job: Job) -> bool:
        """Queue a job; ``False``, and no job, if too many wait."""
        if self._jobs.qsize() >= self._most:
            with self._counting:
                self._dropped += 1
            return False
        self._jobs.put(job)
        self._start()
        return True

    def keep(self) -> None:
        """Have the thread run from now on until ``end()``.

        Raises ``ThreadRefused`` where the system has no thread left. When the program is over there
        may be no thread either, which is no error.
        """
        if self._kept:
            return
        self._kept = True
        try:
            self._start(here=False)
        except ThreadRefused:
            if not program_is_over():
                raise

    def keep_no_longer(self) -> None:
        """Let the thread end when it has had no job for ``LINGER`` seconds."""
        if self._kept:
            self._kept = False
            self._jobs.put(_nothing)  # it waits without a limit

    def is_there(self) -> bool:
        """Whether its thread runs, for ``LINGER`` at least; ``False``: the system has none left."""
        try:
            self._start(here=False)
        except ThreadRefused:
            return False
        return True

    def flush(self, seconds: float) -> None:
        """Wait until the jobs that are queued now have run, at most so long."""
        if self._rests() or self.runs_caller():
            return
        done: SimpleQueue[None] = SimpleQueue()
        self._jobs.put(lambda: done.put(None))
        self._start()
        with suppress(Empty):
            done.get(timeout=seconds)

    def end(self, seconds: float) -> None:
        """Have the thread end after the jobs that are queued now, and wait for it so long."""
        self._kept = False
        if self._rests() or self.runs_caller():
            return
        ended: SimpleQueue[None] = SimpleQueue()
        self._jobs.put(ended)
        self._start()
        left = countdown(seconds)
        with suppress(Empty):
            ended.get(timeout=left())
            if (thread := self._thread) is not None:
                thread.join(left())  # until threading.enumerate() has it no more
                if not thread.is_alive() and thread.native_id is not None:
                    _core.await_exit(thread.native_id)  # nor has the system

    def runs_caller(self) -> bool:
        """Whether the calling thread is this worker's."""
        return self._running == threading.get_native_id()

    def _rests(self) -> bool:
        return self._jobs.empty() and not self._idle.empty()

    def _start(self, here: bool = True) -> None:
        """Start the thread unless it runs; ``here``: without one, run the jobs on the caller's."""
        # Its one element goes to the thread, or back to `_idle` if the start was interrupted.
        turn: SimpleQueue[None] = SimpleQueue()
        turn.put(None)
        run = partial(self._run, turn)
        try:
            self._idle.get_nowait()
            self._thread = start_thread(run, self._name)
        except Empty:
            return
        except ThreadRefused:
            if here:
                run(0)
                return
            self._kept = False
            self._idle.put(None)
            raise
        except BaseException:  # as Ctrl-C, after which the thread may run nevertheless
            with suppress(Empty):
                turn.get_nowait()
                self._idle.put(None)
            raise

    def _run(self, turn: SimpleQueue[None], linger: float = LINGER) -> None:
        try:
            turn.get_nowait()
        except Empty:
            return
        jobs, idle = self._jobs, self._idle
        self._running = threading.get_native_id()
        ended = None
        try:
            ended = self._work(jobs, linger)
        finally:  # a job that raises ends the thread, as it ends any other
            self._running = 0
            idle.put(None)
            # One may have come before the line above, as may keep().
            if not jobs.empty() or (self._kept and linger):
                self._start()
            if ended is not None:
                ended.put(None)

    def _work(
        self, jobs: SimpleQueue[Job | SimpleQueue[None]], linger: float
    ) -> SimpleQueue[None] | None:
        """Run jobs until there is none for so long; or until ``end()``: what waits for that."""
        while True:
            try:
                job = jobs.get(timeout=None if self._kept and linger else linger)
            except Empty:
                if self._kept and linger:
                    continue
                return None
            if not callable(job):
                return job
            job()
            del job  # before the wait: a job keeps what it is about
            self._report_dropped()

    def _report_dropped(self) -> None:
        if self._dropped:
            with self._counting:
                dropped, self._dropped = self._dropped, 0
            self._report(dropped)


def start_thread(body: Callable[[], object], name: str) -> threading.Thread | None:
    """Start a daemon thread of the system; ``None`` where ``threading`` has greenlets.

    Raises ``ThreadRefused``; what a signal handler raises meanwhile comes out as it is.
    """
    outer = sys.exc_info()[1]
    thread = None
    if gevent_patched():
        from holdfast._engine import greenlets as _greenlets

        begin: Callable[[], object] = partial(_greenlets.start_native_thread, body)
        code = _greenlets.start_native_thread.__code__
    else:
        thread = threading.Thread(target=body, name=name, daemon=True)
        begin, code = thread.start, threading.Thread.start.__code__
    try:
        begin()
        return thread
    except RuntimeError as error:
        first = _first(error, outer)
        if first is error and type(error) is RuntimeError and _raised_in(error) is code:
            raise ThreadRefused(*error.args) from error
    raise first


def raise_interrupt(error: BaseException) -> None:
    """Raise the Ctrl-C in whose handling ``error`` was raised, if any: see ``_first()``."""
    behind = error.__context__
    while behind is not None and not isinstance(behind, KeyboardInterrupt | SystemExit):
        behind = behind.__context__
    if behind is not None:
        raise behind


def _first(error: BaseException, outer: BaseException | None) -> BaseException:
    """The exception in whose handling ``error`` was raised, within that of ``outer``.

    A signal handler that raises may leave ``threading`` with a lock that it does not hold, the
    release of which raises ``RuntimeError``, too.
    """
    while error.__context__ is not None and error.__context__ is not outer:
        error = error.__context__
    return error


def _raised_in(error: BaseException) -> object:
    """The code of the function of Python that raised it."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return None if step is None else step.tb_frame.f_code


def program_is_over() -> bool:
    """Whether handlers of ``atexit`` run, in which Python 3.12 starts no thread any more."""
    return not threading.main_thread().is_alive()


def gevent_patched() -> bool:
    """Whether ``threading`` may have greenlets in place of threads."""
    if "gevent.monkey" not in sys.modules:
        return False
    from holdfast._engine import greenlets as _greenlets

    return _greenlets.install()


def countdown(seconds: float) -> Callable[[], float]:
    """At each call: the seconds that are left of these."""
    end = monotonic() + seconds
    return lambda: max(end - monotonic(), 0.0)


def _after_fork_in_child() -> None:
    for worker in list(_workers):
        worker._reset()


os.register_at_fork(after_in_child=_after_fork_in_child)
