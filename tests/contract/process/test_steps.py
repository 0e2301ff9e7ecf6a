"""How a task goes on when its operation has ended: in order, as itself, and kept while it waits."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import time
from typing import Any

import pytest

import holdfast.asyncio
from holdfast import _core
from tests.contract.process.conftest import NAME, NewLoop, Run, holds
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually


async def _read_by_the_loop(lock: Any) -> None:
    """Use the lock until the loop itself reads what the server replies."""
    for _ in range(5):
        async with lock:
            pass


def test_a_task_that_only_its_wait_knows_is_kept(server: Server, run: Run) -> None:
    """idle-loop: the loop has weak references to tasks: what a task waits for has to keep it."""

    async def section(lock: Any, done: asyncio.Event) -> None:
        async with lock:
            done.set()

    async def main() -> None:
        done = asyncio.Event()
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            async with lock:
                asyncio.create_task(section(lock, done))  # noqa: RUF006 - that is the point
                for _ in range(10):
                    await asyncio.sleep(0)
                    gc.collect()
            await asyncio.wait_for(done.wait(), BOUND)

    run(main())


def test_a_deferred_release_takes_no_turn_of_the_loop(server: Server, run: Run) -> None:
    """idle-loop: it is written when the call returns, though the loop does not run."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await _read_by_the_loop(lock)
            turns: list[bool] = []
            for attempt in range(1, 11):  # the engine's thread may have read for a slow loop
                await lock.acquire(lease=3600)
                asyncio.get_running_loop().call_soon(turns.append, True)
                await lock.release(wait=False)
                if len(turns) < attempt:
                    break
            assert len(turns) < attempt
            eventually(lambda: not holds(server), what="the lock is free")

    run(main())


def test_a_system_exit_leaves_the_other_tasks_to_the_next_run(
    server: Server, new_loop: NewLoop
) -> None:
    """idle-loop: both replies are read by one callback, and the first task ends the loop."""

    async def end(lock: Any) -> None:
        await lock.acquire()
        raise SystemExit(3)

    async def begin() -> None:
        await _read_by_the_loop(client.lock(NAME))
        tasks.append(asyncio.create_task(end(client.lock(NAME))))
        tasks.append(asyncio.create_task(client.lock("second").acquire()))
        await asyncio.sleep(0)
        eventually(lambda: server.keys() == {NAME.encode(), b"second"})

    loop = new_loop()
    tasks: list[asyncio.Task[Any]] = []
    client = holdfast.asyncio.Client(server.url)
    with pytest.raises(SystemExit):
        loop.run_until_complete(begin())
    first, second = tasks
    assert isinstance(first.exception(), SystemExit)
    assert loop.run_until_complete(asyncio.wait_for(second, BOUND))
    loop.run_until_complete(client.close(release_held=True))
    loop.close()


def test_a_step_runs_as_its_task_and_in_its_context(server: Server, run: Run) -> None:
    number = contextvars.ContextVar("number", default=-1)

    async def section(client: Any, own: int) -> None:
        number.set(own)
        me = asyncio.current_task()
        for _ in range(5):
            async with client.lock(f"{NAME}{own}"):
                assert (number.get(), asyncio.current_task()) == (own, me)
            assert (number.get(), asyncio.current_task()) == (own, me)

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            await asyncio.gather(*(section(client, own) for own in range(20)))
            await section(client, 20)
            task = asyncio.create_task(section(client, 21))
            await task
            assert number.get() == 20

    run(main())


def test_a_task_does_not_overtake_a_callback_that_is_due(server: Server) -> None:
    """due-cancellation: such a callback may cancel it: the loss of a lock is reported by one."""
    order: list[str] = []

    async def acquire(lock: Any) -> None:
        await lock.acquire()
        order.append("task")

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await _read_by_the_loop(lock)
            task = asyncio.create_task(acquire(lock))
            await asyncio.sleep(0)
            eventually(lambda: holds(server))
            asyncio.get_running_loop().call_later(0, order.append, "callback")
            await task
            await lock.force_release()

    asyncio.run(main())
    assert order == ["callback", "task"]


@pytest.mark.realtime
def test_a_loop_that_runs_inside_a_step_is_not_kept_waiting(server: Server) -> None:
    """As libraries do it that patch asyncio: what its tasks send does not wait for the step."""

    async def sections(lock: Any) -> None:
        for _ in range(60):
            async with lock:
                pass

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            loop: Any = asyncio.get_running_loop()
            await _read_by_the_loop(client.lock(NAME))
            outer = asyncio.current_task()
            assert outer is not None

            def run_inside() -> float:
                watch = Stopwatch()
                inner = loop.create_task(sections(client.lock("inner")))
                asyncio.tasks._leave_task(loop, outer)
                while not inner.done():
                    loop._run_once()
                asyncio.tasks._enter_task(loop, outer)
                return watch.seconds

            assert any(run_inside() < 2 for _ in range(10)), "else each section lasts 50 ms"

    asyncio.run(main())


def test_debug_mode_names_the_task_whose_step_is_slow(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        asyncio.get_running_loop().slow_callback_duration = 0.05
        async with holdfast.asyncio.Client(server.url) as client, client.lock(NAME):
            time.sleep(0.06)  # noqa: ASYNC251 - that is the point

    with caplog.at_level(logging.WARNING, logger="asyncio"):
        asyncio.run(main(), debug=True)
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "<Task" in text and "took" in text]


@pytest.mark.flavours("sync")
def test_an_error_while_a_result_is_made_loses_no_other_result(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a loop that is not asyncio's: Ctrl-C comes while the error of a release is made."""

    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    queue = _core.TaskQueue(client)
    for name in ("a", "b"):  # not held: they end at once
        queue.start(client.lock(name)._core.release(_core.next_owner(), False))
    monkeypatch.setattr("holdfast._engine.errors.NotOwnedError", interrupted)
    assert [type(error) for _, _, error in queue.drain()] == [KeyboardInterrupt] * 2
