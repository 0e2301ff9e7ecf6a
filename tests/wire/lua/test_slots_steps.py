"""The steps of slots alone."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.permit_steps import MINUTE, about, dump
from tests.wire.lua.steps import evaluated

NAME = b"mySlots"
TIMEOUTS = b"{mySlots}:timeout"
CHANNEL = b"redisson_sc:{mySlots}"
SLOTS = b"holdfast_slots:{mySlots}"
ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))


def acquire(
    server: Server, permit: bytes, number: int = 2, values: str = "", lease: int = MINUTE
) -> Any:
    keys = [NAME, TIMEOUTS, CHANNEL, SLOTS]
    argv = (permit, lease, "me:1", number, values, " 7 host", "publish")
    return evaluated(server.inspect, "slots/acquire", keys, *argv)


def release(server: Server, permit: bytes) -> Any:
    keys = [NAME, TIMEOUTS, CHANNEL]
    return evaluated(server.inspect, "permit_semaphore/release", keys, permit, "publish")


def left(server: Server, permit: bytes) -> float:
    """The ms until it expires."""
    seconds, micros = server.inspect.time()
    ends = server.inspect.zscore(TIMEOUTS, permit)
    assert ends is not None
    return float(ends - seconds * 1000 - micros / 1000)


def test_a_grant_is_a_permit_with_the_lowest_slot(server: Server) -> None:
    place, _token, free, ms = acquire(server, ONE)
    assert (place, free, ms) == (0, 1, about(MINUTE))
    assert (server.inspect.get(NAME), server.inspect.zcard(TIMEOUTS)) == (b"1", 1)
    assert server.inspect.hget(SLOTS, "slot:0") == ONE + b"me:1 7 host"
    assert acquire(server, TWO)[0] == 1
    release(server, ONE)
    assert acquire(server, THREE)[0] == 0


def test_none_is_free_until_the_next_one_expires(server: Server) -> None:
    acquire(server, ONE, 1)
    before = dump(server)
    assert acquire(server, TWO, 1) == about(MINUTE)
    assert dump(server) == before


def test_what_has_expired_is_given_again(server: Server) -> None:
    acquire(server, ONE, 1)
    server.inspect.zadd(TIMEOUTS, {ONE: 1})
    assert acquire(server, TWO, 1)[:1] == [0]
    assert server.inspect.zrange(TIMEOUTS, 0, -1) == [TWO]


def test_a_repeat_has_the_same_slot_and_token_and_a_new_lease(server: Server) -> None:
    first = acquire(server, ONE, lease=MINUTE // 2)
    second = acquire(server, TWO)
    assert (first[0], second[0]) == (0, 1)
    assert acquire(server, ONE)[:3] == [*first[:2], 0]
    assert acquire(server, TWO)[:3] == second[:3]
    assert (server.inspect.get(NAME), left(server, ONE)) == (b"0", about(MINUTE))


def test_a_repeat_keeps_its_slot_though_a_lower_one_is_free(server: Server) -> None:
    acquire(server, ONE)
    second = acquire(server, TWO)
    release(server, ONE)
    assert acquire(server, TWO)[:2] == second[:2]


def test_an_objection_changes_nothing(server: Server) -> None:
    acquire(server, ONE, values="a\nb")
    before = dump(server)
    assert acquire(server, TWO, 3) == [-1, 2]
    assert acquire(server, TWO) == [-2, b"a\nb"]
    assert acquire(server, b"", 3) == [-1, 2]
    assert acquire(server, b"", values="a\nb") == [-4, 0]
    assert dump(server) == before


def test_a_comparison_sets_nothing_up(server: Server) -> None:
    assert acquire(server, b"") == [-4, 0]
    assert server.keys() == set()


def test_a_repeat_after_a_resize_is_an_objection(server: Server) -> None:
    """Its client gives the permit back."""
    acquire(server, ONE)
    evaluated(server.inspect, "slots/resize", [TIMEOUTS, SLOTS], 2, "a\nb")
    assert acquire(server, ONE) == [-2, b"a\nb"]


@pytest.mark.parametrize("key", [NAME, SLOTS])
def test_a_key_of_another_type_is_an_error(server: Server, key: bytes) -> None:
    server.inspect.set(key, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        acquire(server, ONE)
    assert server.keys() == {key}


@pytest.mark.parametrize("known", [True, False])
def test_out_of_memory_nothing_is_taken(private_server: Server, known: bool) -> None:
    if known:
        acquire(private_server, ONE)
    before = dump(private_server)
    private_server.inspect.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        acquire(private_server, TWO)
    assert dump(private_server) == before


def test_a_resize_forgets_what_is_gone_and_not_in_use(server: Server) -> None:
    acquire(server, ONE, values="a\nb")
    acquire(server, TWO, values="a\nb")
    server.inspect.zrem(TIMEOUTS, TWO)
    for number, values, words in ((1, "c", {b"a"}), (3, "", {b"a"})):
        evaluated(server.inspect, "slots/resize", [TIMEOUTS, SLOTS], number, values)
        fields = {b"%s:%s" % (kind, word) for kind in (b"slot", b"token") for word in words}
        assert set(server.inspect.hkeys(SLOTS)) == {b"values"} | fields


def test_a_resize_keeps_what_stays(server: Server) -> None:
    acquire(server, ONE)
    second = acquire(server, TWO)
    server.inspect.delete(TIMEOUTS)
    evaluated(server.inspect, "slots/resize", [TIMEOUTS, SLOTS], 2, "")
    assert server.inspect.hget(SLOTS, "token:1") == second[1]


def test_a_token_that_another_program_has_removed_or_written_is_no_reply(server: Server) -> None:
    place, token, *_ = acquire(server, ONE)
    server.inspect.hdel(SLOTS, "token:0")
    again, later, *_ = acquire(server, ONE)
    assert (again, int(later) > int(token)) == (place, True)
    for index, permit in enumerate((ONE, TWO)):
        server.inspect.hset(SLOTS, f"token:{index}", "Ada")
        before = dump(server)
        with pytest.raises(redis.ResponseError, match="WRONGTYPE a token that no client wrote"):
            acquire(server, permit)
        assert dump(server) == before
