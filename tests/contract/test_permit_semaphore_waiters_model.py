"""The permit semaphore under random use by threads of two clients, against a model.

Who gets permits first is open. What is not: the counter is what the model makes of all that was
granted, and no waiter is left for what is there, however many it waits for.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import holdfast
from tests.contract.permits import CHANNEL, NAME
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.support.waiting import BOUND, eventually

MOST_WAITERS = 6
LONG = 600
"""A lease that no test waits for: a waiter that gets in was woken by a message."""

permits = st.integers(1, 4)
clients = st.integers(0, 1)


class PermitSemaphores(RuleBasedStateMachine):
    """The model: `free` permits, the ids that are out, and who waits for how many."""

    def __init__(self, server: Server, made: list[Any], make_actor: MakeActor) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.semaphores = made
        self.make_actor = make_actor
        self.actor = make_actor()
        self.idle: list[Any] = []
        self.free = 3
        self.out: list[str] = []
        self.waiting: list[tuple[int, Any, Future[Any]]] = []
        self.do(0, "set_permits", self.free)

    @rule(client=clients, wanted=permits, leased=st.booleans())
    def acquire(self, client: int, wanted: int, leased: bool) -> None:
        lease = LONG if leased else None
        ids = self.do(client, "acquire_many", wanted, False, lease=lease)
        assert (ids is not None) == (wanted <= self.free)
        if ids is not None:
            self.granted(ids)

    @rule(client=clients, wanted=permits, patient=st.booleans())
    def wait(self, client: int, wanted: int, patient: bool) -> None:
        if len(self.waiting) == MOST_WAITERS:
            return  # no precondition: how many wait depends on who was quicker
        actor = self.idle.pop() if self.idle else self.make_actor()
        semaphore, timeout = self.semaphores[client], None if patient else 0.02
        if wanted == 1:
            future = actor.begin(lambda: as_list(semaphore.acquire(timeout=timeout, lease=LONG)))
        else:
            future = actor.begin(semaphore.acquire_many, wanted, timeout=timeout, lease=LONG)
        self.waiting.append((wanted, actor, future))
        self.settle()

    @precondition(lambda self: self.out)
    @rule(client=clients, count=permits, data=st.data())
    def release(self, client: int, count: int, data: st.DataObject) -> None:
        ids = data.draw(st.permutations(self.out))[:count]
        if len(ids) == 1:
            self.do(client, "release", ids[0])
        else:
            self.do(client, "release_many", ids)
        self.out = [permit for permit in self.out if permit not in ids]
        self.free += len(ids)
        self.settle()

    @rule(client=clients, n=st.integers(-2, 3))
    def add_permits(self, client: int, n: int) -> None:
        self.do(client, "add_permits", n)
        self.free += n
        self.settle()

    @rule(client=clients, n=st.integers(0, 6))
    def set_permits(self, client: int, n: int) -> None:
        self.do(client, "set_permits", n)
        self.free = n - len(self.out)
        self.settle()

    @invariant()
    def the_counter_is_the_models(self) -> None:
        eventually(lambda: int(self.server.inspect.get(NAME)) == self.free)
        assert self.do(0, "acquired_permits") == len(self.out)

    def teardown(self) -> None:
        wanted = sum(waiter[0] for waiter in self.waiting)
        self.do(0, "add_permits", wanted - self.free)
        for _, _, future in self.waiting:
            future.result(BOUND)
        self.actor.end()
        for actor in [*self.idle, *(actor for _, actor, _ in self.waiting)]:
            actor.end()
        eventually(lambda: self.server.subscribers(CHANNEL) == 0)

    def do(self, client: int, method: str, *args: Any, **named: Any) -> Any:
        return self.actor.do(getattr(self.semaphores[client], method), *args, **named)

    def granted(self, ids: list[str]) -> None:
        self.out += ids
        self.free -= len(ids)

    def settle(self) -> None:
        """Wait until no waiter is left for the free permits, and note the grants."""
        eventually(self.no_waiter_fits_the_free_permits, within=3)

    def no_waiter_fits_the_free_permits(self) -> bool:
        for waiter in [waiter for waiter in self.waiting if waiter[2].done()]:
            self.waiting.remove(waiter)
            self.idle.append(waiter[1])
            self.granted(granted(waiter[2]))
        return all(wanted > self.free for wanted, _, _ in self.waiting)


def granted(waiter: Future[Any]) -> list[str]:
    """The permits of a waiter that has returned: none after its time.

    On a busy machine no reply may come within that time: then the permits that it may have got are
    given back.
    """
    try:
        return waiter.result() or []
    except holdfast.ConnectionError:
        return []


def as_list(permit: str | None) -> list[str] | None:
    return None if permit is None else [permit]


@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_the_counter_is_right_and_no_waiter_is_left(
    server: Server, compare: Compare, make_client: MakeClient, make_actor: MakeActor
) -> None:
    made = [make_client().permit_semaphore(NAME) for _ in range(2)]
    compare(partial(PermitSemaphores, server, made, make_actor), examples=40)
