"""What the tests of a once run, and how they start it and wait for it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import anyio

from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

KEY = "invoice:7"
LOCK = "invoice:7:holdfast_once"
RESULT = "holdfast_result:{invoice:7:holdfast_once}"


class Work:
    """A function that counts its calls, and may be held inside of one."""

    def __init__(self, flavour: Flavour, result: Any, *, held: bool) -> None:
        self.calls = 0
        self.result = result
        self.entered = threading.Event()
        self.goes_on = threading.Event()
        if not held:
            self.goes_on.set()
        self._asynchronous = flavour.asyncio

    def _outcome(self) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.calls += 1
        self.entered.set()
        if self._asynchronous:
            return self._later()
        self.goes_on.wait(BOUND)
        return self._outcome()

    async def _later(self) -> Any:
        await anyio.to_thread.run_sync(self.goes_on.wait, BOUND)
        return self._outcome()


class Stage:
    """Makes clients, things that run once, and what they run, of one flavour on one server."""

    def __init__(self, flavour: Flavour, server: Server, make_client: MakeClient) -> None:
        self.flavour = flavour
        self.server = server
        self.client = make_client

    def once(self, client: Any = None, key: str = KEY, **options: Any) -> Any:
        """A new object of the key; of a new client unless one is given."""
        return (client or self.client()).once(key, **options)

    def work(self, result: Any = "done", *, held: bool = False) -> Work:
        return Work(self.flavour, result, held=held)

    def begin(self, actor: Any, once: Any, work: Work) -> Future[Any]:
        """Let an owner run it; returns once it is inside of the function."""
        running: Future[Any] = actor.begin(once.run, work)
        assert work.entered.wait(BOUND)
        return running

    def wait(self, actor: Any, once: Any, work: Work) -> Future[Any]:
        """Let an owner wait for the result; returns once its client has one more waiter."""
        before = once._client.stats().waiting
        waiting: Future[Any] = actor.begin(once.run, work)
        eventually(lambda: waiting.done() or once._client.stats().waiting > before)
        return waiting
