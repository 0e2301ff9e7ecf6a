"""What says whether a state has changed: its revision, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, evaluated

NAME, STATE = b"myStep", b"holdfast_state:{myStep}"
SOON = 30_000


def changed(server: Server, known: int) -> Any:
    return evaluated(server.inspect, "revision/changed", [NAME, STATE], known)


def set_state(server: Server, **fields: Any) -> None:
    server.inspect.hset(STATE, mapping=fields)


def now(server: Server) -> int:
    seconds, microseconds = server.inspect.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


def test_another_revision_is_a_change(server: Server) -> None:
    set_state(server, revision=7)
    assert [changed(server, known) for known in (0, 6, 8, -7)] == [None] * 4
    assert changed(server, 7) == -1


def test_without_a_state_the_revision_is_zero(server: Server) -> None:
    assert changed(server, 0) == -1
    assert changed(server, 7) is None


def test_an_exact_revision_is_compared_up_to_what_lua_can(server: Server) -> None:
    set_state(server, revision=2**53 - 1)
    assert changed(server, 2**53 - 1) == -1
    assert changed(server, 2**53 - 2) is None


def test_a_state_with_an_owner_lasts_as_long_as_its_lock(server: Server) -> None:
    set_state(server, revision=7, owner=ALICE)
    assert changed(server, 7) is None
    assert changed(server, -7) == -1
    server.inspect.hset(NAME, BOB, 1)
    assert changed(server, 7) is None
    server.inspect.hset(NAME, ALICE, 1)
    assert changed(server, 7) == -1
    server.inspect.pexpire(NAME, SOON)
    assert 0 < changed(server, 7) <= SOON
    assert changed(server, -7) is None


def test_a_state_with_an_end_lasts_until_then(server: Server) -> None:
    set_state(server, revision=7, until=now(server) + SOON)
    assert 0 < changed(server, 7) <= SOON
    set_state(server, until=now(server) - 1)
    assert changed(server, 7) is None
    assert changed(server, -7) == -1


@pytest.mark.parametrize("first", ["lease", "end"])
def test_of_two_ends_the_earlier_one_counts(server: Server, first: str) -> None:
    lease, end = (SOON, 2 * SOON) if first == "lease" else (2 * SOON, SOON)
    server.inspect.hset(NAME, ALICE, 1)
    server.inspect.pexpire(NAME, lease)
    set_state(server, revision=7, owner=ALICE, until=now(server) + end)
    assert 0 < changed(server, 7) <= SOON


def test_it_reads_only(server: Server) -> None:
    set_state(server, revision=7, owner=ALICE)
    before = server.inspect.hgetall(STATE)
    changed(server, 7)
    assert server.keys() == {STATE}
    assert server.inspect.hgetall(STATE) == before
