"""The steps of the barrier alone: which party passes, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import MINUTE, Listener, about, evaluated

NAME = b"myBarrier"
TIMEOUTS = b"{myBarrier}:timeout"
PERMITS_CHANNEL = b"redisson_sc:{myBarrier}"
STATE = b"holdfast_state:{myBarrier}"
CHANNEL = b"holdfast_changed:{myBarrier}"
KEYS = (NAME, TIMEOUTS, STATE)
ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))
WAITS, PASSED, BROKEN, GONE, OTHER_KIND = 1, 2, -2, -3, -4
#: Of a barrier's semaphore.
MOST = 2**31 - 1
HOUR = 60 * MINUTE


class Steps:
    """The steps on one server."""

    def __init__(self, server: Server) -> None:
        self.redis = server.inspect

    def now(self) -> int:
        seconds, micros = self.redis.time()
        return int(seconds * 1000 + micros // 1000)

    def take(self, permit: bytes, ms: int = MINUTE) -> bytes:
        """A permit, for so long."""
        keys = [NAME, TIMEOUTS, PERMITS_CHANNEL]
        evaluated(self.redis, "permit_semaphore/acquire", keys, permit, ms, "publish", MOST)
        return permit

    def die(self, permit: bytes) -> None:
        """Let the lease of a permit be over."""
        assert self.redis.zadd(TIMEOUTS, {permit: self.now() - 1}, xx=True, ch=True) == 1

    def arrive(self, permit: bytes, parties: int = 2, waits: int = 1) -> list[int]:
        keys = [NAME, TIMEOUTS, STATE, CHANNEL]
        args = (permit, parties, waits, b"who " + permit, "publish")
        reply: list[int] = evaluated(self.redis, "barrier/arrive", keys, *args)
        return reply

    def release(self, *permits: bytes, publish: str = "publish") -> int | None:
        keys = [NAME, TIMEOUTS, PERMITS_CHANNEL, STATE, CHANNEL]
        args = (b"".join(permits), publish)
        reply: int | None = evaluated(self.redis, "barrier/release", keys, *args)
        return reply

    def renew(self, *permits: bytes, lease: int = MINUTE) -> list[int]:
        """The places of those that are gone."""
        keys = KEYS * len(permits)
        reply: list[int] = evaluated(self.redis, "barrier/renew", keys, lease, *permits)
        return reply

    @property
    def ends(self) -> list[int]:
        """The time to live of each key."""
        return [self.redis.pttl(key) for key in KEYS]

    @property
    def free(self) -> int:
        return int(self.redis.get(NAME))

    def whole(self, word: str) -> Any:
        keys = [TIMEOUTS, STATE, CHANNEL]
        if word == "look":
            return evaluated(self.redis, "barrier/look", keys[:2])
        return evaluated(self.redis, f"barrier/{word}", keys, "publish")


@pytest.fixture
def steps(server: Server) -> Steps:
    return Steps(server)


def test_a_repeat_of_each_step_has_the_same_reply(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    first = steps.arrive(one)
    assert first[:2] == [WAITS, 0]
    assert steps.arrive(one) == first
    assert [steps.arrive(two) for _ in range(2)] == [[PASSED, 1, 0]] * 2
    assert [steps.arrive(one) for _ in range(2)] == [[PASSED, 0, 0]] * 2
    assert [steps.release(one) for _ in range(2)] == [1, None]
    assert [steps.release(two) for _ in range(2)] == [1, None]
    assert not steps.redis.exists(STATE)
    assert steps.free == MOST


def test_a_permit_that_is_not_out_is_no_party(steps: Steps) -> None:
    assert steps.arrive(ONE) == [GONE, 0, 0]
    assert not steps.redis.exists(STATE)


def test_a_late_copy_of_an_arrival_changes_nothing(steps: Steps) -> None:
    one = steps.take(ONE)
    steps.arrive(one)
    steps.release(one)
    steps.whole("reset")
    assert steps.arrive(one) == [GONE, 0, 0]
    assert not steps.redis.exists(STATE)


def test_the_next_round_begins_before_the_last_party_has_left(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    assert steps.arrive(three)[:2] == [WAITS, 0]
    assert steps.arrive(one) == [PASSED, 0, 0]
    assert (steps.release(one), steps.release(two)) == (1, 1)
    assert steps.whole("look") == [1, 0]


def test_a_dead_party_breaks_it_for_who_comes_next(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    steps.arrive(one)
    steps.redis.zrem(TIMEOUTS, one)
    assert steps.whole("look") == [0, 1]
    assert steps.arrive(two) == [BROKEN, 0, 0]
    assert not {b"party:" + one, b"who:" + one} & set(steps.redis.hkeys(STATE))


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


def test_a_party_that_waits_no_longer_breaks_it_or_has_passed(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    assert [steps.arrive(one, waits=0) for _ in range(2)] == [[PASSED, 0, 0]] * 2
    assert steps.arrive(three)[:2] == [WAITS, 0]
    assert [steps.arrive(three, waits=0) for _ in range(2)] == [[BROKEN, 0, 0]] * 2
    assert steps.whole("look") == [0, 1]


def test_what_a_dead_leader_has_left_is_no_party(steps: Steps) -> None:
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
    steps.redis.connection_pool.disconnect()  # fakeredis has closed the connection
    assert steps.release(ONE) == 1


@pytest.mark.parametrize("permits", [1, 5, MOST // 2 - 1])
def test_a_name_with_other_permits_is_another_kinds(steps: Steps, permits: int) -> None:
    steps.redis.set(NAME, permits)
    assert steps.arrive(steps.take(ONE)) == [OTHER_KIND, permits, 0]
    assert (steps.free, steps.redis.exists(STATE)) == (permits - 1, 0)


def test_some_permits_that_were_lost_do_not_make_it_another_kinds(steps: Steps) -> None:
    steps.redis.set(NAME, MOST // 2 + 1)
    assert steps.arrive(steps.take(ONE))[:2] == [WAITS, 0]


# ---- the release of a party


def test_a_party_that_leaves_while_it_waits_breaks_it(steps: Steps, server: Server) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    first = steps.arrive(one, 3)
    steps.arrive(two, 3)
    with Listener(server, CHANNEL) as waiting:
        assert steps.release(two) == 1
        [told] = waiting.messages()
    revision = int(steps.redis.hget(STATE, "revision"))
    assert revision > first[2]
    assert told.payload == b"%d" % revision
    assert steps.arrive(one, 3) == [BROKEN, 0, 0]
    assert not {b"party:" + two, b"who:" + two} & set(steps.redis.hkeys(STATE))


def test_a_late_party_of_the_last_round_leaves_the_next_one_alone(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    steps.release(two)
    steps.arrive(three)
    steps.redis.zrem(TIMEOUTS, one)
    assert steps.release(one) is None
    assert steps.whole("look") == [1, 0]


def test_a_late_party_of_the_last_round_that_finds_a_dead_one_breaks_it(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    steps.arrive(two)
    steps.arrive(three)
    steps.die(three)
    assert steps.release(one) == 1
    assert steps.whole("look") == [0, 1]


def test_several_parties_leave_at_once(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    for party in (one, two, three):
        steps.arrive(party, 4)
    assert steps.release(one, two) == 1
    assert steps.redis.zrange(TIMEOUTS, 0, -1) == [three]
    assert steps.free == MOST - 1
    assert steps.arrive(three, 4) == [BROKEN, 0, 0]


def test_a_permit_that_was_no_party_yet_breaks_nothing(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    steps.arrive(one)
    assert steps.release(two) == 1
    assert steps.whole("look") == [1, 0]
    assert steps.arrive(three) == [PASSED, 1, 0]


def test_a_party_that_died_while_it_waited_breaks_it_and_gives_its_permit_back(
    steps: Steps,
) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    steps.arrive(one, 3)
    steps.arrive(two, 3)
    steps.die(two)
    assert steps.release(two) is None
    assert steps.free == MOST - 1
    assert steps.arrive(one, 3) == [BROKEN, 0, 0]


def test_waiters_for_permits_get_a_message_with_the_free_ones(steps: Steps, server: Server) -> None:
    steps.take(ONE)
    with Listener(server, PERMITS_CHANNEL) as waiter:
        assert steps.release(ONE) == 1
        assert [message.payload for message in waiter.messages()] == [b"%d" % MOST]


def test_a_release_leaves_a_leader_alone(steps: Steps) -> None:
    one = steps.take(ONE)
    steps.redis.hset(STATE, mapping={"owner": "who:1", "value": "n", "revision": 1})
    assert steps.release(one) == 1
    assert steps.redis.hget(STATE, "owner") == b"who:1"


def test_of_a_state_of_another_program_only_the_permit_is_given_back(steps: Steps) -> None:
    one = steps.take(ONE)
    steps.redis.set(STATE, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        steps.arrive(one)
    steps.redis.connection_pool.disconnect()  # fakeredis has closed the connection
    assert steps.release(one) == 1
    assert (steps.free, steps.redis.get(STATE), steps.redis.pttl(STATE)) == (MOST, b"text", -1)


def test_a_key_that_is_no_counter_is_an_error_and_nothing_changes(steps: Steps) -> None:
    one = steps.take(ONE)
    steps.arrive(one)
    steps.redis.set(NAME, "text")
    before = [steps.redis.dump(key) for key in (TIMEOUTS, STATE)]
    for step in (steps.arrive, steps.release):
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            step(one)
        steps.redis.connection_pool.disconnect()
    assert [steps.redis.dump(key) for key in (TIMEOUTS, STATE)] == before


def test_the_semaphore_of_another_kind_gets_its_permit_back_and_no_end(steps: Steps) -> None:
    steps.redis.set(NAME, 5)
    assert steps.arrive(steps.take(ONE)) == [OTHER_KIND, 5, 0]
    assert steps.renew(ONE) == []
    assert steps.release(ONE) == 1
    assert (steps.free, steps.redis.pttl(NAME)) == (5, -1)


@pytest.fixture
def full(private_server: Server) -> Steps:
    """Two parties that wait for a third one, on a server that has just run out of memory."""
    steps = Steps(private_server)
    for permit in (ONE, TWO):
        steps.arrive(steps.take(permit), 3)
    private_server.inspect.config_set("maxmemory", 1)
    return steps


def test_without_memory_a_party_leaves_and_breaks_it(full: Steps) -> None:
    assert full.release(ONE) == 1
    assert full.arrive(TWO, 3) == [BROKEN, 0, 0]


def test_without_memory_parties_live_on(full: Steps) -> None:
    assert full.renew(ONE, TWO, lease=5 * MINUTE) == []
    assert full.redis.zscore(TIMEOUTS, ONE) - full.now() == about(5 * MINUTE)


# ---- every key has an end


def test_the_keys_of_parties_that_wait_stay_for_an_hour_after_their_leases(steps: Steps) -> None:
    steps.arrive(steps.take(ONE, 5 * MINUTE), 3)
    assert steps.ends == [about(HOUR + 5 * MINUTE)] * 3
    steps.arrive(steps.take(TWO), 3)
    assert steps.ends == [about(HOUR + 5 * MINUTE)] * 3  # of the longer lease


@pytest.mark.parametrize("left", [-1, MINUTE])
def test_what_stays_of_earlier_ones_has_the_same_end(steps: Steps, left: int) -> None:
    """Of a leader that has died, or a barrier of an earlier version, which sets no end."""
    one = steps.take(ONE)
    steps.redis.hset(STATE, mapping={"owner": "a:1", "value": "n", "revision": 1})
    for key in KEYS if left > 0 else ():
        steps.redis.pexpire(key, left)
    steps.arrive(one)
    assert steps.ends == [about(HOUR + MINUTE)] * 3


def test_parties_that_are_renewed_keep_their_keys(steps: Steps) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    steps.arrive(one, 3)
    steps.arrive(two, 3)
    assert steps.renew(one, two, lease=5 * MINUTE) == []
    assert steps.ends == [about(HOUR + 5 * MINUTE)] * 3
    lives = [steps.redis.zscore(TIMEOUTS, party) - steps.now() for party in (one, two)]
    assert lives == [about(5 * MINUTE)] * 2


def test_a_longer_life_is_not_shortened_by_a_renewal(steps: Steps) -> None:
    one = steps.take(ONE, 5 * MINUTE)
    steps.arrive(one)
    assert steps.renew(one) == []
    assert steps.redis.zscore(TIMEOUTS, one) - steps.now() == about(5 * MINUTE)
    assert steps.ends == [about(HOUR + 5 * MINUTE)] * 3


def test_a_renewal_says_which_parties_are_gone(steps: Steps) -> None:
    one, two, three = steps.take(ONE), steps.take(TWO), steps.take(THREE)
    for party in (one, two, three):
        steps.arrive(party, 4)
    steps.die(one)
    steps.redis.zrem(TIMEOUTS, three)
    assert steps.renew(one, two, three, lease=5 * MINUTE) == [1, 3]
    assert steps.redis.zscore(TIMEOUTS, two) - steps.now() == about(5 * MINUTE)
    assert steps.redis.zscore(TIMEOUTS, one) < steps.now()


def test_the_last_party_that_leaves_leaves_no_state_and_permits_for_an_hour(
    steps: Steps,
) -> None:
    one, two = steps.take(ONE), steps.take(TWO)
    for party in (one, two):
        steps.arrive(party)
    for party in (one, two):
        steps.release(party)
    assert not steps.redis.exists(STATE, TIMEOUTS)
    assert steps.redis.pttl(NAME) == about(HOUR)


def test_a_barrier_that_stays_broken_is_forgotten_after_an_hour(steps: Steps) -> None:
    steps.whole("abort")
    assert steps.redis.pttl(STATE) == about(HOUR)
    one = steps.take(ONE)
    assert steps.arrive(one) == [BROKEN, 0, 0]
    steps.release(one)
    assert steps.whole("look") == [0, 1]
    assert [steps.redis.pttl(key) for key in (STATE, NAME)] == [about(HOUR)] * 2


def test_a_permit_that_never_was_a_party_leaves_an_end(steps: Steps) -> None:
    steps.release(steps.take(ONE))
    assert steps.redis.pttl(NAME) == about(HOUR)
