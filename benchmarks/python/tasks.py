"""The modes for a contender whose calls are coroutines; its file calls ``main(open_locks)``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from benchmarks.python.protocol import Config, config, moment, now, ready, result


class Lock(Protocol):
    def acquire(self) -> Awaitable[object]: ...

    def release(self) -> Awaitable[object]: ...


Locks = Callable[[str], Lock]
OpenLocks = Callable[[Config], Locks]


async def pair_for(lock: Lock, seconds: float) -> list[int]:
    samples = []
    end = now() + int(seconds * 1e9)
    while (begin := now()) < end:
        await lock.acquire()
        await lock.release()
        samples.append(now() - begin)
    return samples


async def pair(words: Config, locks: Locks) -> None:
    lock = locks(words.name)
    ready()
    moment()
    await pair_for(lock, words.warmup)
    result(samples_ns=await pair_for(lock, words.seconds))


async def pairs_until(lock: Lock, begin: int, end: int) -> int:
    """The pairs begun from ``begin`` on."""
    pairs = 0
    while (at := now()) < end:
        await lock.acquire()
        await lock.release()
        pairs += at >= begin
    return pairs


async def throughput(words: Config, locks: Locks) -> None:
    own = [locks(f"{words.name}:{worker}") for worker in range(words.workers)]
    ready()
    moment()
    # Connections are opened by the first pair, which is never counted.
    await asyncio.gather(*(pairs_until(lock, now(), now() + 1) for lock in own))
    begin = now() + int(words.warmup * 1e9)
    end = begin + int(words.seconds * 1e9)
    pairs = await asyncio.gather(*(pairs_until(lock, begin, end) for lock in own))
    result(pairs=sum(pairs), seconds=words.seconds)


async def hold_often(lock: Lock, words: Config, until: int) -> list[int]:
    seen: list[int] = []
    while now() < until and (not words.grants or len(seen) < 2 * words.grants):
        await lock.acquire()
        seen.append(now())
        await asyncio.sleep(words.hold_us / 1e6)
        seen.append(now())
        await lock.release()
    return seen


async def contend(words: Config, locks: Locks) -> None:
    own = [locks(words.lock_name(worker)) for worker in range(words.workers)]
    ready()
    until = moment()
    result(grants=await asyncio.gather(*(hold_often(lock, words, until) for lock in own)))


async def hold(words: Config, locks: Locks) -> None:
    held = [locks(words.lock_name(worker)) for worker in range(words.locks)]
    for lock in held:
        await lock.acquire()
    ready()
    moment()
    released = now()
    for lock in held:
        await lock.release()
    result(released_ns=released)


Mode = Callable[[Config, Locks], Awaitable[None]]
MODES: dict[str, Mode] = {mode.__name__: mode for mode in (pair, throughput, contend, hold)}


def main(open_locks: OpenLocks) -> None:
    words = config()

    async def run() -> None:
        await MODES[words.mode](words, open_locks(words))

    if words.loop == "uvloop":
        import uvloop

        uvloop.run(run())
    else:
        asyncio.run(run())
