"""Works in tasks, at most three at a time over all processes: python limited_fetch.py N [trio].

The permits have a lease that is renewed: those of a process that dies come back. It runs on asyncio
and on trio; with ``holdfast.asyncio`` or ``holdfast.trio`` in the imports, on that alone.
"""

from __future__ import annotations

import sys

import anyio

import holdfast.anyio as locks

AT_ONCE = 3


async def fetch(semaphore: locks.PermitSemaphore, number: int, results: list[int]) -> None:
    async with semaphore:
        await anyio.sleep(0.01)  # the request to a service that allows three at a time
        results.append(number * number)


async def main(count: int) -> None:
    results: list[int] = []
    async with locks.Client() as client:
        semaphore = client.permit_semaphore("fetches")
        await semaphore.try_set_permits(AT_ONCE)
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(fetch, semaphore, number, results)
        print(sum(results))


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), backend=(sys.argv[2:] or ["asyncio"])[0])
