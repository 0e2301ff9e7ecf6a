"""What the fenced lock's own steps do: tokens. All else is the lock's, and tested with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import redis
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.support.servers import Server
from tests.support.state_machines import Compare
from tests.wire.lua.steps import (
    ALICE,
    BOB,
    CAROL,
    CHANNEL,
    COUNTER,
    MINUTE,
    NAME,
    FencedLock,
    Listener,
    Lock,
)
from tests.wire.lua.test_lock_model import LockAgainstModel

CENTURY = 100 * 365 * 24 * 3600 * 1_000_000
"""Microseconds: a counter that the clock will not reach for a while."""

Grant = Callable[[FencedLock], object]
GRANTS: dict[str, Grant] = {
    "acquire": lambda lock: lock.acquire(ALICE, MINUTE, count=2),
    "transfer": lambda lock: lock.transfer(ALICE, BOB, MINUTE),
}
"""Each grants a lock that Alice holds."""


@pytest.fixture
def lock(server: Server) -> FencedLock:
    return FencedLock(server.inspect)


@pytest.fixture
def held(lock: FencedLock) -> FencedLock:
    Lock.acquire(lock, ALICE, MINUTE)
    return lock


def clock(server: Server) -> int:
    seconds, microseconds = server.inspect.time()
    return int(seconds) * 1_000_000 + int(microseconds)


def count(server: Server) -> int:
    """The counter as it is on the server."""
    return int(server.inspect.get(COUNTER) or 0)


def test_the_first_token_is_the_servers_clock(lock: FencedLock, server: Server) -> None:
    before = clock(server)
    lock.acquire(ALICE)
    assert lock.token is not None
    assert before <= lock.token <= clock(server)


def test_the_counter_is_the_last_token_and_never_expires(lock: FencedLock, server: Server) -> None:
    lock.acquire(ALICE)
    assert server.inspect.get(COUNTER) == b"%d" % lock.token
    assert server.inspect.pttl(COUNTER) == -1
    lock.release(ALICE)
    assert server.keys() == {COUNTER}


@pytest.mark.parametrize("grant", GRANTS)
def test_every_grant_mints_a_greater_token(held: FencedLock, server: Server, grant: str) -> None:
    server.inspect.set(COUNTER, clock(server) + CENTURY)
    before = count(server)
    for number in (1, 2, 3):
        GRANTS[grant](held)  # repeated, too
        assert held.token == count(server) == before + number


@pytest.mark.parametrize("grant", GRANTS)
def test_a_lost_counter_starts_above_all_tokens_before(
    held: FencedLock, server: Server, grant: str
) -> None:
    GRANTS[grant](held)
    before = held.token
    assert before is not None
    server.inspect.delete(COUNTER)
    GRANTS[grant](held)
    assert held.token is not None
    assert held.token > before


@pytest.mark.parametrize("grant", GRANTS)
def test_a_counter_that_has_gone_back_is_raised(
    held: FencedLock, server: Server, grant: str
) -> None:
    """After a failover to a replica that lagged, a restored backup, or anew by Redisson."""
    GRANTS[grant](held)
    before = held.token
    assert before is not None
    server.inspect.set(COUNTER, before - 1)
    GRANTS[grant](held)
    assert held.token is not None
    assert held.token > before


def test_redissons_next_token_is_greater(lock: FencedLock, server: Server) -> None:
    lock.acquire(ALICE)
    assert server.inspect.incr(COUNTER) > lock.token


@pytest.mark.parametrize("last", [2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 3])
def test_tokens_are_exact_up_to_the_counters_end(
    lock: FencedLock, server: Server, last: int
) -> None:
    server.inspect.set(COUNTER, last)
    tokens = []
    for holds in (1, 2):
        lock.acquire(ALICE, count=holds)
        tokens.append(lock.token)
    assert tokens == [last + 1, last + 2]


def test_who_is_refused_mints_nothing(held: FencedLock, server: Server) -> None:
    assert held.acquire(BOB) > 0
    assert held.acquire(BOB, count=2) == -3
    assert held.transfer(BOB, CAROL) is None
    assert held.token is None
    assert server.keys() == {NAME}


def test_a_lock_held_without_expiry_is_refused_not_granted(
    lock: FencedLock, server: Server
) -> None:
    server.inspect.hset(NAME, CAROL, 1)
    assert lock.acquire(ALICE) == -1
    assert lock.token is None
    assert server.keys() == {NAME}


@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("value", [b"no number", 2**63 - 1, [b"a", b"list"]], ids=str)
def test_what_is_no_counter_is_an_error_and_nothing_changes(
    held: FencedLock, server: Server, grant: str, value: object
) -> None:
    if isinstance(value, list):
        server.inspect.rpush(COUNTER, *value)
    else:
        server.inspect.set(COUNTER, value)
    before = server.inspect.dump(COUNTER) if server.real else None
    with pytest.raises(redis.ResponseError):
        GRANTS[grant](held)
    assert held.holds == {ALICE: b"1"}
    if server.real:
        assert server.inspect.dump(COUNTER) == before


@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("has_counter", [True, False])
def test_without_memory_a_grant_is_refused_whole(
    private_server: Server, grant: str, has_counter: bool
) -> None:
    lock = FencedLock(private_server.inspect)
    Lock.acquire(lock, ALICE, MINUTE)
    if has_counter:
        private_server.inspect.set(COUNTER, 7)
    private_server.inspect.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        GRANTS[grant](lock)
    assert lock.holds == {ALICE: b"1"}
    assert private_server.inspect.get(COUNTER) == (b"7" if has_counter else None)
    assert lock.release(ALICE) == 1


@pytest.mark.servers("real")
def test_the_commands_of_a_grant(lock: FencedLock, server: Server) -> None:
    assert grant_commands(server, lambda: lock.acquire(ALICE)) == (
        "pttl incr time incrby get hset pexpire"
    )
    assert grant_commands(server, lambda: lock.acquire(BOB)) == "pttl hget"
    assert grant_commands(server, lambda: lock.transfer(ALICE, BOB)) == (
        "hexists incr time incrby get hset hdel pttl pexpire"
    )


def grant_commands(server: Server, run: Callable[[], object]) -> str:
    with server.recording() as recording:
        run()
        return " ".join(sent.name.lower() for sent in recording.scripted)


class FencedLockAgainstModel(LockAgainstModel):
    """The lock's model, and: tokens grow with each grant, whatever happens to keys."""

    def __init__(self, server: Server, listener: Listener) -> None:
        super().__init__(server, listener)
        self.lock = self.fenced = FencedLock(server.inspect)
        self.newest = 0

    @rule(back=st.sampled_from([None, 1, 1_000_000]))
    def lose_the_counter(self, back: int | None) -> None:
        if back is None:
            self.server.inspect.delete(COUNTER)
        else:
            self.server.inspect.set(COUNTER, max(0, self.newest - back))

    @invariant()
    def the_hash_is_the_models(self) -> None:
        expected = {} if self.holder is None else {self.holder: b"%d" % self.count}
        assert self.lock.holds == expected
        assert self.server.keys() - {COUNTER} == ({NAME} if expected else set())

    @invariant()
    def a_new_token_is_greater(self) -> None:
        token, self.fenced.token = self.fenced.token, None
        if token is not None:
            assert token > self.newest
            assert self.server.inspect.get(COUNTER) == b"%d" % token
            self.newest = token


def test_the_steps_do_what_the_model_says(server: Server, compare: Compare) -> None:
    with Listener(server, CHANNEL) as listener:
        compare(partial(FencedLockAgainstModel, server, listener), examples=60)
