"""Plays a recorded scenario with holdfast, and compares all that others can see after each step.

Owners are actors (threads or tasks) of two clients. Where several wait for one lock, it is open
who gets it: if another does than in the recording, the two waiters change parts.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.lua.steps import Listener
from tests.support.actors import ThreadActor
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tests.wire import calls
from tests.wire.recordings import Key, Step

PART = re.compile(r"<(\w+)>:<(\w+)>")
"""An owner as the recordings write it: of client A, thread t1."""


class MainActor(ThreadActor):
    """An actor that is the main thread, which alone gets a Ctrl-C; it works while in `serve`."""

    def __init__(self) -> None:
        super().__init__()
        super().end()
        self.thread = threading.main_thread()

    def serve(self) -> None:
        """Do what it is told, until `end`."""
        self._work()

    def end(self) -> None:
        self._jobs.put(None)

    def cancel(self) -> None:
        """Press Ctrl-C."""
        assert self.thread.ident is not None
        signal.pthread_kill(self.thread.ident, signal.SIGINT)


@dataclass
class Owner:
    """Who plays a part: a thread or a task, with a client; `field` is known once it held a lock."""

    actor: Any
    client: Any
    field: str = ""


class Replay:
    """One playing of a scenario; `clients` are A and B, `make_actor(part)` makes an owner."""

    def __init__(
        self, server: Server, clients: dict[str, Any], make_actor: Callable[[str], Any]
    ) -> None:
        self._server = server
        self._clients = clients
        self._make_actor = make_actor
        self._owners: dict[str, Owner] = {}
        self._waiting: dict[str, Future[Any]] = {}
        self._listener = Listener(server, pattern="redisson_*")

    def run(self, steps: tuple[Step, ...]) -> None:
        """Play all steps; raises AssertionError at the first that differs."""
        for number, step in enumerate(steps):
            try:
                self._play(step)
                self._see_who_woke(steps[number : number + 2])
                self._compare(step)
            except AssertionError as error:
                raise AssertionError(f"step {number} differs: {step}") from error
        self._expect_subscribers({channel: 0 for step in steps for channel in step.subscribed})

    def close(self) -> None:
        """End the listener; actors and clients are their makers'."""
        self._listener.close()

    # ---- doing

    def _play(self, step: Step) -> None:
        if step.op == "wait":
            time.sleep(step.args["seconds"])  # what the step is about: time passes
        elif step.by == "recorder":
            self._server.inspect.execute_command(*step.op.split())
        elif step.op == "interrupt":
            self._owner(step.by).actor.cancel()
        else:
            self._call(step, self._owner(step.by))

    def _call(self, step: Step, owner: Owner) -> None:
        future = self._waiting.pop(str(step.by), None)
        if not step.ends_wait:
            # The recordings leave out some ends: who acts again has got the lock.
            assert future is None or future.result(BOUND)
            future = calls.begin(step, owner.actor, owner.client)
        assert future is not None
        if step.waits:
            self._waiting[str(step.by)] = future
            return
        outcome = calls.outcome(step, future)
        assert outcome == step.result, f"the outcome was {outcome}"

    def _see_who_woke(self, steps: tuple[Step, ...]) -> None:
        """If a waiter acts in the second of two steps, find out who woke, and give him the part."""
        part = str(steps[-1].by)
        if steps[0].waits or steps[-1].op == "interrupt" or part not in self._waiting:
            return
        wait(self._waiting.values(), timeout=BOUND, return_when=FIRST_COMPLETED)
        woken = [waiter for waiter, future in self._waiting.items() if future.done()]
        assert len(woken) == 1, f"of the waiters {list(self._waiting)} these returned: {woken}"
        self._change_parts(part, woken[0])

    def _change_parts(self, one: str, other: str) -> None:
        waiting, owners = self._waiting, self._owners
        waiting[one], waiting[other] = waiting[other], waiting[one]
        owners[one], owners[other] = owners[other], owners[one]

    def _owner(self, part: str | None) -> Owner:
        assert part is not None
        if part not in self._owners:
            self._owners[part] = Owner(self._make_actor(part), self._clients[part[0]])
        return self._owners[part]

    # ---- comparing

    def _compare(self, step: Step) -> None:
        eventually(lambda: self._has_keys(step.keys))
        published, expected = self._published(), step.published
        if step.kind != "lock":  # members are released side by side
            published, expected = tuple(sorted(published)), tuple(sorted(expected))
        assert published == expected, f"published was {published}"
        if step.waits:
            self._expect_subscribers(step.subscribed)
            assert not self._waiting[str(step.by)].done()

    def _expect_subscribers(self, numbers: dict[str, int]) -> None:
        for channel, number in numbers.items():
            eventually(partial(self._has_subscribers, channel, number))

    def _has_subscribers(self, channel: str, number: int) -> bool:
        there = self._server.subscribers(channel)
        assert there == number, f"{there} subscribers of {channel}"
        return True

    def _published(self) -> tuple[tuple[str, str], ...]:
        messages = self._listener.messages()
        return tuple((message.channel.decode(), message.payload.decode()) for message in messages)

    def _has_keys(self, expected: dict[str, Key]) -> bool:
        names = self._server.keys()
        there = {name.decode(): self._key(name) for name in names}
        wanted = {n: self._with_fields(k, there.get(n, k)) for n, k in expected.items()}
        assert there == wanted, f"on the server is {there}, not {wanted}"
        return True

    def _key(self, name: bytes) -> Key:
        inspect = self._server.inspect
        kind = inspect.type(name).decode()
        if kind == "hash":
            value: Any = {f.decode(): v.decode() for f, v in inspect.hgetall(name).items()}
        else:
            value = (inspect.get(name) or b"").decode()
        left = inspect.pttl(name)
        return Key(kind, value, None if left == -1 else left)

    def _with_fields(self, expected: Key, there: Key) -> Key:
        """The expected key with the owners' real fields, which are learned from what is there."""
        if expected.kind != "hash":
            return expected
        value = {self._field(part, there): count for part, count in expected.value.items()}
        return replace(expected, value=value)

    def _field(self, part: str, there: Key) -> str:
        owner = self._owner(PART.sub(r"\1:\2", part))
        if not owner.field and there.kind == "hash":
            taken = {other.field for other in self._owners.values()}
            form = re.compile(rf"{owner.client.id}:\d+")
            new = [f for f in there.value if form.fullmatch(f) and f not in taken]
            owner.field = new[0] if len(new) == 1 else ""
        return owner.field or part
