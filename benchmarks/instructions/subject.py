"""The program whose instructions are counted: ``subject WHAT PORT AMOUNT``.

It writes one number to stdout: how often it did what is counted.  A run with a larger amount
differs from one with a smaller amount in nothing else.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager

import holdfast
import holdfast.asyncio

RENEWED_LOCKS = 500  # many, as those that are due together share the cost of a wake-up
RENEWED_LEASE = 3.0
RENEWED_SECONDS = 1.0  # a third of the lease: the period of the renewals

#: Two processes share a lock by the clock: in each turn one takes it, the other asks for it, the
#: first one releases it.  In ms.
TURN, HOLD, ASK, RELEASE = 40, 0, 10, 22
CONTENDED_LEASE = 2.0


def enter(lock: AbstractContextManager[object], amount: int) -> int:
    """Uncontended ``with lock:`` blocks of one thread."""
    for _ in range(amount):
        with lock:
            pass
    return amount


def pairs(url: str, amount: int) -> int:
    """Of a lock."""
    return enter(holdfast.Client(url).lock("instructions"), amount)


def label_pairs(url: str, amount: int) -> int:
    """Of a lock of a client with a label: nothing goes out with its acquires."""
    return enter(holdfast.Client(url, label="a worker").lock("instructions"), amount)


def purpose_pairs(url: str, amount: int) -> int:
    """Of a lock whose holds say what they are for."""
    return enter(holdfast.Client(url).lock("instructions", label="nightly"), amount)


def nested_pairs(url: str, amount: int) -> int:
    """Of a lock that the thread holds already."""
    lock = holdfast.Client(url).lock("instructions-nested")
    with lock:
        return enter(lock, amount)


def fair_pairs(url: str, amount: int) -> int:
    """Of a fair lock."""
    return enter(holdfast.Client(url).fair_lock("instructions-fair"), amount)


def fenced_pairs(url: str, amount: int) -> int:
    """Of a fenced lock."""
    return enter(holdfast.Client(url).fenced_lock("instructions-fenced"), amount)


def semaphore_pairs(url: str, amount: int) -> int:
    """Of a semaphore with enough permits."""
    semaphore = holdfast.Client(url).semaphore("instructions-semaphore")
    semaphore.try_set_permits(2)
    return enter(semaphore, amount)


def permit_pairs(url: str, amount: int) -> int:
    """Permits of a permit semaphore, taken and given back."""
    semaphore = holdfast.Client(url).permit_semaphore("instructions-permits")
    semaphore.try_set_permits(2)
    for _ in range(amount):
        permit = semaphore.acquire()
        assert permit is not None
        semaphore.release(permit)
    return amount


def sleep_until(in_turn: int) -> None:
    """Until the next such moment of a turn."""
    time.sleep((in_turn / 1e3 - time.monotonic()) % (TURN / 1e3))


def contended_pairs(url: str, amount: int) -> int:
    """Of a lock that another process holds, and releases after a pause."""
    lock = holdfast.Client(url).lock("instructions-contended", lease=CONTENDED_LEASE)
    for _ in range(amount):
        sleep_until(ASK)
        with lock:
            pass
    return amount


def hold_in_turns(url: str, _amount: int) -> int:
    """That other process, until it is killed."""
    lock = holdfast.Client(url).lock("instructions-contended", lease=CONTENDED_LEASE)
    print("ready", flush=True)
    while True:
        sleep_until(HOLD)
        with lock:
            sleep_until(RELEASE)


def multi_pairs(url: str, amount: int) -> int:
    """Of a multi lock of three locks on one server."""
    client = holdfast.Client(url)
    locks = [client.lock(f"instructions-multi-{number}") for number in range(3)]
    return enter(client.multi_lock(*locks), amount)


def deferred_pairs(url: str, amount: int) -> int:
    """The same, each release answered together with the next grant."""
    return enter(holdfast.Client(url, releases="deferred").lock("instructions"), amount)


def read_pairs(url: str, amount: int) -> int:
    """Of a read lock."""
    return enter(holdfast.Client(url).read_write_lock("instructions-rw").read, amount)


def enter_in_task(
    url: str,
    make: Callable[[holdfast.asyncio.Client], AbstractAsyncContextManager[object]],
    amount: int,
) -> int:
    """Uncontended ``async with lock:`` blocks of one task."""

    async def run() -> None:
        async with holdfast.asyncio.Client(url) as client:
            lock = make(client)
            for _ in range(amount):
                async with lock:
                    pass

    asyncio.run(run())
    return amount


def asyncio_pairs(url: str, amount: int) -> int:
    """Of a lock, in a task."""
    return enter_in_task(url, lambda client: client.lock("instructions"), amount)


def asyncio_purpose_pairs(url: str, amount: int) -> int:
    """The same of a lock whose holds say what they are for."""
    return enter_in_task(url, lambda client: client.lock("instructions", label="nightly"), amount)


def asyncio_read_pairs(url: str, amount: int) -> int:
    """Of a read lock, in a task."""
    return enter_in_task(url, lambda client: client.read_write_lock("instructions-rw").read, amount)


def asyncio_fenced_pairs(url: str, amount: int) -> int:
    """Of a fenced lock, in a task."""
    return enter_in_task(url, lambda client: client.fenced_lock("instructions-fenced"), amount)


def trio_pairs(url: str, amount: int) -> int:
    """Of a lock, in a task of trio."""
    import trio

    import holdfast.trio

    async def run() -> None:
        async with holdfast.trio.Client(url) as client:
            lock = client.lock("instructions")
            for _ in range(amount):
                async with lock:
                    pass

    trio.run(run)
    return amount


def trio_floors(url: str, amount: int) -> int:
    """The least that a pair takes in a task of trio: the program of floor.py."""
    from benchmarks.instructions import floor

    return floor.pairs(url, amount)


def slots_pairs(url: str, amount: int) -> int:
    """Of one of two slots, taken and given back."""
    return enter(holdfast.Client(url).slots("instructions-slots", 2), amount)


def int_of_one() -> int:
    """What runs once."""
    return 1


def kept_results(url: str, amount: int) -> int:
    """Calls of what has run once, and whose result is kept."""
    once = holdfast.Client(url).once("instructions-once")
    for _ in range(amount):
        once.run(int_of_one)
    return amount


def elections(url: str, amount: int) -> int:
    """Of a leader without rivals, who resigns."""
    leader = holdfast.Client(url).leader("instructions-leader", value="here")
    for _ in range(amount):
        leader.campaign()
        leader.resign()
    return amount


def barriers(url: str, amount: int) -> int:
    """Rounds of a barrier of two threads."""
    barrier = holdfast.Client(url).barrier("instructions-barrier", 2)

    def waits() -> None:
        for _ in range(amount):
            barrier.wait()

    other = threading.Thread(target=waits)
    other.start()
    waits()
    other.join()
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
    "label pair": label_pairs,
    "purpose pair": purpose_pairs,
    "deferred pair": deferred_pairs,
    "read pair": read_pairs,
    "nested pair": nested_pairs,
    "fair pair": fair_pairs,
    "fenced pair": fenced_pairs,
    "semaphore pair": semaphore_pairs,
    "permit pair": permit_pairs,
    "multi pair": multi_pairs,
    "contended pair": contended_pairs,
    "contended holder": hold_in_turns,
    "asyncio pair": asyncio_pairs,
    "asyncio purpose pair": asyncio_purpose_pairs,
    "asyncio read pair": asyncio_read_pairs,
    "asyncio fenced pair": asyncio_fenced_pairs,
    "trio pair": trio_pairs,
    "trio floor": trio_floors,
    "slots pair": slots_pairs,
    "kept result": kept_results,
    "election": elections,
    "barrier": barriers,
    "renewal": renewals,
}


def main() -> None:
    what, port, amount = sys.argv[1:]
    # How many instructions a look takes depends on the machine.
    print(SUBJECTS[what](f"redis://127.0.0.1:{port}/0?busy_poll=off", int(amount)))


if __name__ == "__main__":
    main()
