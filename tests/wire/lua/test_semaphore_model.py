"""The semaphore's steps against a model, over random sequences of requests, repeated and late ones.

A request that comes again stands for a command that was sent again, however much later; an undo may
come before the acquisition that it takes back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.counters import CLIENT, Semaphore
from tests.wire.lua.steps import Listener, Message

requests = st.integers(1, 12).map(lambda number: f"{CLIENT}:{number}")
permits = st.integers(1, 4)


class SemaphoreAgainstModel(RuleBasedStateMachine):
    """The model: `free` permits (None: no semaphore), and the answer that each request got."""

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__()
        server.flush()
        self.semaphore = Semaphore(server.inspect)
        self.listener = listener
        self.free: int | None = None
        self.taken: dict[str, int] = {}
        self.answers: dict[str, Any] = {}
        self.numbers = 0

    # ---- acquisitions, known by their request's id for ever

    @rule(request=requests, wanted=permits)
    def acquire(self, request: str, wanted: int) -> None:
        reply = self.semaphore.acquire(request, wanted)
        if request in self.taken:
            assert reply == (0 if self.taken[request] == 0 else None)
        elif (self.free or 0) >= wanted:
            assert reply is None
            self.taken[request] = wanted
            self.free = (self.free or 0) - wanted
        else:
            assert reply == (self.free or 0)

    @rule(request=requests)
    def undo(self, request: str) -> None:
        taken = self.taken.get(request, 0) if self.free is not None else 0
        assert self.semaphore.undo(request) == taken
        self.taken[request] = 0
        if taken:
            self.add(taken)

    # ---- requests of one answer, each sent once or twice

    @rule(added=st.integers(-3, 4), twice=st.booleans())
    def add_permits(self, added: int, twice: bool) -> None:
        expected = (self.free or 0) + added
        self.run(lambda id: self.semaphore.add_permits(id, added), expected, twice)
        self.free = self.free or 0
        self.add(added)

    @rule(wanted=st.integers(0, 3), twice=st.booleans())
    def try_set_permits(self, wanted: int, twice: bool) -> None:
        made = self.free is None
        self.run(lambda id: self.semaphore.try_set_permits(id, wanted), int(made), twice)
        if made:
            self.free = 0
            self.add(wanted)

    @rule(twice=st.booleans())
    def drain_permits(self, twice: bool) -> None:
        self.run(self.semaphore.drain_permits, self.free or 0, twice)
        self.free = None if self.free is None else 0

    @rule(twice=st.booleans())
    def delete(self, twice: bool) -> None:
        self.run(self.semaphore.delete, int(self.free is not None), twice)
        self.free = None

    # ---- a repeat that comes late

    @rule(data=st.data())
    def again(self, data: st.DataObject) -> None:
        if self.answers:
            call, expected = data.draw(st.sampled_from(list(self.answers.values())))
            assert call() == expected

    # ---- what always holds

    @invariant()
    def the_counter_is_the_models(self) -> None:
        assert self.semaphore.value == self.free

    @invariant()
    def nothing_else_was_published(self) -> None:
        assert self.listener.messages() == []

    # ---- inside

    def run(self, step: Callable[[str], Any], expected: int, twice: bool) -> None:
        self.numbers += 1
        request = f"{CLIENT}:{1000 + self.numbers}"
        for _ in range(1 + twice):
            assert step(request) == expected
        self.answers[request] = (partial(step, request), expected)

    def add(self, permits: int) -> None:
        """Add `permits`; the waiters get a message if any permit is free."""
        self.free = (self.free or 0) + permits
        channel = str(Semaphore.channel).encode()
        told = [Message("message", channel, b"%d" % self.free)] if self.free > 0 else []
        assert self.listener.messages() == told


@pytest.mark.timeout(300)
def test_the_steps_do_what_the_model_says(server: Server, compare: Compare) -> None:
    with Listener(server, Semaphore.channel) as listener:
        compare(partial(SemaphoreAgainstModel, server, listener), examples=100)
