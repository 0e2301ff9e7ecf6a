"""A loop that is closed with unfinished tasks, forgotten or not: what they held ends."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import holdfast.asyncio
from holdfast import observe
from tests.contract.process.conftest import SHORT, NewLoop, Notices, holds
from tests.support.servers import Server
from tests.support.waiting import eventually

#: In no other file: what is collected here may be of an earlier test, and its notices name others.
NAME = "of a forgotten loop"
CHANNEL = f"redisson_lock__channel:{{{NAME}}}"
OTHER = "another"

Body = Callable[[Any, list[str]], Coroutine[Any, Any, Any]]


async def _hold(client: Any, held: list[str]) -> None:
    await client.lock(NAME).acquire()
    held.append(NAME)
    await asyncio.Event().wait()


async def _hold_and_await_a_loss(client: Any, held: list[str]) -> None:
    await client.lock(NAME, on_lost=print).acquire()
    held.append(NAME)
    await asyncio.Event().wait()


async def _hold_in_a_block(client: Any, held: list[str]) -> None:
    async with client.lock(NAME, cancel_on_lost=True):
        held.append(NAME)
        await asyncio.Event().wait()


async def _hold_and_ask(client: Any, held: list[str]) -> None:
    await client.lock(NAME).acquire()
    held.append(NAME)
    await client.lock(OTHER).acquire()


def _run_until(loop: asyncio.AbstractEventLoop, settled: Callable[[], object]) -> None:
    def has_come_so_far() -> object:
        loop.run_until_complete(asyncio.sleep(0))
        return settled()

    eventually(has_come_so_far)


def _leave(
    new_loop: NewLoop, body: Coroutine[Any, Any, Any], settled: Callable[[], object]
) -> Callable[[], bool]:
    """Close a loop whose task has come so far; returns whether loop and task are still there."""
    loop = new_loop()
    task = loop.create_task(body)
    _run_until(loop, settled)
    loop.close()
    remembered = (weakref.ref(task), weakref.ref(loop))

    def are_there() -> bool:
        gc.collect()
        return any(each() is not None for each in remembered)

    return are_there


def _close(new_loop: NewLoop, client: Any) -> None:
    loop = new_loop()
    loop.run_until_complete(client.close())
    loop.close()


@pytest.mark.realtime
@pytest.mark.parametrize(
    "body",
    [_hold, _hold_and_await_a_loss, _hold_in_a_block, _hold_and_ask],
    ids=lambda body: body.__name__.strip("_"),
)
def test_renewal_stops_when_the_loop_is_forgotten(
    server: Server, new_loop: NewLoop, notices: Notices, body: Body
) -> None:
    """ended-owner.

    Loop and task are collected, a warning names the lock, and it expires with its lease.
    """
    server.inspect.hset(OTHER, "somebody-else:1", 1)
    client, held = holdfast.asyncio.Client(server.url, lease=SHORT), list[str]()
    are_there = _leave(new_loop, body(client, held), lambda: held)
    eventually(lambda: not are_there(), what="the loop and its task are collected")
    eventually(lambda: notices.naming(NAME))
    eventually(lambda: holds(server, NAME) == {})
    _close(new_loop, client)
    assert all("ended without releasing" in text for text in notices.naming(NAME))


def test_a_forgotten_loop_waits_for_nothing(
    server: Server, new_loop: NewLoop, notices: Notices
) -> None:
    """interrupted-acquire: nor does it stay subscribed to a lock that its task waited for."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 30_000)
    client = holdfast.asyncio.Client(server.url)
    waiting = client.lock(NAME).acquire()
    are_there = _leave(new_loop, waiting, lambda: server.subscribers(CHANNEL) == 1)
    del waiting
    eventually(lambda: not are_there(), what="the loop and its task are collected")
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    _close(new_loop, client)
    assert notices.naming(NAME) == []


async def _take(client: Any) -> None:
    await client.lock(NAME).acquire()


async def _take_and_await_a_loss(client: Any) -> None:
    await client.lock(NAME, on_lost=print).acquire()


