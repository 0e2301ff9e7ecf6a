"""One interface to sync, asyncio and trio, so that each promise is written once.

An actor is an owner: a thread (`sync`) or a task (`asyncio`, `trio`) that runs the functions it is
given, one after the other.

    alice.do(lock.acquire, timeout=1)            # returns the result or raises the error
    waiting = bob.begin(lock.acquire)            # the same, without waiting for it
    waiting.result(BOUND)

An actor runs any function. If it returns an awaitable, the task awaits it; if it is a
generator function, each `yield` hands over a value to be awaited where it is one and is given
back the result, so that one program serves both:

    def program():
        assert (yield lock.acquire())
        yield PAUSE                              # others may run here
        yield lock.release()

Any thread may give an actor functions to run.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import queue
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import holdfast
from tests.support.waiting import BOUND, eventually, let_pass, taking, turns

PAUSE = object()
"""Yielded by a program: let other owners run."""

REST = object()
"""Yielded by a program that waits for something: look again in a moment."""

_MOMENT = 0.002

Block = Callable[[Any], Any]

ANSWERED = 3.0
"""Seconds; for so long a deferred release has its answer waited for, where one comes."""

RELEASES = os.environ.get("HOLDFAST_TEST_RELEASES", "")
"""HOLDFAST_TEST_RELEASES: `deferred` makes clients whose blocks do not wait for their releases."""


def defers(lock: Any) -> bool:
    """Whether HOLDFAST_TEST_RELEASES makes the releases of the lock deferred ones."""
    return bool(RELEASES) and getattr(lock, "_defers", bool)()


def may_defer(what: Callable[..., Any]) -> bool:
    """Whether it is the `release` of such a lock."""
    return getattr(what, "__name__", "") == "release" and defers(getattr(what, "__self__", None))


def _outcome(lock: Any, begin: Callable[[], Future[Any]]) -> Any:
    """The outcome; of a deferred release not before its answer, as tests look at the server."""
    if not defers(lock):
        return begin().result(BOUND)
    before = _answered(lock._client)
    result = begin().result(BOUND)
    with suppress(AssertionError):
        eventually(lambda: _answered(lock._client) > before, within=ANSWERED)
    return result


def _answered(client: Any) -> int:
    stats = client.stats()
    answered: int = stats.released + stats.lost
    return answered


class Actor:
    """An owner; `ThreadActor` and `TaskActor` say how it runs."""

    def begin(self, what: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        """Tell it to do something next; the future has the outcome."""
        raise NotImplementedError

    def do(self, what: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Tell it to do something, and wait for the outcome."""
        if not may_defer(what):
            return self.begin(what, *args, **named).result(BOUND)
        named.setdefault("wait", False)
        lock = getattr(what, "__self__", None)
        return _outcome(lock, lambda: self.begin(what, *args, **named))

    def do_briefly(self, what: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """As `do`, of a call with a short time: again where no answer came within it.

        A busy machine may take longer than the quarter of a second that the server has.
        """
        end = time.monotonic() + BOUND
        while True:
            try:
                return self.do(what, *args, **named)
            except holdfast.ConnectionError:
                if time.monotonic() > end:
                    raise

    def inside(self, lock: Any, block: Block) -> Any:
        """Run `block(the lock that `with` gave)` inside `with lock:` (`async with`)."""
        return _outcome(lock, lambda: self.begin_inside(lock, block))

    def begin_inside(self, lock: Any, block: Block) -> Future[Any]:
        raise NotImplementedError

    def end(self) -> None:
        """End the thread or the task, after the functions that it was given."""
        raise NotImplementedError


class ThreadActor(Actor):
    """An owner that is a thread."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._jobs = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="actor", daemon=True)
        self.thread.start()

    def begin(self, what: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.put((future, lambda: _run(what(*args, **named))))
        return future

    def begin_inside(self, lock: Any, block: Block) -> Future[Any]:
        def body() -> Any:
            with lock as held:
                return _run(block(held))

        return self.begin(body)

    def end(self) -> None:
        self._jobs.put(None)
        self.thread.join(BOUND)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            _settle(future, call)
            del future, call, job


class TaskActor(Actor):
    """An owner that is a task of `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: asyncio.Queue[Any] = asyncio.Queue()
        started: Future[asyncio.Task[None]] = Future()
        loop.call_soon_threadsafe(lambda: started.set_result(loop.create_task(self._work())))
        self.task = started.result(BOUND)

    def begin(self, what: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        job = (future, lambda: what(*args, **named))
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, job)
        return future

    def begin_inside(self, lock: Any, block: Block) -> Future[Any]:
        async def body() -> Any:
            async with lock as held:
                return await awaited(block(held))

        return self.begin(body)

    def end(self) -> None:
        ended = threading.Event()
        self._loop.call_soon_threadsafe(self.task.add_done_callback, lambda _: ended.set())
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, None)
        ended.wait(BOUND)

    def cancel(self) -> None:
        """Cancel the task, whatever it does; it ends."""
        self._loop.call_soon_threadsafe(self.task.cancel)

    async def _work(self) -> None:
        while (job := await self._jobs.get()) is not None:
            future, call = job
            try:
                result = await awaited(call())
            except asyncio.CancelledError as error:
                future.set_exception(error)
                raise
            except BaseException as error:  # noqa: BLE001 - the outcome is the caller's
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, call, job


def _settle(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the outcome is the caller's
        future.set_exception(error)
    else:
        future.set_result(result)


def _run(outcome: Any) -> Any:
    """Drive a program in a thread; anything else is the outcome itself."""
    if not inspect.isgenerator(outcome):
        return outcome
    value: Any = None
    while True:
        try:
            value = outcome.send(value)
        except StopIteration as end:
            return end.value
        if value is PAUSE:
            os.sched_yield()
        elif value is REST:
            let_pass(_MOMENT)


async def awaited(outcome: Any) -> Any:
    """Drive a program in a task, or await what can be awaited."""
    if inspect.isgenerator(outcome):
        return await _drive(outcome)
    return await outcome if inspect.isawaitable(outcome) else outcome


async def _drive(program: Generator[Any, Any, Any]) -> Any:
    step: Callable[[], Any] = lambda: program.send(None)  # noqa: E731
    while True:
        try:
            value = step()
        except StopIteration as end:
            return end.value
        try:
            result = await _yielded(value)
        except Exception as error:  # noqa: BLE001 - the program's to handle
            step = _thrower(program, error)
        else:
            step = _sender(program, result)


def _sender(program: Generator[Any, Any, Any], value: Any) -> Callable[[], Any]:
    return lambda: program.send(value)


def _thrower(program: Generator[Any, Any, Any], error: Exception) -> Callable[[], Any]:
    return lambda: program.throw(error)


async def _yielded(value: Any) -> Any:
    if value is PAUSE:
        return await turns()
    if value is REST:
        return await taking(_MOMENT)
    return await value if inspect.isawaitable(value) else value


class Flavour:
    """`sync`, `asyncio` or `trio`: how clients are made and what an owner is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asyncio = name != "sync"  # calls are awaited
        self._run: Any = None
        self._actors: list[Actor] = []
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return self.name

    def client(self, url: str, **options: Any) -> Any:
        """A client of this flavour. Any thread may make one."""
        module = importlib.import_module(f"holdfast.{self.name}" if self.asyncio else "holdfast")
        if RELEASES and not options.get("replicas_to_wait"):
            options.setdefault("releases", RELEASES)
        return module.Client(url, **options)

    def actor(self) -> Any:
        """A new owner: of the classes above one (typed Any for what only one has)."""
        actor: Actor
        if self.name == "trio":
            actors = importlib.import_module("tests.support.trio_actors")
            self._run = self._run or actors.TrioRun()
            actor = actors.TrioActor(self._run)
        else:
            actor = TaskActor(self._running_loop()) if self.asyncio else ThreadActor()
        self._actors.append(actor)
        return actor

    def end(self) -> None:
        """End all owners, and the loop."""
        for actor in self._actors:
            actor.end()
        if self._run is not None:
            self._run.end()
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(BOUND)
        self._loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
            self._thread.start()
        return self._loop
