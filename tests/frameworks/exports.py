"""A Celery application; broker, results and locks are on one server, named by the environment."""

from __future__ import annotations

import os
import time
from typing import Any

from celery import Celery, Task

from holdfast.contrib.celery import enqueue_once, single

URL = os.environ["HOLDFAST_URL"]

app = Celery("exports", broker=URL, backend=URL)
app.conf.holdfast_url = os.environ.get("HOLDFAST_TEST_LOCKS", URL)
app.conf.task_acks_late = True
app.conf.task_reject_on_worker_lost = True
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 1

__all__ = ["app", "connect", "enqueue_once"]


def connect() -> Any:
    import redis

    return redis.Redis.from_url(URL)


def work(key: str) -> None:
    """Report the beginning, wait for the order to end, and return how many ran at once."""
    redis = connect()
    at_once = redis.incr(f"{key}:running")
    redis.rpush(f"{key}:pid", os.getpid())
    redis.rpush(f"{key}:began", at_once)
    while not redis.exists(f"{key}:go"):
        time.sleep(0.01)
    redis.decr(f"{key}:running")


@app.task
@single("export:{user}", busy="skip")
def skipping(user: str) -> str:
    work(user)
    return "done"


@app.task(bind=True, max_retries=0)
@single("export:{user}", busy="retry")
def retrying(self: Task, user: str) -> int:
    work(user)
    return int(self.request.retries)


@app.task
@single("export:{user}", busy="wait")
def waiting(user: str, pause: float = 0.0) -> str:
    redis = connect()
    redis.rpush(f"{user}:began", redis.incr(f"{user}:running"))
    time.sleep(pause)
    redis.decr(f"{user}:running")
    return "done"


def add_one(account: int) -> int:
    """In a transaction of PostgreSQL."""
    import psycopg

    with psycopg.connect("dbname=shop") as connection:
        row = connection.execute("SELECT balance FROM account WHERE id = %s", (account,)).fetchone()
        balance = row[0] + 1 if row else 0
        change = "UPDATE account SET balance = %s WHERE id = %s"
        connection.execute(change, (balance, account))
    return balance


@app.task(ignore_result=True)
@single("account:{account}", busy="wait")
def adding(account: int) -> None:
    add_one(account)


@app.task
def adding_once(account: int) -> int:
    return add_one(account)


@app.task
def plain(user: str) -> str:
    work(user)
    return "done"


@app.task(bind=True, max_retries=1)
def repeated(self: Task, user: str) -> str:
    """Runs twice: a retry."""
    work(f"{user}:{self.request.retries}")
    if not self.request.retries:
        raise self.retry(countdown=0)
    return "done"


@app.task(bind=True)
def replaced(self: Task, user: str) -> str:
    """Another task takes its place, and its lock."""
    raise self.replace(plain.s(user))


@app.task(bind=True, max_retries=5)
def failing(self: Task, user: str) -> int:
    """Succeeds the third time."""
    redis = connect()
    redis.rpush(f"{user}:held", int(redis.exists(f"export:{user}")))
    redis.rpush(f"{user}:ends", self.request.headers["holdfast_end"])
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return int(self.request.retries)
