"""A job of a FastAPI application that one of its processes does: python fastapi_singleton.py PORT.

Start it on several ports, or machines: one of them leads. When it ends or is killed, the next one
takes over.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

import holdfast
import holdfast.asyncio


async def work(leader: holdfast.asyncio.Leader) -> None:
    """The leader's job; cancelled when its leadership is lost."""
    print(f"leads with token {leader.token}", flush=True)
    await asyncio.Event().wait()


async def stand(client: holdfast.asyncio.Client) -> None:
    """Stand for election until the application ends, also after a failure of the server."""
    while True:
        try:
            await client.leader("singleton").run(work)
        except holdfast.HoldfastError as error:
            print(error, file=sys.stderr, flush=True)
            await asyncio.sleep(1)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with holdfast.asyncio.Client(lease=10) as client:
        standing = asyncio.create_task(stand(client))
        yield
        standing.cancel()  # it resigns
        await asyncio.wait([standing])


app = FastAPI(lifespan=lifespan)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
