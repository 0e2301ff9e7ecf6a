"""Rounds of a Python worker on a lock that it shares with Java; Java's are in Soak.java."""

from __future__ import annotations

import random
import threading
import time

import redis

import holdfast

PAUSE = 0.002
"""Each worker stays away from the lock up to so many seconds between two rounds."""


def one_more(store: redis.Redis, counter: str) -> None:
    """Read the counter and write it back plus one: right only while nobody else does."""
    value = int(store.get(counter) or 0)
    store.set(counter, value + 1)


def soak(lock: holdfast.Lock, store: redis.Redis, counter: str, seconds: float) -> int:
    """Lock, count, release, for some seconds; return the number of rounds done."""
    end = time.monotonic() + seconds
    never = threading.Event()
    rounds = 0
    while time.monotonic() < end:
        with lock:
            one_more(store, counter)
        rounds += 1
        never.wait(random.uniform(0, PAUSE))
    return rounds
