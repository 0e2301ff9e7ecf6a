"""Owners that are tasks of trio: see actors.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import trio

from tests.support.actors import Actor, TaskActor, awaited
from tests.support.waiting import BOUND


class TrioActor(Actor):
    """An owner that is a task of a run of trio."""

    def __init__(self, run: TrioRun) -> None:
        self._run = run
        self._ended = threading.Event()
        self._scope = trio.CancelScope()
        self._give: trio.MemorySendChannel[Any]
        started: Future[None] = Future()
        run.call(self._start, started)
        started.result(BOUND)

    def _start(self, started: Future[None]) -> None:
        self._give, jobs = trio.open_memory_channel[Any](float("inf"))
        self._run.nursery.start_soon(self._work, jobs)
        started.set_result(None)

    def begin(self, what: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._run.call(self._give.send_nowait, (future, lambda: what(*args, **named)))
        return future

    begin_inside = TaskActor.begin_inside

    def end(self) -> None:
        self._run.call(self._give.close)
        self._ended.wait(BOUND)

    def cancel(self) -> None:
        """Cancel the task, whatever it does; it ends."""
        self._run.call(self._scope.cancel)

    async def _work(self, jobs: trio.MemoryReceiveChannel[Any]) -> None:
        try:
            with self._scope:
                async for future, call in jobs:
                    await self._settle(future, call)
        finally:
            self._ended.set()

    async def _settle(self, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            result = await awaited(call())
        except trio.Cancelled as error:
            future.set_exception(error)
            raise
        except BaseException as error:  # noqa: BLE001 - the outcome is the caller's
            future.set_exception(error)
        else:
            future.set_result(result)


class TrioRun:
    """A run of trio in a thread, until `end`."""

    nursery: trio.Nursery

    def __init__(self) -> None:
        self._token: Future[trio.lowlevel.TrioToken] = Future()
        self._thread = threading.Thread(target=trio.run, args=(self._main,), daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function in the run."""
        self._token.result(BOUND).run_sync_soon(function, *args)

    def end(self) -> None:
        self.call(self._over.set)
        self._thread.join(BOUND)

    async def _main(self) -> None:
        self._over = trio.Event()
        async with trio.open_nursery() as self.nursery:
            self._token.set_result(trio.lowlevel.current_trio_token())
            await self._over.wait()
