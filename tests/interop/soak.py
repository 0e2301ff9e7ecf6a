"""Rounds of a Python worker on a lock that it shares with Java; Java's are in Soak.java."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import redis

import holdfast

PAUSE = 0.002
"""Seconds: the longest rest of a worker between two rounds."""


def one_more(store: redis.Redis, counter: str) -> None:
    """Read the counter and write it back plus one: right only while no other owner does."""
    value = int(store.get(counter) or 0)
    store.set(counter, value + 1)


def look_twice(store: redis.Redis, counter: str) -> None:
    """Read the counter twice: it moves only where a writer is among the readers."""
    before = store.get(counter)
    assert store.get(counter) == before


def soak(lock: holdfast.Lock, store: redis.Redis, counter: str, seconds: float) -> int:
    """Lock, count, release, for some seconds; return the number of rounds done."""

    def turn() -> None:
        with lock:
            one_more(store, counter)

    return _rounds(turn, seconds)


def read_write_soak(
    lock: holdfast.ReadWriteLock, store: redis.Redis, counter: str, seconds: float
) -> int:
    """As soak() with the write lock, each round followed by a look under the read lock."""

    def turn() -> None:
        with lock.write:
            one_more(store, counter)
        with lock.read:
            look_twice(store, counter)

    return _rounds(turn, seconds)


def _rounds(turn: Callable[[], None], seconds: float) -> int:
    end = time.monotonic() + seconds
    never = threading.Event()
    rounds = 0
    while time.monotonic() < end:
        turn()
        rounds += 1
        never.wait(random.uniform(0, PAUSE))
    return rounds
