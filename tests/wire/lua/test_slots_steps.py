"""The steps of slots alone."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import evaluated

NAME = b"mySlots"
TIMEOUTS = b"{mySlots}:timeout"
SLOTS = b"holdfast_slots:{mySlots}"
ONE, TWO = (bytes([number]) * 16 for number in (1, 2))


def take(server: Server, permit: bytes, number: int = 2, values: str = "") -> Any:
    keys = [NAME, TIMEOUTS, SLOTS]
    return evaluated(server.inspect, "slots/take", keys, permit, number, values, "me")


@pytest.fixture
def out(server: Server) -> None:
    """Two permits that are out, of two."""
    seconds, _ = server.inspect.time()
    server.inspect.set(NAME, 0)
    server.inspect.zadd(TIMEOUTS, {ONE: seconds * 1000 + 60_000, TWO: seconds * 1000 + 60_000})


@pytest.mark.usefixtures("out")
def test_a_repeat_has_the_same_slot_and_token(server: Server) -> None:
    first = take(server, ONE)
    second = take(server, TWO)
    assert (first[0], second[0]) == (0, 1)
    assert take(server, ONE) == first
    assert take(server, TWO) == second


@pytest.mark.usefixtures("out")
def test_a_repeat_keeps_its_slot_though_a_lower_one_is_free(server: Server) -> None:
    take(server, ONE)
    second = take(server, TWO)
    server.inspect.zrem(TIMEOUTS, ONE)
    server.inspect.incr(NAME)
    assert take(server, TWO) == second


@pytest.mark.usefixtures("out")
def test_a_refusal_changes_nothing(server: Server) -> None:
    assert take(server, b"x" * 16) == [-3, 0]
    assert take(server, ONE, 3) == [-1, 2]
    assert take(server, b"", 2) == [-4, 0]
    assert not server.inspect.exists(SLOTS)
    take(server, ONE, values="a\nb")
    assert take(server, TWO) == [-2, b"a\nb"]
    assert server.inspect.hkeys(SLOTS) == [b"token:a", b"slot:a", b"values"]


@pytest.mark.usefixtures("out")
def test_a_key_of_another_type_is_an_error(server: Server) -> None:
    server.inspect.set(SLOTS, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        take(server, ONE)


@pytest.mark.usefixtures("out")
def test_a_resize_forgets_what_is_gone_and_not_in_use(server: Server) -> None:
    take(server, ONE, values="a\nb")
    take(server, TWO, values="a\nb")
    server.inspect.zrem(TIMEOUTS, TWO)
    for number, values, words in ((1, "c", {b"a"}), (3, "", {b"a"})):
        evaluated(server.inspect, "slots/resize", [TIMEOUTS, SLOTS], number, values)
        fields = {b"%s:%s" % (kind, word) for kind in (b"slot", b"token") for word in words}
        assert set(server.inspect.hkeys(SLOTS)) == {b"values"} | fields


@pytest.mark.usefixtures("out")
def test_a_resize_keeps_what_stays(server: Server) -> None:
    take(server, ONE)
    first = take(server, TWO)
    server.inspect.delete(TIMEOUTS)
    evaluated(server.inspect, "slots/resize", [TIMEOUTS, SLOTS], 2, "")
    assert server.inspect.hget(SLOTS, "token:1") == first[1]


@pytest.mark.usefixtures("out")
def test_a_token_that_another_program_has_removed_or_written_is_no_reply(server: Server) -> None:
    place, token = take(server, ONE)
    server.inspect.hdel(SLOTS, "token:0")
    again, later = take(server, ONE)
    assert (again, int(later) > int(token)) == (place, True)
    server.inspect.hset(SLOTS, "token:0", "Ada")
    with pytest.raises(redis.ResponseError, match="not an integer"):
        take(server, ONE)
