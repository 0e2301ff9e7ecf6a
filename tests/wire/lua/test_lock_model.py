"""The steps against a model of the lock, over random sequences of calls by several owners.

A step that is to run twice stands for a command that was sent again. What the model predicts is
compared after each call: the reply, the hash, the messages, and the TTL to a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.steps import ALICE, BOB, CAROL, CHANNEL, NAME, Listener, Lock, Message

owners = st.sampled_from([ALICE, BOB, CAROL])
leases = st.sampled_from([60_000, 100_000, 400_000, 3_600_000])
counts = st.integers(1, 3)
twice = st.booleans()

SLACK = 25
"""Milliseconds that the server's clock and ours may be apart in one step."""

FREE, NEVER, LOST = -2, -1, -3


def now() -> float:
    return time.monotonic() * 1000


class Span(NamedTuple):
    """When the key expires: our clock gives bounds, as a command runs somewhere in between."""

    first: float
    last: float

    def holds(self, left: int, asked: float) -> bool:
        return self.first - now() - SLACK <= left <= self.last - asked + SLACK


OVER = Span(0, 0)


class LockAgainstModel(RuleBasedStateMachine):
    """The model: `holder` has `count` holds until `end`; `end` is None without an expiry."""

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.lock = Lock(server.inspect)
        self.listener = listener
        self.forget()

    def forget(self) -> None:
        """The lock is free."""
        self.holder: bytes | None = None
        self.count = 0
        self.end: Span | None = OVER

    # ---- steps

    @rule(owner=owners, lease=leases, count=counts, repeated=twice)
    def acquire(self, owner: bytes, lease: int, count: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply, span, asked = self.timed(lambda: self.lock.acquire(owner, lease, count), lease)
            if self.holder == owner or (self.holder is None and count == 1):
                assert reply is None
                if self.end is None or span.first > self.end.first:
                    self.end = span
                self.holder, self.count = owner, count
            elif count > 1:
                assert reply == LOST
            else:
                self.check_left(reply, asked)

    @rule(owner=owners, count=st.integers(0, 2), repeated=twice)
    def release(self, owner: bytes, count: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply = self.lock.release(owner, count)
            if self.holder != owner:
                assert reply is None
            elif count > 0:
                assert reply == 0
                self.count = count
            else:
                assert reply == 1
                self.freed()

    @rule(owner=owners, to=owners, lease=leases, repeated=twice)
    def transfer(self, owner: bytes, to: bytes, lease: int, repeated: bool) -> None:
        if owner == to:
            return
        for _ in range(1 + repeated):
            reply, span, _ = self.timed(lambda: self.lock.transfer(owner, to, lease), lease)
            if self.holder == owner:
                self.count = 1
            if self.holder in (owner, to):
                assert reply == 1
                self.holder = to
                self.set_end(span)
            else:
                assert reply is None

    @rule(owner=owners, lease=leases, repeated=twice)
    def renew(self, owner: bytes, lease: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply, span, _ = self.timed(lambda: self.lock.renew(owner, lease), lease)
            assert reply == int(self.holder == owner)
            if reply and (self.end is None or span.first > self.end.first):
                self.end = span

    @rule(owner=owners, lease=leases, repeated=twice)
    def extend(self, owner: bytes, lease: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            reply, span, _ = self.timed(lambda: self.lock.extend(owner, lease), lease)
            assert reply == int(self.holder == owner)
            if reply:
                self.set_end(span)

    @rule(repeated=twice)
    def force_release(self, repeated: bool) -> None:
        for _ in range(1 + repeated):
            assert self.lock.force_release() == int(self.holder is not None)
            if self.holder is not None:
                self.freed()

    @rule()
    def ttl(self) -> None:
        asked = now()
        self.check_left(self.lock.ttl(), asked)

    # ---- what happens to a key behind our back

    @rule()
    def expire(self) -> None:
        self.server.inspect.delete(NAME)
        self.forget()

    @rule()
    def persist(self) -> None:
        if self.holder is not None:
            self.server.inspect.persist(NAME)
            self.end = None

    # ---- what always holds

    @invariant()
    def the_hash_is_the_models(self) -> None:
        expected = {} if self.holder is None else {self.holder: b"%d" % self.count}
        assert self.lock.holds == expected
        assert self.server.keys() == ({NAME} if expected else set())

    @invariant()
    def the_lease_is_the_models(self) -> None:
        asked = now()
        self.check_left(self.lock.left, asked)

    @invariant()
    def nothing_else_was_published(self) -> None:
        assert self.listener.messages() == []

    # ---- inside

    def freed(self) -> None:
        assert self.listener.messages() == [Message("message", CHANNEL, b"0")]
        self.forget()

    def set_end(self, span: Span) -> None:
        """Note the new end of the lease; an earlier end sends a message to the waiters."""
        if self.end is None or span.last < self.end.first:
            assert self.listener.messages() == [Message("message", CHANNEL, b"0")]
        self.end = span

    def timed(self, run: Callable[[], Any], lease: int) -> tuple[Any, Span, float]:
        asked = now()
        reply = run()
        return reply, Span(asked + lease, now() + lease), asked

    def check_left(self, left: int, asked: float) -> None:
        if self.holder is None:
            assert left == FREE
        elif self.end is None:
            assert left == NEVER
        else:
            assert self.end.holds(left, asked), (left, self.end, asked)


def test_the_steps_do_what_the_model_says(
    server: Server, compare: Compare, listener: Listener
) -> None:
    compare(partial(LockAgainstModel, server, listener), examples=150)
