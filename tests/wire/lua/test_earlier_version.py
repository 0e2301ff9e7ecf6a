"""Two versions at once: each reads what the other has written, or refuses it.

The earlier one is that of tests/wire/data/holdfast-9d0ccc8d: its scripts, and what its once kept.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from holdfast._locks.results import MARK, Result, decoded, encoded, not_kept
from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, MINUTE, ROOT, evaluated
from tests.wire.lua.steps import CHANNEL as LOCK_CHANNEL
from tests.wire.lua.test_barrier_steps import (
    BROKEN,
    CHANNEL,
    KEYS,
    NAME,
    ONE,
    PASSED,
    STATE,
    TIMEOUTS,
    TWO,
    WAITS,
    Steps,
)

DATA = ROOT / "tests/wire/data/holdfast-9d0ccc8d"
REST = 3_600_000


@cache
def data(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def earlier(server: Server, step: str, keys: list[bytes], *argv: bytes | int | str) -> Any:
    """The reply to a step of the earlier version."""
    return server.inspect.eval("\n".join(data("scripts")[step]), len(keys), *keys, *argv)


# ---- the leader

LOCK, LEADER = b"myStep", b"holdfast_state:{myStep}"
CHANGED = b"holdfast_changed:{myStep}"
SET = (ALICE, 7, 1, b"sthere", REST, "publish")


@pytest.fixture
def led(server: Server) -> Server:
    """A server on which Alice has the lock of a leader."""
    server.inspect.hset(LOCK, ALICE, 1)
    server.inspect.pexpire(LOCK, MINUTE)
    return server


def test_a_leader_of_the_earlier_version_is_read_and_releases_it(led: Server) -> None:
    assert earlier(led, "leader/set", [LOCK, LEADER, CHANGED], *SET) == 1
    found = evaluated(led.inspect, "leader/current", [LOCK, LEADER], REST)
    assert found[2:] == [ALICE, b"7", b"sthere"]
    keys = [LOCK, LOCK_CHANNEL, LEADER, CHANGED]
    assert evaluated(led.inspect, "leader/release", keys, ALICE, "publish") == 1
    assert led.keys() == set()


def test_a_leader_of_this_version_is_read_and_withdrawn_by_the_earlier_one(led: Server) -> None:
    assert evaluated(led.inspect, "leader/set", [LOCK, LEADER, CHANGED], *SET) == 1
    found = earlier(led, "leader/current", [LOCK, LEADER], REST)
    assert found[2:] == [ALICE, b"7", b"sthere"]
    assert earlier(led, "leader/withdraw", [LEADER, CHANGED], ALICE, "publish") == 1
    assert led.keys() == {LOCK}


def test_who_is_elected_by_this_version_is_read_by_the_earlier_one(server: Server) -> None:
    keys = [LOCK, b"redisson_lock_token:{myStep}", LEADER, CHANGED]
    asked = (ALICE, MINUTE, 1, b"sthere", REST, "publish")
    token = evaluated(server.inspect, "leader/acquire", keys, *asked)
    assert earlier(server, "leader/current", [LOCK, LEADER], REST)[2:] == [ALICE, token, b"sthere"]
    assert earlier(server, "leader/set", [LOCK, LEADER, CHANGED], *SET) == 1


def test_after_a_release_the_earlier_version_reads_no_leader(led: Server) -> None:
    evaluated(led.inspect, "leader/set", [LOCK, LEADER, CHANGED], *SET)
    keys = [LOCK, LOCK_CHANNEL, LEADER, CHANGED]
    evaluated(led.inspect, "leader/release", keys, ALICE, "publish")
    assert earlier(led, "leader/current", [LOCK, LEADER], REST) == [0]


# ---- the barrier


class Earlier(Steps):
    """The parties of the earlier version, which give their permits back by a step apart."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._server = server

    def arrive(self, permit: bytes, parties: int = 2, waits: int = 1) -> list[int]:
        keys = [NAME, TIMEOUTS, STATE, CHANNEL]
        args = (permit, parties, waits, "publish")
        reply: list[int] = earlier(self._server, "barrier/arrive", keys, *args)
        return reply

    def leave(self, permit: bytes) -> list[int]:
        keys = [NAME, TIMEOUTS, STATE, CHANNEL]
        reply: list[int] = earlier(self._server, "barrier/leave", keys, permit, REST, "publish")
        self.redis.zrem(TIMEOUTS, permit)
        self.redis.incr(NAME)
        return reply

    def whole(self, word: str) -> Any:
        keys = [TIMEOUTS, STATE, CHANNEL]
        if word == "look":
            return earlier(self._server, "barrier/look", keys[:2])
        return earlier(self._server, f"barrier/{word}", keys, "publish")


@pytest.fixture
def before(server: Server) -> Earlier:
    return Earlier(server)


@pytest.fixture
def steps(server: Server) -> Steps:
    return Steps(server)


