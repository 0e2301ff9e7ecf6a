"""Correct and wrong uses of the interface, for type checkers; it is never run.

A line with `type: ignore` must be an error: the checkers are set to report unused ignores.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import holdfast
import holdfast.asyncio

if TYPE_CHECKING:
    from typing_extensions import assert_type


def threads() -> None:
    """The sync interface."""
    with holdfast.Client("redis://127.0.0.1:6379/0", lease=20, name_prefix="app:") as client:
        assert_type(client, holdfast.Client)
        assert_type(client.id, str)
        lock = client.lock("myLock", lease=None, wait=2.5, on_lost=told)
        assert_type(lock, holdfast.Lock)
        assert_type(client.lock(b"bytes"), holdfast.Lock)
        assert_type(lock.acquire(), bool)
        assert_type(lock.acquire(True, -1), bool)
        assert_type(lock.acquire(blocking=False), bool)
        assert_type(lock.acquire(timeout=None, lease=3), bool)
        assert_type(lock.release(), None)
        assert_type(lock.locked(), bool)
        assert_type(lock.owned(), bool)
        assert_type(lock.hold_count(), int)
        assert_type(lock.ttl(), float | None)
        assert_type(lock.extend(3.5), bool)
        assert_type(lock.force_release(), bool)
        assert_type(lock.lost, bool)
        assert_type(lock.name, str | bytes)
        assert_type(lock.loss, str | None)
        threading.Condition(lock)
        with lock as held:
            assert_type(held, holdfast.Lock)
        with lock.hold(wait=0, lease=None) as hold:
            assert_type(hold, holdfast.Hold)
            assert_type(hold.left, float | None)
            assert_type(hold.token, int | None)
            assert_type(client.attach(hold.detach(lease=5)), holdfast.Hold)
        assert_type(client.lock("myLock", at_least=5), holdfast.Lock)
        fenced = client.fenced_lock("myLock", on_lost=told)
        assert_type(fenced, holdfast.FencedLock)
        assert_type(fenced.token, int | None)
        with fenced as inside:
            assert_type(inside, holdfast.FencedLock)
        assert_type(client.spin_lock("myLock", backoff=0.05, wait=1), holdfast.SpinLock)
        spin = client.spin_lock("myLock", backoff=holdfast.Backoff(initial=0.01, multiplier=3))
        assert_type(spin.backoff, holdfast.Backoff)
    holdfast.Client()


def told(lock: holdfast.Lock) -> None:
    """Called when a hold is lost."""
    assert_type(lock.lost, bool)


async def tasks() -> None:
    """The asyncio interface."""
    async with holdfast.asyncio.Client("redis://127.0.0.1:6379/0") as client:
        assert_type(client, holdfast.asyncio.Client)
        lock = client.lock("myLock", cancel_on_lost=True)
        assert_type(lock, holdfast.asyncio.Lock)
        assert_type(await lock.acquire(timeout=1), bool)
        assert_type(await lock.release(), None)
        assert_type(await lock.locked(), bool)
        assert_type(await lock.ttl(), float | None)
        assert_type(await lock.hold_count(), int)
        assert_type(lock.lost, bool)
        async with lock as held:
            assert_type(held, holdfast.asyncio.Lock)
        hold = await lock.hold(wait=0, lease=None)
        assert_type(hold, holdfast.asyncio.Hold)
        assert_type(hold.loss, str | None)
        assert_type(await client.attach(await hold.detach()), holdfast.asyncio.Hold)
        assert_type(client.fenced_lock("myLock"), holdfast.asyncio.FencedLock)
        assert_type(client.fenced_lock("myLock").token, int | None)
        assert_type(client.spin_lock("myLock", backoff=0.05), holdfast.asyncio.SpinLock)


def decorators(client: holdfast.Client, tasks: holdfast.asyncio.Client) -> None:
    """A decorated function keeps its type; one that may be left out may return None."""

    @client.locked("report:{user}", kind="fair_lock", lease=3)
    def called(user: str) -> int:
        return len(user)

    @client.locked("report:{user}", busy="skip")
    def left_out(user: str) -> int:
        return len(user)

    @tasks.locked("report", busy="skip", at_least=1)
    async def task() -> int:
        return 1

    assert_type(called("ann"), int)
    assert_type(left_out("ann"), int | None)
    assert_type(asyncio.run(task()), int | None)
    called(7)  # type: ignore[arg-type]
    client.locked("report", busy="skip", wait=1)  # type: ignore[call-overload]
    client.locked("report", kind="spin_lock")  # type: ignore[call-overload]


async def once(client: holdfast.Client, tasks: holdfast.asyncio.Client) -> None:
    """What runs once is typed as the function: its arguments, and its result."""

    def price(order: int, *, currency: str) -> float:
        return float(order)

    async def charge(order: int) -> bytes:
        return bytes(order)

    assert_type(client.once("price").run(price, 7, currency="EUR"), float)
    assert_type(await tasks.once("price").run(price, 7, currency="EUR"), float)
    assert_type(await tasks.once("charge").run(charge, 7), bytes)
    client.once("price").run(price, "7", currency="EUR")  # type: ignore[arg-type]
    await tasks.once("charge").run(charge, "7")  # type: ignore[call-overload]


def errors() -> None:
    """The tree of errors."""
    try:
        holdfast.Client().ping()
    except holdfast.ServerError as error:
        assert_type(error.code, str)
    except (holdfast.ConnectionError, holdfast.LockTimeout, holdfast.LockLostError):
        pass


def wrong(lock: holdfast.Lock) -> None:
    """What a checker must refuse."""
    lock.acquire(timeout="1")  # type: ignore[arg-type]
    lock.acquire(leese=1)  # type: ignore[call-arg]
    lock.extend()  # type: ignore[call-arg]
    lock.lost = True  # type: ignore[misc]
    holdfast.Client(lease="30")  # type: ignore[arg-type]
