"""The steps of the fair lock against a model, over random sequences of calls by several owners.

A step that runs twice stands for a command that was sent again. The model has an owner and a queue
of waiters, each alive or dead; no time passes in it, but the death of a waiter can be moved into
the past.
"""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.fair_steps import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    JAVA,
    NAME,
    PATIENCE,
    QUEUE,
    REDISSONS_QUEUE_TIMEOUT,
    TIMEOUTS,
    FairLock,
    listen,
    word_to,
)
from tests.wire.lua.steps import MINUTE, Listener

ours = st.sampled_from([ALICE, BOB, CAROL, DAVE])
twice = st.booleans()

FREE, LOST = -2, -3


class FairLockAgainstModel(RuleBasedStateMachine):
    """The model: `holder` has `count` holds; of those in `line` the `dead` are passed over."""

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.lock = FairLock(server.inspect)
        self.listener = listener
        self.holder: bytes | None = None
        self.count = 0
        self.line: list[bytes] = []
        self.dead: set[bytes] = set()

    # ---- steps

    @rule(owner=ours, count=st.integers(1, 2), waits=st.booleans(), repeated=twice)
    def acquire(self, owner: bytes, count: int, waits: bool, repeated: bool) -> None:
        for _ in range(1 + repeated):
            queue_timeout = PATIENCE if waits else 0
            reply = self.lock.acquire(owner, MINUTE, count, queue_timeout)
            if self.holder == owner:
                assert reply is None
                self.count = count
            elif count > 1:
                assert reply == LOST
            else:
                self.pass_over_the_dead(but=owner)
                if self.holder is None and self.line[:1] in ([], [owner]):
                    assert reply is None
                    self.holder, self.count, self.line = owner, 1, self.line[1:]
                    self.dead.discard(owner)
                    continue
                assert 1 <= reply <= (PATIENCE // 3 if waits else MINUTE)
                if waits:
                    self.dead.discard(owner)
                    self.line += [] if owner in self.line else [owner]

    @rule(owner=ours, count=st.integers(0, 2), repeated=twice)
    def release(self, owner: bytes, count: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply = self.lock.release(owner, count)
            if self.holder == owner:
                assert reply == (0 if count else 1)
                self.count = count
                if count == 0:
                    self.free()
                continue
            assert reply is None
            if count == 0:
                self.leave(owner)

    @rule(repeated=twice)
    def force_release(self, repeated: bool) -> None:
        for _ in range(1 + repeated):
            assert self.lock.force_release() == int(self.holder is not None)
            if self.holder is not None:
                self.free()

    # ---- what others do, and what happens behind our back

    @rule()
    def redissons_waiter_comes(self) -> None:
        if JAVA not in self.line:
            self.lock.stand(JAVA, REDISSONS_QUEUE_TIMEOUT)
            self.line.append(JAVA)

    @rule()
    def redissons_waiter_leaves(self) -> None:
        """It takes its wait off the times of those behind it: who lives there still does."""
        if JAVA not in self.line:
            return
        behind = self.line[self.line.index(JAVA) + 1 :]
        self.server.inspect.lrem(QUEUE, 0, JAVA)
        self.server.inspect.zrem(TIMEOUTS, JAVA)
        for waiter in behind:
            self.server.inspect.zincrby(TIMEOUTS, -REDISSONS_QUEUE_TIMEOUT, waiter)
        self.line.remove(JAVA)
        self.dead.discard(JAVA)

    @rule(owner=st.sampled_from([ALICE, BOB, CAROL, DAVE, JAVA]))
    def die(self, owner: bytes) -> None:
        if owner in self.line:
            self.server.inspect.zadd(TIMEOUTS, {owner: 1000})
            self.dead.add(owner)

    @rule()
    def expire(self) -> None:
        self.server.inspect.delete(NAME)
        self.holder, self.count = None, 0

    # ---- what always holds

    @invariant()
    def the_lock_is_the_models(self) -> None:
        expected = {} if self.holder is None else {self.holder: b"%d" % self.count}
        assert self.lock.holds == expected
        assert (self.lock.left == FREE) == (self.holder is None)

    @invariant()
    def the_line_is_the_models(self) -> None:
        assert self.lock.line == self.line
        for waiter in self.line:
            lives = self.lock.alive(waiter) > 0
            assert lives == (waiter not in self.dead), waiter

    @invariant()
    def nothing_else_was_published(self) -> None:
        assert self.listener.messages() == []

    # ---- inside

    def pass_over_the_dead(self, but: bytes = b"") -> None:
        while self.line and self.line[0] in self.dead and self.line[0] != but:
            self.dead.discard(self.line.pop(0))

    def free(self) -> None:
        self.holder, self.count = None, 0
        self.pass_over_the_dead()
        self.expect_message_to_first()

    def leave(self, owner: bytes) -> None:
        if self.holder is None:
            self.pass_over_the_dead(but=owner)
        was_first = self.line[:1] == [owner]
        self.line = [waiter for waiter in self.line if waiter != owner]
        self.dead.discard(owner)
        if was_first and self.holder is None:
            self.pass_over_the_dead()
            self.expect_message_to_first()

    def expect_message_to_first(self) -> None:
        expected = word_to(self.line[0]) if self.line else []
        assert self.listener.messages() == expected


@pytest.mark.timeout(300)
def test_the_steps_do_what_the_model_says(server: Server, compare: Compare) -> None:
    with listen(server) as listener:
        compare(partial(FairLockAgainstModel, server, listener), examples=150)
