"""The key in which a client says who it is: its renewal also makes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import evaluated

KEY, OTHER = b"holdfast:client:a", b"holdfast:client:b"
ABOUT = b"web-3\n4711\n1795818000000\n30000\nbilling\nworker"
SAYS = {
    b"host": b"web-3",
    b"pid": b"4711",
    b"started": b"1795818000000",
    b"lease": b"30000",
    b"label": b"billing\nworker",
}


def renew(server: Server, lease: int, *keys: bytes, about: bytes = ABOUT) -> Any:
    return evaluated(server.inspect, "client/renew", list(keys), lease, *[about] * len(keys))


def test_it_is_made_for_the_lease(server: Server) -> None:
    assert renew(server, 30_000, KEY) == 2
    assert renew(server, 30_000, KEY) == 1
    assert server.inspect.hgetall(KEY) == SAYS
    assert 0 < server.inspect.pttl(KEY) <= 30_000


def test_what_it_says_stays_and_a_longer_lease_is_kept(server: Server) -> None:
    renew(server, 30_000, KEY)
    server.inspect.hset(KEY, "17:myLock", "1795818000000 nightly")
    renew(server, 10_000, KEY, about=b"web-4\n1\n2\n3\nanother")
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
    assert renew(server, 30_000, KEY, OTHER) == 2
    assert server.inspect.hgetall(KEY) == server.inspect.hgetall(OTHER) == SAYS


@pytest.mark.parametrize("label", [b"", b"\n", "büro\u2028".encode(), b"\xff\x00"])
def test_any_label_is_kept(server: Server, label: bytes) -> None:
    renew(server, 30_000, KEY, about=b"web-3\n4711\n1\n2\n" + label)
    assert server.inspect.hget(KEY, "label") == label


def test_a_key_of_another_type_is_an_error(server: Server) -> None:
    server.inspect.set(KEY, "theirs")
    with pytest.raises(Exception, match="WRONGTYPE"):
        renew(server, 30_000, KEY)
    assert server.inspect.get(KEY) == b"theirs"


def said(server: Server, field: bytes) -> tuple[int, bytes]:
    """The time and the purpose of a note."""
    since, _, purpose = server.inspect.hget(KEY, field).partition(b" ")
    return int(since), purpose


def clock(server: Server) -> int:
    """The server's time, in ms since 1970."""
    seconds, micros = server.inspect.time()
    return int(seconds * 1000 + micros // 1000)


def test_what_a_hold_is_for_is_said_of_now_and_for_the_lease(server: Server) -> None:
    before = clock(server)
    notes = [b"17:myLock", b"nightly run", b"18:other", b""]
    assert evaluated(server.inspect, "client/say", [KEY], 30_000, ABOUT, b"", *notes) == 1
    since, purpose = said(server, b"17:myLock")
    assert before <= since <= clock(server)
    assert (purpose, said(server, b"18:other")) == (b"nightly run", (since, b""))
    assert server.inspect.hmget(KEY, *SAYS) == list(SAYS.values())
    assert 29_000 < server.inspect.pttl(KEY) <= 30_000
    assert evaluated(server.inspect, "client/say", [KEY], 10_000, b"", b"", *notes) == 1
    assert server.inspect.pttl(KEY) > 20_000
    assert evaluated(server.inspect, "client/say", [KEY], 3_600_000, b"", b"1", *notes) == 1
    assert server.inspect.pttl(KEY) < 3_600_000
    assert evaluated(server.inspect, "client/say", [KEY], 3_600_000, b"", b"", *notes) == 1
    assert server.inspect.pttl(KEY) >= 3_599_000
    server.inspect.delete(KEY)
    assert evaluated(server.inspect, "client/say", [KEY], 30_000, b"", b"1", *notes) == 1
    assert server.inspect.pttl(KEY) >= 29_000


def note(server: Server, within: object, *notes: object, lease: int = 30_000) -> None:
    assert evaluated(server.inspect, "client/note", [KEY], lease, within, *notes) == 1


def test_a_hold_is_noted_with_its_age(server: Server) -> None:
    """By the server's clock; one that has a time keeps that, where it is asked to."""
    now = clock(server)
    note(server, "", b"17:myLock", 5000, b"set", b"nightly run", b"18:other", 0, b"set", b"")
    since, purpose = said(server, b"17:myLock")
    assert (0 <= since - (now - 5000) < 1000, purpose) == (True, b"nightly run")
    note(server, "", b"17:myLock", 0, b"keep", b"by hand", b"19:third", 0, b"keep", b"")
    assert said(server, b"17:myLock") == (since, b"by hand")
    assert said(server, b"19:third")[0] >= now
    note(server, "", b"17:myLock", 0, b"set", b"by hand", lease=3_600_000)
    assert said(server, b"17:myLock")[0] >= now
    assert server.inspect.pttl(KEY) > 3_500_000


def test_the_key_says_whether_every_hold_is_noted(server: Server) -> None:
    note(server, 2000)
    assert server.inspect.hget(KEY, "within") == b"2000"
    note(server, "")
    assert server.inspect.hget(KEY, "within") == b"2000"
    note(server, 0)
    assert server.inspect.hgetall(KEY) == {}


def test_thousands_of_holds_are_noted_at_once(server: Server) -> None:
    notes = [word for i in range(3001) for word in (b"%d:myLock" % i, 7, b"set", b"")]
    note(server, "", *notes)
    assert server.inspect.hlen(KEY) == 3001
