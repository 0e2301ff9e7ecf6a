"""Every mode for a contender whose calls block; its file calls ``main(open_locks)``."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from benchmarks.python.protocol import Config, config, moment, now, ready, result, sleep_until

ACQUIRERS = 8  # threads that take the watchdog's locks


class Lock(Protocol):
    def acquire(self) -> object: ...

    def release(self) -> object: ...


Locks = Callable[[str], Lock]
OpenLocks = Callable[[Config], Locks]


def pair_for(lock: Lock, seconds: float) -> list[int]:
    samples = []
    end = now() + int(seconds * 1e9)
    while (begin := now()) < end:
        lock.acquire()
        lock.release()
        samples.append(now() - begin)
    return samples


def pair(words: Config, locks: Locks) -> None:
    lock = locks(words.name)
    ready()
    moment()
    pair_for(lock, words.warmup)
    result(samples_ns=pair_for(lock, words.seconds))


def run_threads(count: int, body: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=body, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    return threads


def throughput(words: Config, locks: Locks) -> None:
    ready()
    moment()
    begin = now() + int(words.warmup * 1e9)
    end = begin + int(words.seconds * 1e9)
    pairs = [0] * words.workers

    def work(worker: int) -> None:
        lock = locks(f"{words.name}:{worker}")
        while (at := now()) < end:
            lock.acquire()
            lock.release()
            pairs[worker] += at >= begin

    for thread in run_threads(words.workers, work):
        thread.join()
    result(pairs=sum(pairs), seconds=words.seconds)


def contend(words: Config, locks: Locks) -> None:
    grants: list[list[int]] = [[] for _ in range(words.workers)]
    started = threading.Barrier(words.workers + 1)
    go = threading.Event()
    until = 0

    def work(worker: int) -> None:
        lock = locks(words.lock_name(worker))
        started.wait()
        go.wait()
        seen = grants[worker]
        while now() < until and (not words.grants or len(seen) < 2 * words.grants):
            lock.acquire()
            seen.append(now())
            if words.hold_us:
                time.sleep(words.hold_us / 1e6)
            seen.append(now())
            lock.release()

    threads = run_threads(words.workers, work)
    started.wait()
    ready()
    until = moment()
    go.set()
    for thread in threads:
        thread.join()
    result(grants=grants)


def hold(words: Config, locks: Locks) -> None:
    """Holds its locks from before ``ready``; releases them at the moment, or is killed before."""
    held = [locks(words.lock_name(worker)) for worker in range(words.locks)]
    for lock in held:
        lock.acquire()
        time.sleep(words.stagger_ms / 1e3)
    ready()
    moment()
    released = now()
    for lock in held:
        lock.release()
    result(released_ns=released)


def wake(words: Config, locks: Locks) -> None:
    """Rounds on a timetable: the holder takes the lock, the waiter asks, the holder releases."""
    lock = locks(words.name)
    lock.acquire()
    lock.release()
    ready()
    start = moment()
    asked_or_held, done = [], []
    for i in range(words.rounds):
        slot = start + i * words.period_us * 1000
        ask = slot + words.ask_us * 1000
        if words.role == "waiter":
            sleep_until(ask)
            asked_or_held.append(now())
            lock.acquire()
            done.append(now())
        else:
            sleep_until(slot)
            lock.acquire()
            asked_or_held.append(now())
            # The golden ratio spreads the releases evenly over the spread.
            sleep_until(ask + words.ask_us * 1000 + int(i * 0.618034 % 1 * words.spread_us * 1000))
            done.append(now())
        lock.release()
    result(begun=asked_or_held, done=done)


def watchdog(words: Config, locks: Locks) -> None:
    """Takes many locks and holds them until it is killed."""
    first = locks(f"{words.name}:first")
    first.acquire()
    first.release()
    ready()
    moment()
    taken = threading.Barrier(ACQUIRERS + 1)
    held: list[list[Lock]] = [[] for _ in range(ACQUIRERS)]

    def work(worker: int) -> None:
        for i in range(worker, words.locks, ACQUIRERS):
            lock = locks(f"{words.name}:{i}")
            lock.acquire()
            held[worker].append(lock)
        taken.wait()
        threading.Event().wait()

    run_threads(ACQUIRERS, work)
    taken.wait()
    result(held=sum(map(len, held)))
    moment()


MODES: dict[str, Callable[[Config, Locks], None]] = {
    mode.__name__: mode for mode in (pair, throughput, contend, hold, wake, watchdog)
}


def fail(thrown: threading.ExceptHookArgs) -> None:
    """A thread's error is the worker's."""
    threading.__excepthook__(thrown)
    sys.stderr.flush()
    os._exit(1)


def main(open_locks: OpenLocks) -> None:
    threading.excepthook = fail
    words = config()
    MODES[words.mode](words, open_locks(words))
