"""The semaphore under random use by threads of two clients, against a model.

Who gets a permit first is open. What is not: the counter is what the model makes of all that was
granted, and no waiter is left for what is there.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
)

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.support.waiting import BOUND, eventually

NAME = "mySemaphore"
CHANNEL = "redisson_sc:{mySemaphore}"
MOST_WAITERS = 6

permits = st.integers(1, 3)
clients = st.integers(0, 1)


class Semaphores(RuleBasedStateMachine):
    """The model: `free` permits (None: no semaphore), and who waits for how many."""

    def __init__(self, server: Server, made: list[Any], make_actor: MakeActor) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.semaphores = made
        self.make_actor = make_actor
        self.actor = make_actor()
        self.idle: list[Any] = []
        self.free: int | None = None
        self.waiting: list[tuple[int, Any, Future[Any]]] = []

    # ---- what owners do

    @rule(client=clients, wanted=permits)
    def acquire(self, client: int, wanted: int) -> None:
        granted = self.do(client, "acquire", False, permits=wanted)
        assert granted == (wanted <= (self.free or 0))
        if granted:
            self.free = (self.free or 0) - wanted

    @rule(client=clients, wanted=permits)
    def wait(self, client: int, wanted: int) -> None:
        if len(self.waiting) == MOST_WAITERS:
            return  # no precondition: how many wait depends on who was quicker
        actor = self.idle.pop() if self.idle else self.make_actor()
        future = actor.begin(self.semaphores[client].acquire, permits=wanted)
        self.waiting.append((wanted, actor, future))
        self.settle()

    @rule(client=clients, n=permits)
    def release(self, client: int, n: int) -> None:
        self.do(client, "release", n)
        self.free = (self.free or 0) + n
        self.settle()

    @rule(client=clients, n=st.integers(-3, 4))
    def add_permits(self, client: int, n: int) -> None:
        self.do(client, "add_permits", n)
        self.free = (self.free or 0) + n
        self.settle()

    @rule(client=clients, n=st.integers(0, 4))
    def try_set_permits(self, client: int, n: int) -> None:
        assert self.do(client, "try_set_permits", n) == (self.free is None)
        if self.free is None:
            self.free = n
            self.settle()

    @rule(client=clients)
    def drain_permits(self, client: int) -> None:
        assert self.do(client, "drain_permits") == (self.free or 0)
        self.free = None if self.free is None else 0

    @rule(client=clients)
    def delete(self, client: int) -> None:
        assert self.do(client, "delete") == (self.free is not None)
        self.free = None

    # ---- what always holds

    @invariant()
    def the_counter_is_the_models(self) -> None:
        found = self.server.inspect.get(NAME)
        assert (None if found is None else int(found)) == self.free

    # ---- the end

    def teardown(self) -> None:
        wanted = sum(waiter[0] for waiter in self.waiting)
        self.do(0, "add_permits", wanted - (self.free or 0))
        for _, _, future in self.waiting:
            assert future.result(BOUND) is True
        self.actor.end()
        for actor in [*self.idle, *(actor for _, actor, _ in self.waiting)]:
            actor.end()
        eventually(lambda: self.server.subscribers(CHANNEL) == 0)

    # ---- inside

    def do(self, client: int, method: str, *args: Any, **named: Any) -> Any:
        return self.actor.do(getattr(self.semaphores[client], method), *args, **named)

    def settle(self) -> None:
        """Wait until no waiter is left for the free permits, and note the grants."""
        eventually(self.no_waiter_fits_the_free_permits, within=3)

    def no_waiter_fits_the_free_permits(self) -> bool:
        for waiter in [waiter for waiter in self.waiting if waiter[2].done()]:
            wanted, actor, future = waiter
            assert future.result() is True
            self.waiting.remove(waiter)
            self.idle.append(actor)
            assert self.free is not None
            self.free -= wanted
        return all(wanted > (self.free or 0) for wanted, _, _ in self.waiting)


@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
def test_the_counter_is_right_and_no_waiter_is_left(
    server: Server, compare: Compare, make_client: MakeClient, make_actor: MakeActor
) -> None:
    made = [make_client().semaphore(NAME) for _ in range(2)]
    compare(partial(Semaphores, server, made, make_actor), examples=40)
