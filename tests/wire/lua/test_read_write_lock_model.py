"""The steps against a model of the read-write lock, over random calls by several owners.

A step that is to run twice stands for a command that was sent again. What the model predicts is
compared after each call: the reply, the hash, the timeout keys, the messages, and each TTL to a few
milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.read_write_lock import CHANNEL, ReadWriteLock
from tests.wire.lua.steps import ALICE, BOB, CAROL, NAME, Listener, Message
from tests.wire.lua.test_lock_model import FREE, LOST, OVER, Span, now

owners = st.sampled_from([ALICE, BOB, CAROL])
leases = st.sampled_from([60_000, 100_000, 400_000, 3_600_000])
modes = st.sampled_from(["read", "write"])
twice = st.booleans()

APART = 1000
"""Milliseconds between two ends of which it is sure which comes first."""


def later(one: Span, other: Span) -> Span:
    return max(one, other, key=lambda span: span.first)


class ReadWriteLockAgainstModel(RuleBasedStateMachine):
    """The model: `writer` has `count` holds, `reads` are the holds of readers, until `ends`.

    The lock lives until `end`. A reader that has holds but no end is over; whether it still has a
    field is open.
    """

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__()
        server.flush()
        self.server = server
        self.lock = ReadWriteLock(server.inspect)
        self.listener = listener
        self.forget()

    def forget(self) -> None:
        """The lock is free."""
        self.writer: bytes | None = None
        self.count = 0
        self.reads: dict[bytes, int] = {}
        self.ends: dict[bytes, Span] = {}
        self.end = OVER

    @property
    def held(self) -> bool:
        return self.writer is not None or bool(self.ends)

    @initialize(grants=st.lists(st.tuples(modes, leases), max_size=4))
    def begin(self, grants: list[tuple[str, int]]) -> None:
        """Chance alone seldom lets one owner write and read."""
        for mode, lease in grants:
            if mode == "write":
                self.write(ALICE, lease, False)
            else:
                self.read(ALICE, lease, False)

    # ---- reading

    @rule(owner=owners, lease=leases, repeated=twice)
    def read(self, owner: bytes, lease: int, repeated: bool) -> None:
        holds = self.reads[owner] + 1 if owner in self.ends else 1
        for _ in range(1 + repeated):
            run = partial(self.lock.read_acquire, owner, lease, holds)
            reply, span, asked = self.timed(run, lease)
            if self.writer not in (None, owner):
                self.check_left(reply, asked)
                continue
            assert reply is None
            own = later(span, self.ends[owner]) if holds > 1 else span
            self.end = later(self.end, own) if self.held else own
            self.reads[owner], self.ends[owner] = holds, own

    @rule(owner=owners, lease=leases)
    def read_again_after_a_loss(self, owner: bytes, lease: int) -> None:
        if owner not in self.ends:
            assert self.lock.read_acquire(owner, lease, 2) == LOST

    @rule(owner=owners, everything=twice, repeated=twice)
    def stop_reading(self, owner: bytes, everything: bool, repeated: bool) -> None:
        left = 0 if everything else max(0, self.reads.get(owner, 1) - 1)
        was_over = owner in self.reads and owner not in self.ends
        for _ in range(1 + repeated):
            reply = self.lock.read_release(owner, left)
            if was_over:
                assert reply in (None, 0)
                if left == 0 or reply is None:
                    self.reads.pop(owner, None)
            elif owner not in self.reads:
                assert reply is None
            elif left > 0:
                assert reply == 0
                self.reads[owner] = left
            else:
                self.gone(owner, reply)

    def gone(self, owner: bytes, reply: Any) -> None:
        """A living reader has given its last hold back."""
        del self.reads[owner]
        own = self.ends.pop(owner)
        if self.held:
            assert reply == 0
            if self.writer is None and own.first >= self.end.first:
                self.set_end(self.longest(), b"0")
        else:
            assert reply == 1
            self.freed(b"0")

    @rule(owner=owners, lease=leases, repeated=twice)
    def renew(self, owner: bytes, lease: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            run = partial(self.lock.read_renew, owner, lease)
            reply, span, _ = self.timed(run, lease)
            assert (reply > 0) == (owner in self.ends)
            if reply:
                self.ends[owner] = later(self.ends[owner], span)
                self.end = later(self.end, span)

    @rule(owner=owners, lease=leases, repeated=twice)
    def extend_reading(self, owner: bytes, lease: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            run = partial(self.lock.read_extend, owner, lease)
            reply, span, _ = self.timed(run, lease)
            assert reply == int(owner in self.ends)
            if reply:
                self.ends[owner] = span
                end = later(self.end, span) if self.writer else self.longest()
                self.set_end(end, b"0")

    # ---- writing

    @rule(owner=owners, lease=leases, repeated=twice)
    def write(self, owner: bytes, lease: int, repeated: bool) -> None:
        holds = self.count + 1 if self.writer == owner else 1
        for _ in range(1 + repeated):
            run = partial(self.lock.write_acquire, owner, lease, holds)
            reply, span, asked = self.timed(run, lease)
            if self.held and self.writer != owner:
                self.check_left(reply, asked)
                continue
            assert reply is None
            self.end = later(self.end, span) if self.held else span
            self.writer, self.count = owner, holds

    @rule(owner=owners, everything=twice, repeated=twice)
    def stop_writing(self, owner: bytes, everything: bool, repeated: bool) -> None:
        left = 0 if everything or self.writer != owner else self.count - 1
        for _ in range(1 + repeated):
            reply = self.lock.write_release(owner, left)
            if self.writer != owner:
                assert reply is None
            elif left > 0:
                assert reply == 0
                self.count = left
            elif owner in self.ends:
                assert reply == 0
                self.writer, self.end = None, self.ends[owner]
                assert self.listener.messages() == [Message("message", CHANNEL, b"1")]
            else:
                assert reply == 1
                self.freed(b"1")

    @rule(owner=owners, lease=leases, repeated=twice)
    def extend_writing(self, owner: bytes, lease: int, repeated: bool) -> None:
        for _ in range(1 + repeated):
            run = partial(self.lock.write_extend, owner, lease)
            reply, span, _ = self.timed(run, lease)
            assert reply == int(self.writer == owner)
            if reply:
                self.set_end(later(span, self.ends.get(owner, OVER)), b"1")

    # ---- both

    @rule(mode=modes, repeated=twice)
    def force_release(self, mode: str, repeated: bool) -> None:
        for _ in range(1 + repeated):
            forced = self.held and (mode == "write") == (self.writer is not None)
            assert self.lock.force_release(mode) == int(forced)
            if forced:
                self.freed(b"0" if mode == "read" else b"1")

    @rule(owner=owners)
    def ask(self, owner: bytes) -> None:
        assert self.lock.read_holds(owner) == (self.reads[owner] if owner in self.ends else 0)
        assert self.lock.locked("write") == int(self.writer is not None)
        if self.ends or not self.reads:
            assert self.lock.locked("read") == int(bool(self.ends))

    # ---- what time does

    @rule(owner=owners)
    def a_readers_time_is_over(self, owner: bytes) -> None:
        """It is never the last one to end."""
        if owner in self.ends and self.ends[owner].first < self.end.first - APART:
            for n in range(1, self.reads[owner] + 1):
                self.server.inspect.delete(self.lock.timeout(owner, n))
            del self.ends[owner]

    @rule()
    def expire(self) -> None:
        self.server.flush()
        self.forget()

    # ---- what always holds

    @invariant()
    def the_hash_is_the_models(self) -> None:
        expected = {owner: b"%d" % self.reads[owner] for owner in self.ends}
        if self.writer is not None:
            expected[self.writer + b":write"] = b"%d" % self.count
        if expected:
            expected[b"mode"] = b"read" if self.writer is None else b"write"
        over = self.reads.keys() - self.ends.keys()
        there = {field: value for field, value in self.lock.holds.items() if field not in over}
        assert there == expected

    @invariant()
    def each_read_hold_has_its_key(self) -> None:
        expected = {self.lock.timeout(o, n + 1) for o in self.ends for n in range(self.reads[o])}
        assert self.lock.timeouts == expected
        assert self.server.keys() == expected | ({NAME} if self.held else set())

    @invariant()
    def the_leases_are_the_models(self) -> None:
        asked = now()
        self.check_left(self.lock.left, asked)
        for owner, end in self.ends.items():
            for n in range(1, self.reads[owner] + 1):
                asked = now()
                left = self.lock.read_left(owner, n)
                assert end.holds(left, asked), (owner, n, left, end)

    @invariant()
    def nothing_else_was_published(self) -> None:
        assert self.listener.messages() == []

    # ---- inside

    def longest(self) -> Span:
        return max(self.ends.values(), key=lambda span: span.first)

    def set_end(self, end: Span, payload: bytes) -> None:
        """Note the new end of the lease; an earlier end sends a message to the waiters."""
        before, self.end = self.end, end
        messages = self.listener.messages()
        if abs(before.first - end.first) > APART:
            shorter = before.first > end.first
            assert messages == [Message("message", CHANNEL, payload)] * shorter

    def freed(self, payload: bytes) -> None:
        assert self.listener.messages() == [Message("message", CHANNEL, payload)]
        self.forget()

    def timed(self, run: Callable[[], Any], lease: int) -> tuple[Any, Span, float]:
        asked = now()
        reply = run()
        return reply, Span(asked + lease, now() + lease), asked

    def check_left(self, left: int, asked: float) -> None:
        if self.held:
            assert self.end.holds(left, asked), (left, self.end, asked)
        else:
            assert left == FREE


@pytest.mark.timeout(300)
def test_the_steps_do_what_the_model_says(
    server: Server, compare: Compare, rw_listener: Listener
) -> None:
    compare(partial(ReadWriteLockAgainstModel, server, rw_listener), examples=150)
