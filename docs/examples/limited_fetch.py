"""Works in asyncio tasks, at most three at a time over all processes: python limited_fetch.py N.

The permits have a lease that is renewed: those of a process that dies come back.
"""

from __future__ import annotations

import asyncio
import sys

import holdfast.asyncio

AT_ONCE = 3


async def fetch(semaphore: holdfast.asyncio.PermitSemaphore, number: int) -> int:
    async with semaphore:
        await asyncio.sleep(0.01)  # the request to a service that allows three at a time
        return number * number


async def main(count: int) -> None:
    async with holdfast.asyncio.Client() as client:
        semaphore = client.permit_semaphore("fetches")
        await semaphore.try_set_permits(AT_ONCE)
        results = await asyncio.gather(*(fetch(semaphore, number) for number in range(count)))
        print(sum(results))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
