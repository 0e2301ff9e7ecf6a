"""The program whose instructions are counted: ``subject WHAT PORT AMOUNT``.

It writes one number to stdout: how often it did what is counted.  A run with a larger amount
differs from one with a smaller amount in nothing else.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

import holdfast
import holdfast.asyncio

RENEWED_LOCKS = 500  # many, as those that are due together share the cost of a wake-up
RENEWED_LEASE = 3.0
RENEWED_SECONDS = 1.0  # a third of the lease: the period of the renewals


def pairs(url: str, amount: int) -> int:
    """Uncontended ``with lock:`` blocks of one thread."""
    lock = holdfast.Client(url).lock("instructions")
    for _ in range(amount):
        with lock:
            pass
    return amount


def deferred_pairs(url: str, amount: int) -> int:
    """The same, each release answered together with the next grant."""
    lock = holdfast.Client(url, releases="deferred").lock("instructions")
    for _ in range(amount):
        with lock:
            pass
    return amount


def read_pairs(url: str, amount: int) -> int:
    """The same of a read lock."""
    lock = holdfast.Client(url).read_write_lock("instructions-rw").read
    for _ in range(amount):
        with lock:
            pass
    return amount


def asyncio_pairs(url: str, amount: int) -> int:
    """Uncontended ``async with lock:`` blocks of one task."""

    async def run() -> None:
        async with holdfast.asyncio.Client(url) as client:
            lock = client.lock("instructions")
            for _ in range(amount):
                async with lock:
                    pass

    asyncio.run(run())
    return amount


def renewals(url: str, amount: int) -> int:
    """Renewals of many holds, in ``amount`` periods, while the program sleeps."""
    client = holdfast.Client(url, lease=RENEWED_LEASE)
    for number in range(RENEWED_LOCKS):
        client.lock(f"instructions-{number}").acquire()
    time.sleep(amount * RENEWED_SECONDS)
    return client.stats().renewals  # those before the sleep cost something, too


SUBJECTS: dict[str, Callable[[str, int], int]] = {
    "pair": pairs,
    "deferred pair": deferred_pairs,
    "read pair": read_pairs,
    "asyncio pair": asyncio_pairs,
    "renewal": renewals,
}


def main() -> None:
    what, port, amount = sys.argv[1:]
    print(SUBJECTS[what](f"redis://127.0.0.1:{port}/0", int(amount)))


if __name__ == "__main__":
    main()
