"""The key in which a client says who it is: its renewal also makes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import evaluated

KEY, OTHER = b"holdfast:client:a", b"holdfast:client:b"
ABOUT = b"web-3\n4711\n1795818000000\nbilling\nworker"
SAYS = {
    b"host": b"web-3",
    b"pid": b"4711",
    b"started": b"1795818000000",
    b"label": b"billing\nworker",
}


def renew(server: Server, lease: int, *keys: bytes, about: bytes = ABOUT) -> Any:
    return evaluated(server.inspect, "client/renew", list(keys), lease, *[about] * len(keys))


def test_it_is_made_for_the_lease(server: Server) -> None:
    assert renew(server, 30_000, KEY) == 1
    assert server.inspect.hgetall(KEY) == SAYS
    assert 0 < server.inspect.pttl(KEY) <= 30_000


def test_what_it_says_stays_and_a_longer_lease_is_kept(server: Server) -> None:
    renew(server, 30_000, KEY)
    server.inspect.hset(KEY, "17:myLock", "1795818000000 nightly")
    renew(server, 10_000, KEY, about=b"web-4\n1\n2\nanother")
    assert server.inspect.hgetall(KEY) == SAYS | {b"17:myLock": b"1795818000000 nightly"}
    assert server.inspect.pttl(KEY) > 10_000
    renew(server, 60_000, KEY)
    assert server.inspect.pttl(KEY) > 30_000


def test_a_purpose_that_was_there_first_stays(server: Server) -> None:
    server.inspect.hset(KEY, "17:myLock", "1795818000000 nightly")
    renew(server, 30_000, KEY)
    assert server.inspect.hgetall(KEY) == SAYS | {b"17:myLock": b"1795818000000 nightly"}
    assert 0 < server.inspect.pttl(KEY) <= 30_000


def test_several_are_renewed_at_once(server: Server) -> None:
    assert renew(server, 30_000, KEY, OTHER) == 1
    assert server.inspect.hgetall(KEY) == server.inspect.hgetall(OTHER) == SAYS


@pytest.mark.parametrize("label", [b"", b"\n", "büro\u2028".encode(), b"\xff\x00"])
def test_any_label_is_kept(server: Server, label: bytes) -> None:
    renew(server, 30_000, KEY, about=b"web-3\n4711\n1\n" + label)
    assert server.inspect.hget(KEY, "label") == label


def test_a_key_of_another_type_is_an_error(server: Server) -> None:
    server.inspect.set(KEY, "theirs")
    with pytest.raises(Exception, match="WRONGTYPE"):
        renew(server, 30_000, KEY)
    assert server.inspect.get(KEY) == b"theirs"


def test_what_a_hold_is_for_is_said_for_the_lease(server: Server) -> None:
    said = {b"17:myLock": b"1795818000000 nightly", b"host": b"web-3"}
    words = [word for field in said.items() for word in field]
    assert evaluated(server.inspect, "client/say", [KEY], 30_000, *words) == 1
    assert server.inspect.hgetall(KEY) == said
    assert 0 < server.inspect.pttl(KEY) <= 30_000
