"""A FastAPI application whose requests add one to a balance, in PostgreSQL, under a lock.

The session is a dependency that commits behind its `yield`. `/{session}/{place}/{tasks}/{account}`:
a session for `def` or `async def`; where the lock stands beside the session; whether the request
has a background task, and whether the lock is held until it has ended.
"""

# Annotations are not postponed here: FastAPI could not resolve those of local names.

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import psycopg
import redis
from fastapi import BackgroundTasks, Depends, FastAPI
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import holdfast
from holdfast.contrib.fastapi import Locked, lifespan
from holdfast.contrib.fencing import SqlFence, fenced
from holdfast.contrib.opentelemetry import HoldfastInstrumentor
from holdfast.contrib.redis_py import Lock

app = FastAPI(lifespan=lifespan(os.environ["HOLDFAST_URL"]))

URL = "postgresql+psycopg:///shop"
engine = create_engine(URL, poolclass=NullPool)
async_engine = create_async_engine(URL, poolclass=NullPool)

READ = text("SELECT balance FROM account WHERE id = :id")
WRITE = text("UPDATE account SET balance = :balance WHERE id = :id")


def in_thread() -> Iterator[Session]:
    with Session(engine) as session:
        yield session
        session.commit()


async def in_loop() -> AsyncIterator[AsyncSession]:
    async with AsyncSession(async_engine) as session:
        yield session
        await session.commit()


def add(session: Any, account: int) -> int:
    balance = session.execute(READ, {"id": account}).scalar_one() + 1
    session.execute(WRITE, {"id": account, "balance": balance})
    return int(balance)


async def add_async(session: Any, account: int) -> int:
    balance = (await session.execute(READ, {"id": account})).scalar_one() + 1
    await session.execute(WRITE, {"id": account, "balance": balance})
    return int(balance)


def audit() -> None:
    """A background task."""


def routes_of(tasks: str) -> None:
    """Those with the lock above the function, before the session, and after it."""
    lock = Locked("account:{account}", wait=None, background=tasks == "held")
    hold = Annotated[Any, Depends(lock)]
    blocking = Annotated[Session, Depends(in_thread)]
    waiting = Annotated[AsyncSession, Depends(in_loop)]

    def plan(background: BackgroundTasks) -> None:
        if tasks != "none":
            background.add_task(audit)

    planned = Depends(plan)

    @app.post(f"/thread/above/{tasks}/{{account}}", dependencies=[Depends(lock), planned])
    def thread_above(account: int, session: blocking) -> int:
        return add(session, account)

    @app.post(f"/thread/before/{tasks}/{{account}}", dependencies=[planned])
    def thread_before(account: int, hold: hold, session: blocking) -> int:
        return add(session, account)

    @app.post(f"/thread/after/{tasks}/{{account}}", dependencies=[planned])
    def thread_after(account: int, session: blocking, hold: hold) -> int:
        return add(session, account)

    @app.post(f"/loop/above/{tasks}/{{account}}", dependencies=[Depends(lock), planned])
    async def loop_above(account: int, session: waiting) -> int:
        return await add_async(session, account)

    @app.post(f"/loop/before/{tasks}/{{account}}", dependencies=[planned])
    async def loop_before(account: int, hold: hold, session: waiting) -> int:
        return await add_async(session, account)

    @app.post(f"/loop/after/{tasks}/{{account}}", dependencies=[planned])
    async def loop_after(account: int, session: waiting, hold: hold) -> int:
        return await add_async(session, account)


for each in ("none", "freed", "held"):
    routes_of(each)


HoldfastInstrumentor().instrument()  # which only observes
fence = SqlFence()
client = holdfast.Client(os.environ["HOLDFAST_URL"])
places = asyncio.Semaphore(20)  # as a pool of connections has them
redis_client = redis.Redis.from_url(os.environ["HOLDFAST_URL"])


@app.post("/fenced/thread/{account}")
def fenced_in_thread(account: int) -> int:
    with psycopg.connect("dbname=shop", autocommit=True) as connection:
        lock = client.fenced_lock(f"account:{account}")
        with fenced(lock, fence, connection):
            return add_by(connection, account)


@app.post("/fenced/loop/{account}")
async def fenced_in_loop(account: int) -> int:
    lock = app.state.holdfast.fenced_lock(f"account:{account}")
    connect = psycopg.AsyncConnection.connect
    async with (
        places,
        await connect("dbname=shop", autocommit=True) as connection,
        fenced(lock, fence, connection),
    ):
        found = await connection.execute("SELECT balance FROM account WHERE id = %s", (account,))
        [balance] = await found.fetchone() or [0]
        change = "UPDATE account SET balance = %s WHERE id = %s"
        await connection.execute(change, (balance + 1, account))
    return int(balance + 1)


@app.post("/redis_py/{account}")
def of_redis_py(account: int) -> int:
    """A lock in the place of redis-py's, around the transaction."""
    lock = redis_client.lock(f"account:{account}", timeout=30, lock_class=Lock)
    with lock, psycopg.connect("dbname=shop") as connection:
        return add_by(connection, account)


def add_by(connection: Any, account: int) -> int:
    found = connection.execute("SELECT balance FROM account WHERE id = %s", (account,))
    [balance] = found.fetchone()
    change = "UPDATE account SET balance = %s WHERE id = %s"
    connection.execute(change, (balance + 1, account))
    return int(balance + 1)


@app.get("/pid")
async def pid() -> int:
    """Which worker it is."""
    return os.getpid()