async def _take_for_a_hold(client: Any) -> None:
    await client.lock(NAME).hold()


@pytest.mark.parametrize(
    "body",
    [_take, _take_and_await_a_loss, _take_for_a_hold],
    ids=lambda body: body.__name__.strip("_"),
)
def test_a_closed_loop_takes_nothing(
    server: Server, new_loop: NewLoop, body: Callable[[Any], Coroutine[Any, Any, Any]]
) -> None:
    """blocked-loop: its wait ends, also while the program keeps the task."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 30_000)
    client = holdfast.asyncio.Client(server.url)
    waiting = body(client)
    loop = new_loop()
    task = loop.create_task(waiting)
    _run_until(loop, lambda: server.subscribers(CHANNEL) == 1)
    loop.close()
    eventually(lambda: server.subscribers(CHANNEL) == 0, what="its wait has ended")
    assert not task.done()
    _close(new_loop, client)


@pytest.mark.realtime
def test_renewal_stops_when_the_loop_is_closed(
    server: Server, new_loop: NewLoop, notices: Notices
) -> None:
    """blocked-loop: also while the program keeps the task; one warning names the lock."""
    client, held = holdfast.asyncio.Client(server.url, lease=SHORT), list[str]()
    loop = new_loop()
    task = loop.create_task(_hold(client, held))
    _run_until(loop, lambda: held)
    loop.close()
    eventually(lambda: notices.naming(NAME))
    eventually(lambda: holds(server, NAME) == {})
    assert not task.done()
    del loop, task
    gc.collect()
    _close(new_loop, client)
    (notice,) = notices.naming(NAME)
    assert "ended without releasing" in notice


def test_what_a_stopped_loop_asked_for_is_finished(server: Server, new_loop: NewLoop) -> None:
    """blocked-loop: though its loop stopped, the answer to a release is read.

    It is to be sent again.
    """
    client = holdfast.asyncio.Client(server.url, lease=3600, command_timeout=60)
    released = asyncio.Event()

    async def main() -> None:
        lock = client.lock(NAME)
        for _ in range(5):  # the loop reads for itself
            async with lock:
                pass
        await lock.acquire()
        server.inspect.script_flush()
        server.inspect.client_pause(200)  # the answer comes when the loop has stopped
        loop.call_soon(loop.stop)
        await lock.release()
        released.set()

    loop = new_loop()
    task = loop.create_task(main())
    loop.run_forever()
    assert not released.is_set()
    eventually(lambda: server.keys() == set(), what="the release gets through")
    loop.run_until_complete(task)
    _close(lambda: loop, client)


class _Span:
    """What an observer keeps of an acquisition."""

    task: asyncio.Task[Any] | None = None


class _Spans(observe.Observer):
    def __init__(self) -> None:
        self.begun_spans: list[weakref.ref[_Span]] = []

    def begun(self, kind: str, name: bytes) -> _Span:
        span = _Span()
        span.task = asyncio.current_task()
        self.begun_spans.append(weakref.ref(span))
        return span

    def ended(self, begun: Any, outcome: str, client: str, owner: int) -> None:
        pass

    def released(self, name: bytes, client: str, owner: int) -> None:
        pass

    def lost(self, name: bytes, client: str, owner: int, reason: str) -> None:
        pass


def test_a_task_that_its_observer_knows_is_collected_with_its_loop(server: Server) -> None:
    """idle-loop: the observer's object refers to the task whose wait it belongs to."""
    holder = holdfast.Client(server.url)
    holder.lock("myLock").acquire()
    spans = _Spans()
    observe.add_observer(spans)
    loop = asyncio.new_event_loop()

    async def wait() -> None:
        await holdfast.asyncio.Client(server.url).lock("myLock").acquire()

    task = loop.create_task(wait())
    try:
        _run_until(loop, lambda: spans.begun_spans)
    finally:
        observe.remove_observer(spans)
    loop.close()
    del loop, task

    def gone() -> bool:
        gc.collect()
        return spans.begun_spans[0]() is None

    eventually(gone)
    holder.close(release_held=True)
