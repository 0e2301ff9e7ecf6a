"""The steps against a model of the semaphore, over random sequences of calls.

A step that is to run twice stands for a command that was sent again. Leases are long; what has
expired is made so by hand. What the model predicts is compared after each call.
"""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.permit_steps import CHANNEL, NAME, ONE, THREE, TWO, PermitSemaphore
from tests.wire.lua.steps import Listener

permits = st.sampled_from([ONE, TWO, THREE, b"the 4th's id 16B"])
twice = st.booleans()
LEASE = 3_600_000


class SemaphoreAgainstModel(RuleBasedStateMachine):
    """The model: `free` permits (None: no counter), `out` and `expired` ones, what was `told`."""

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.semaphore = PermitSemaphore(server.inspect)
        self.listener = listener
        self.free: int | None = None
        self.out: set[bytes] = set()
        self.expired: set[bytes] = set()
        self.told: list[int] = []

    def grow(self, number: int) -> int:
        """Some more are free; the number of them now."""
        self.free = (self.free or 0) + number
        if self.free > 0:
            self.told.append(self.free)
        return self.free

    def reclaim(self) -> int:
        if self.expired:
            self.grow(len(self.expired))
            self.expired.clear()
        return self.free or 0

    @rule(number=st.integers(0, 4), repeated=twice)
    def try_set_permits(self, number: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            assert self.semaphore.try_set_permits(number) == (self.free is None)
            if self.free is None:
                self.free = number
                self.told.append(number)
                self.out.clear()
                self.expired.clear()

    @rule(permit=permits, repeated=twice)
    def acquire(self, permit: bytes, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply = self.semaphore.acquire(permit, LEASE)
            free = self.reclaim()
            if permit not in self.out and free < 1:
                assert reply == -1 if not self.out else 0 < reply <= LEASE
                continue
            if permit not in self.out:
                self.free = free - 1
                self.out.add(permit)
            assert reply[0] == (self.free or 0)
            assert 0 < reply[1] <= LEASE

    @rule(permit=permits, repeated=twice)
    def release(self, permit: bytes, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply = self.semaphore.release(permit)
            if permit in self.out:
                assert reply == (2 if self.grow(1) == 1 else 1)
            else:
                assert reply is None
                if permit in self.expired:
                    self.grow(1)
            self.out.discard(permit)
            self.expired.discard(permit)

    @rule(permit=permits, extend=st.booleans())
    def set_the_lease(self, permit: bytes, extend: bool) -> None:
        step = self.semaphore.extend if extend else self.semaphore.renew
        assert step(permit, LEASE) == (permit in self.out)

    @rule(permit=permits)
    def expire(self, permit: bytes) -> None:
        if permit in self.out:
            self.semaphore.let_expire(permit)
            self.out.remove(permit)
            self.expired.add(permit)

    @rule()
    def available_permits(self) -> None:
        assert (self.semaphore.available_permits() or 0) == self.reclaim()

    @rule(number=st.integers(-3, 3))
    def add_permits_as_redisson_does(self, number: int) -> None:
        self.server.inspect.incrby(NAME, number)
        self.free = (self.free or 0) + number

    @rule()
    def lose_the_counter(self) -> None:
        self.server.inspect.delete(NAME)
        self.free = None

    @rule()
    def delete(self) -> None:
        known = self.free is not None or bool(self.out | self.expired)
        assert self.semaphore.delete() == known
        self.free = None
        self.out.clear()
        self.expired.clear()

    @invariant()
    def the_server_has_what_the_model_has(self) -> None:
        assert self.semaphore.free == self.free
        left = self.semaphore.out
        assert {permit for permit, ms in left.items() if ms > 0} == self.out
        assert {permit for permit, ms in left.items() if ms <= 0} == self.expired
        assert [int(message.payload) for message in self.listener.messages()] == self.told
        self.told = []


@pytest.mark.timeout(300)
def test_the_steps_do_what_the_model_says(server: Server, compare: Compare) -> None:
    with Listener(server, CHANNEL) as listener:
        compare(partial(SemaphoreAgainstModel, server, listener), examples=60, steps=30)