@pytest.mark.parametrize("first", ["earlier", "this"])
def test_parties_of_both_versions_go_on_together(before: Earlier, steps: Steps, first: str) -> None:
    one, two = (before, steps) if first == "earlier" else (steps, before)
    assert one.arrive(one.take(ONE))[:2] == [WAITS, 0]
    assert two.whole("look") == [1, 0]
    assert two.arrive(two.take(TWO)) == [PASSED, 1, 0]
    assert one.arrive(ONE) == [PASSED, 0, 0]
    theirs, ours = (ONE, TWO) if first == "earlier" else (TWO, ONE)
    assert before.leave(theirs)[0] == PASSED
    assert steps.release(ours) == 1
    assert not steps.redis.exists(STATE)
    assert [ms for ms in steps.ends if ms == -1] == []


def test_a_party_of_this_version_that_leaves_breaks_it_for_the_earlier_one(
    before: Earlier, steps: Steps
) -> None:
    before.arrive(before.take(ONE), 3)
    steps.arrive(steps.take(TWO), 3)
    assert steps.release(TWO) == 1
    assert before.arrive(ONE, 3) == [BROKEN, 0, 0]


def test_a_party_of_the_earlier_version_that_leaves_breaks_it_for_this_one(
    before: Earlier, steps: Steps
) -> None:
    steps.arrive(steps.take(ONE), 3)
    before.arrive(before.take(TWO), 3)
    assert before.leave(TWO) == [BROKEN, 0]
    assert steps.arrive(ONE, 3) == [BROKEN, 0, 0]


def test_what_the_earlier_version_left_without_an_end_gets_one(
    before: Earlier, steps: Steps
) -> None:
    before.arrive(before.take(ONE), 3)
    assert [steps.redis.pttl(key) for key in KEYS] == [-1] * 3
    steps.arrive(steps.take(TWO), 3)
    assert min(steps.ends) > REST


def test_a_barrier_that_the_earlier_version_broke_is_broken_and_mended(
    before: Earlier, steps: Steps
) -> None:
    before.whole("abort")
    assert steps.redis.pttl(STATE) == -1
    assert steps.arrive(steps.take(ONE)) == [BROKEN, 0, 0]
    steps.whole("reset")
    steps.release(ONE)
    assert before.arrive(before.take(TWO), 1) == [PASSED, 0, 0]


def test_a_barrier_that_this_version_broke_is_broken_for_the_earlier_one(
    before: Earlier, steps: Steps
) -> None:
    steps.whole("abort")
    assert before.arrive(before.take(ONE)) == [BROKEN, 0, 0]
    before.whole("reset")
    assert steps.whole("look") == [0, 0]


# ---- slots


def test_slots_of_both_versions_are_given_once(server: Server, steps: Steps) -> None:
    hash_ = b"holdfast_slots:{myBarrier}"
    server.inspect.set(NAME, 1)
    server.inspect.zadd(TIMEOUTS, {ONE: steps.now() + MINUTE})
    keys = [NAME, TIMEOUTS, hash_]
    ours = [NAME, TIMEOUTS, b"redisson_sc:{myBarrier}", hash_]
    assert earlier(server, "slots/take", keys, ONE, 2, b"a\nb", b"me 1 host")[0] == 0
    asked = (MINUTE, b"me:2", 2, b"a\nb", b" 2 host", b"publish")
    assert evaluated(server.inspect, "slots/acquire", ours, TWO, *asked)[0] == 1
    taken = evaluated(server.inspect, "slots/taken", keys[1:])
    theirs = earlier(server, "slots/taken", keys[1:])
    assert sorted(taken[::3]) == sorted(theirs[::3]) == [b"a", b"b"]


# ---- once


class Upper:
    """A codec, of bytes or of text."""

    def __init__(self, kind: str) -> None:
        self._text = kind == "text"

    def dumps(self, result: str) -> bytes | str:
        return result.upper() if self._text else result.upper().encode()

    def loads(self, kept: bytes | str) -> str:
        return (kept if isinstance(kept, str) else kept.decode()).lower()


@pytest.mark.parametrize("row", data("once")["results"], ids=lambda row: row["kept"])
def test_what_the_earlier_version_kept_is_read_and_kept_in_the_same_way(row: Any) -> None:
    codec = Upper(row["codec"]) if row["codec"] else None
    result = row["bytes"].encode() if "bytes" in row else row["result"]
    assert decoded(row["kept"].encode(), codec) == Result(result)
    assert encoded(result, codec) == row["kept"].encode()


@pytest.mark.parametrize("result", [Decimal("1.5"), [b"one"], {"$a": Decimal(1)}], ids=repr)
def test_what_the_earlier_version_would_misread_has_a_kind_that_it_refuses(result: Any) -> None:
    kinds = data("once")["kinds"].encode()
    assert encoded(result, None)[:1] not in {kinds[i : i + 1] for i in range(len(kinds))}
    assert not_kept("no JSON")[:1] == MARK
    assert MARK not in {kinds[i : i + 1] for i in range(len(kinds))}


def test_the_earlier_version_keeps_nothing_over_the_lock_of_this_one(led: Server) -> None:
    result = b"holdfast_result:{myStep}"
    assert earlier(led, "once/store", [LOCK, result], b"other:1", b"jnull", MINUTE) == 0
    assert earlier(led, "once/store", [LOCK, result], ALICE, b"j1", MINUTE) == 1
    assert evaluated(led.inspect, "once/store", [LOCK, result], ALICE, b"j2", MINUTE, 1) == 1
