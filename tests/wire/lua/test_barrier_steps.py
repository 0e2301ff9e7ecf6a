"""The steps of the barrier alone: which party passes, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import MINUTE, evaluated

NAME = b"myBarrier"
TIMEOUTS = b"{myBarrier}:timeout"
STATE = b"holdfast_state:{myBarrier}"
CHANNEL = b"holdfast_changed:{myBarrier}"
ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))
WAITS, PASSED, BROKEN, GONE = 1, 2, -2, -3


class Steps:
    """The steps on one server, for permits that are out."""

    def __init__(self, server: Server) -> None:
        self.redis = server.inspect

    def take(self, permit: bytes, ms: int = MINUTE) -> bytes:
        """A permit, for so long."""
        seconds, micros = self.redis.time()
        self.redis.zadd(TIMEOUTS, {permit: seconds * 1000 + micros // 1000 + ms})
        return permit

    def arrive(self, permit: bytes, parties: int = 2, waits: int = 1) -> list[int]:
        keys = [NAME, TIMEOUTS, STATE, CHANNEL]
        args = (permit, parties, waits, "publish")
        reply: list[int] = evaluated(self.redis, "barrier/arrive", keys, *args)
        return reply

    def leave(self, permit: bytes) -> list[int]:
        keys = [NAME, TIMEOUTS, STATE, CHANNEL]
        reply: list[int] = evaluated(self.redis, "barrier/leave", keys, permit, MINUTE, "publish")
        return reply

    def whole(self, word: str) -> Any:
        keys = [TIMEOUTS, STATE, CHANNEL]
        if word == "look":
            return evaluated(self.redis, "barrier/look", keys[:2])
        return evaluated(self.redis, f"barrier/{word}", keys, "publish")


@pytest.fixture
def steps(server: Server) -> Steps:
    return Steps(server)


def test_the_state_that_a_dead_leader_has_left_does_not_expire_under_a_barrier(
    steps: Steps,
) -> None:
    steps.redis.hset(STATE, mapping={"owner": "a:1", "value": "n", "revision": 1})
    steps.redis.pexpire(STATE, MINUTE)
    steps.arrive(steps.take(ONE))
    assert steps.redis.pttl(STATE) == -1


def test_a_repeat_of_each_step_has_the_same_reply(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    first = steps.arrive(one)
    assert first[:2] == [WAITS, 0]
    assert steps.arrive(one) == first
    assert [steps.arrive(two) for _ in range(2)] == [[PASSED, 1, 0]] * 2
    assert [steps.arrive(one) for _ in range(2)] == [[PASSED, 0, 0]] * 2
    assert steps.leave(one) == [PASSED, 0]
    assert steps.leave(one) == [GONE, 0]
    assert steps.leave(two) == [PASSED, 1]
    assert not steps.redis.exists(STATE)


def test_a_permit_that_is_not_out_is_no_party(steps: Steps) -> None:
    assert steps.arrive(ONE) == [GONE, 0, 0]
    assert not steps.redis.exists(STATE)


def test_a_late_copy_of_an_arrival_changes_nothing(steps: Steps) -> None:
    one = steps.take(ONE)
    steps.arrive(one)
    steps.leave(one)
    steps.whole("reset")
    steps.redis.zrem(TIMEOUTS, one)
    assert steps.arrive(one) == [GONE, 0, 0]
    assert not steps.redis.exists(STATE)


def test_the_next_round_begins_before_the_last_party_has_left(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    assert steps.arrive(three)[:2] == [WAITS, 0]
    assert steps.arrive(one) == [PASSED, 0, 0]
    assert (steps.leave(one), steps.leave(two)) == ([PASSED, 0], [PASSED, 1])
    assert steps.whole("look") == [1, 0]


def test_a_dead_party_breaks_it_for_who_comes_next(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    steps.arrive(one)
    steps.redis.zrem(TIMEOUTS, one)
    assert steps.whole("look") == [0, 1]
    assert steps.arrive(two) == [BROKEN, 0, 0]
    assert b"party:" + one not in steps.redis.hkeys(STATE)


def test_a_shorter_lease_is_announced(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO, MINUTE // 2)
    first = steps.arrive(one, 3)
    second = steps.arrive(two, 3)
    assert second[2] > first[2]
    assert steps.arrive(one, 3)[2] == second[2]


def test_a_longer_one_is_not(steps: Steps) -> None:
    one, two = steps.take(ONE, MINUTE // 2), steps.take(TWO)
    assert steps.arrive(one, 3)[2] == steps.arrive(two, 3)[2]


def test_a_broken_barrier_is_mended_and_removed_by_a_reset(steps: Steps) -> None:
    steps.whole("abort")
    assert steps.arrive(steps.take(ONE)) == [BROKEN, 0, 0]
    steps.whole("reset")
    assert not steps.redis.exists(STATE)
    assert steps.whole("look") == [0, 0]


def test_a_party_that_leaves_while_it_waits_breaks_it(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    first = steps.arrive(one, 3)
    steps.arrive(two, 3)
    assert steps.leave(two) == [BROKEN, 0]
    assert int(steps.redis.hget(STATE, "revision")) > first[2]
    assert steps.arrive(one, 3) == [BROKEN, 0, 0]


def test_a_party_that_waits_no_longer_breaks_it_or_has_passed(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    assert [steps.arrive(one, waits=0) for _ in range(2)] == [[PASSED, 0, 0]] * 2
    assert steps.arrive(three)[:2] == [WAITS, 0]
    assert [steps.arrive(three, waits=0) for _ in range(2)] == [[BROKEN, 0, 0]] * 2
    assert steps.whole("look") == [0, 1]


def test_a_late_party_of_the_last_round_leaves_the_next_one_alone(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    steps.leave(two)
    steps.arrive(three)
    steps.redis.zrem(TIMEOUTS, one)
    assert steps.leave(one) == [PASSED, 0]
    assert steps.whole("look") == [1, 0]


def test_what_a_dead_leader_has_left_is_no_party(steps: Steps) -> None:
    steps.redis.set(NAME, 2)
    steps.redis.hset(STATE, mapping={"owner": "who:1", "value": "n", "revision": 1})
    assert steps.arrive(steps.take(ONE))[:2] == [WAITS, 0]
    assert steps.arrive(steps.take(TWO)) == [PASSED, 1, 0]


def test_a_reset_leaves_a_leader_alone(steps: Steps) -> None:
    steps.redis.hset(STATE, mapping={"owner": "who:1", "value": "n", "revision": 1})
    steps.whole("reset")
    assert steps.redis.hget(STATE, "owner") == b"who:1"


@pytest.mark.parametrize("said", [b"", b"w", b"pAda", b"x1", b"w1000", b"p-1", b"p1.5"])
def test_a_party_that_another_program_has_written_is_an_error(steps: Steps, said: bytes) -> None:
    steps.redis.hset(STATE, b"party:" + steps.take(ONE), said)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        steps.arrive(ONE)
    assert steps.redis.hget(STATE, b"party:" + ONE) == said
    assert steps.leave(ONE) == [BROKEN, 0]
