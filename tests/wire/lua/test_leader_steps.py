"""What the steps of a leader do, and which rights they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import redis

import holdfast
from tests.support.servers import Server
from tests.wire.lua.permit_steps import dump
from tests.wire.lua.steps import ALICE, BOB, ROOT, Listener, evaluated
from tests.wire.lua.steps import CHANNEL as LOCK_CHANNEL

NAME, STATE, CHANNEL = b"myStep", b"holdfast_state:{myStep}", b"holdfast_changed:{myStep}"
VALUE = b"s10.0.0.7:80"
KEEP = 1_000_000
TOKENS = b"redisson_lock_token:{myStep}"


@pytest.fixture
def changes(server: Server) -> Iterator[Listener]:
    with Listener(server, CHANNEL) as listener:
        yield listener


def heard(changes: Listener) -> list[bytes]:
    return [message.payload for message in changes.messages()]


def hold(server: Server, owner: bytes = ALICE) -> None:
    server.inspect.delete(NAME)
    server.inspect.hset(NAME, owner, 1)
    server.inspect.pexpire(NAME, 30_000)


def elect(server: Server, owner: bytes = ALICE, value: bytes = VALUE, lease: int = 30_000) -> Any:
    keys = [NAME, TOKENS, STATE, CHANNEL]
    argv = (owner, lease, 1, value, KEEP, "publish")
    return evaluated(server.inspect, "leader/acquire", keys, *argv)


def set_value(
    server: Server, change: int = 1, value: bytes = VALUE, owner: bytes = ALICE, token: int = 7
) -> Any:
    keys = [NAME, STATE, CHANNEL]
    values = (owner, token, change, value, KEEP)
    return evaluated(server.inspect, "leader/set", keys, *values, "publish")


def release(server: Server, owner: bytes = ALICE) -> Any:
    keys = [NAME, LOCK_CHANNEL, STATE, CHANNEL]
    return evaluated(server.inspect, "leader/release", keys, owner, "publish")


def current(server: Server) -> Any:
    return evaluated(server.inspect, "leader/current", [NAME, STATE], KEEP)


def changed(server: Server, known: int) -> Any:
    return evaluated(server.inspect, "revision/changed", [NAME, STATE], known)


def revision(server: Server) -> int:
    return int(server.inspect.hget(STATE, "revision") or 0)


def test_who_is_elected_is_announced(server: Server, changes: Listener) -> None:
    token = elect(server)
    assert token == server.inspect.get(TOKENS)
    assert server.inspect.hgetall(NAME) == {ALICE: b"1"}
    seen, left, *rest = current(server)
    assert (seen, rest) == (revision(server), [ALICE, token, VALUE])
    assert 0 < left <= 30_000
    assert heard(changes) == [str(seen).encode()]
    assert KEEP - 60_000 < server.inspect.pttl(STATE) <= KEEP


def test_another_candidate_learns_how_long_the_leader_has(server: Server) -> None:
    elect(server)
    before = dump(server)
    assert 0 < elect(server, BOB, b"sother") <= 30_000
    assert dump(server) == before


def test_a_repeated_election_has_the_same_token_a_new_lease_and_no_message(
    server: Server, changes: Listener
) -> None:
    token = elect(server, lease=10_000)
    set_value(server, value=b"snext", token=int(token))
    assert elect(server) == token
    assert server.inspect.pttl(NAME) > 20_000
    assert current(server)[2:] == [ALICE, token, b"snext"]
    assert len(heard(changes)) == 2


def test_a_leader_that_the_state_names_but_no_lock_is_elected_anew(server: Server) -> None:
    token = elect(server)
    server.inspect.delete(NAME)
    assert int(elect(server)) > int(token)
    assert current(server)[3] == server.inspect.get(TOKENS)


def test_the_first_value_after_the_election_is_newer(server: Server) -> None:
    token = int(elect(server))
    assert set_value(server, 1, b"snext", token=token) == 1
    assert current(server)[4] == b"snext"


@pytest.mark.parametrize("key", [NAME, STATE, TOKENS])
def test_no_leader_is_elected_over_a_key_of_another_program(server: Server, key: bytes) -> None:
    server.inspect.sadd(key, "text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        elect(server)
    assert server.keys() == {key}


def test_out_of_memory_no_leader_is_elected(private_server: Server) -> None:
    private_server.inspect.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        elect(private_server)
    assert private_server.keys() == set()


def test_an_owner_of_the_lock_is_announced(server: Server, changes: Listener) -> None:
    hold(server)
    assert set_value(server) == 1
    seen, left, *rest = current(server)
    assert (seen, rest) == (revision(server), [ALICE, b"7", VALUE])
    assert 0 < left <= 30_000
    assert heard(changes) == [str(seen).encode()]


def test_the_state_of_a_leader_that_died_expires(server: Server) -> None:
    hold(server)
    set_value(server)
    assert KEEP - 60_000 < server.inspect.pttl(STATE) <= KEEP


@pytest.mark.parametrize("left", [-1, KEEP // 2 - 1])
def test_the_state_of_a_leader_stays_while_it_is_looked_at(server: Server, left: int) -> None:
    """One that an earlier version has left without an expiry gets one."""
    hold(server)
    set_value(server)
    if left < 0:
        server.inspect.persist(STATE)
    else:
        server.inspect.pexpire(STATE, left)
    current(server)
    assert server.inspect.pttl(STATE) > KEEP // 2


def test_a_look_writes_nothing_that_is_not_needed(server: Server) -> None:
    hold(server)
    set_value(server)
    server.inspect.pexpire(STATE, KEEP - 60_000)
    current(server)
    assert server.inspect.pttl(STATE) <= KEEP - 60_000
    server.inspect.delete(NAME)  # it does not lead any more
    server.inspect.pexpire(STATE, 5000)
    current(server)
    assert server.inspect.pttl(STATE) <= 5000


def test_no_other_is_announced(server: Server, changes: Listener) -> None:
    hold(server, BOB)
    assert set_value(server) == 0
    assert current(server) == [0]
    assert server.keys() == {NAME}
    assert heard(changes) == []


def test_a_repeat_and_a_late_copy_change_and_announce_nothing(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server, 1)
    set_value(server, 2, b"snew")
    before = server.inspect.hgetall(STATE)
    assert [set_value(server, 2, b"snew"), set_value(server, 1)] == [1, 1]
    assert server.inspect.hgetall(STATE) == before
    assert len(heard(changes)) == 2


def test_the_next_leader_begins_anew(server: Server) -> None:
    hold(server)
    set_value(server, 5)
    last = revision(server)
    hold(server, BOB)
    assert set_value(server, 1, b"n", BOB, 8) == 1
    assert current(server)[2:] == [BOB, b"8", b"n"]
    assert revision(server) > last


def test_a_revision_does_not_come_again_after_the_state_was_removed(server: Server) -> None:
    hold(server)
    set_value(server)
    last = revision(server)
    server.inspect.delete(STATE)
    set_value(server)
    assert revision(server) > last


def test_a_clock_that_goes_back_does_not_set_a_revision_back(server: Server) -> None:
    hold(server)
    server.inspect.hset(STATE, "revision", 2**53 - 9)
    set_value(server)
    assert revision(server) == 2**53 - 8


def test_a_release_frees_the_lock_and_withdraws_the_leader(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server)
    with Listener(server, LOCK_CHANNEL) as candidate:
        assert release(server) == 2
        assert [message.payload for message in candidate.messages()] == [b"0"]
    assert current(server) == [0]
    assert server.keys() == set()
    assert heard(changes)[1:] == [b"0"]


def test_another_owners_release_changes_and_announces_nothing(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server)
    before = server.inspect.hgetall(STATE)
    assert release(server, BOB) is None
    assert (server.inspect.hgetall(STATE), server.inspect.hgetall(NAME)) == (before, {ALICE: b"1"})
    assert len(heard(changes)) == 1


def test_a_repeat_of_a_release_finds_nothing(server: Server, changes: Listener) -> None:
    hold(server)
    set_value(server)
    assert release(server) == 1
    assert release(server) is None
    assert server.keys() == set()
    assert len(heard(changes)) == 2


def test_a_candidate_that_was_not_announced_releases_the_lock_alone(
    server: Server, changes: Listener
) -> None:
    hold(server)
    assert release(server) == 1
    assert server.keys() == set()
    assert heard(changes) == []


def test_a_late_copy_of_a_release_leaves_the_next_leader_alone(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server)
    hold(server, BOB)
    set_value(server, 1, b"n", BOB, 8)
    assert release(server) is None
    assert current(server)[2:] == [BOB, b"8", b"n"]
    assert server.inspect.hgetall(NAME) == {BOB: b"1"}
    assert len(heard(changes)) == 2


def test_a_leader_whose_lock_is_gone_is_withdrawn_by_its_release(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server)
    server.inspect.delete(NAME)
    assert release(server) is None
    assert current(server) == [0]
    assert server.keys() == set()
    assert heard(changes)[1:] == [b"0"]


def test_a_late_copy_of_a_value_announces_nothing_after_the_release(
    server: Server, changes: Listener
) -> None:
    hold(server)
    release(server)
    assert set_value(server) == 0
    assert server.keys() == set()
    assert heard(changes) == []


def test_a_release_takes_no_memory(private_server: Server) -> None:
    hold(private_server)
    set_value(private_server)
    private_server.inspect.config_set("maxmemory", 1)
    assert release(private_server) == 1
    assert private_server.keys() == set()


def test_the_release_leaves_a_state_of_another_program_alone(server: Server) -> None:
    hold(server)
    server.inspect.set(STATE, "text")
    assert release(server) == 1
    assert server.keys() == {STATE}
    assert server.inspect.get(STATE) == b"text"


def test_the_state_of_a_dead_leader_is_over_with_its_lock(server: Server) -> None:
    hold(server)
    set_value(server)
    known = revision(server)
    assert 0 < changed(server, known) <= 30_000
    server.inspect.delete(NAME)
    assert changed(server, known) is None
    assert current(server) == [-known]
    assert changed(server, -known) == -1


def test_the_state_of_another_kind_is_no_leader(server: Server) -> None:
    server.inspect.hset(STATE, "revision", 5)
    assert current(server) == [5]
    assert changed(server, 5) == -1


def test_another_type_of_key_is_an_error_before_anything_is_written(server: Server) -> None:
    hold(server)
    server.inspect.set(STATE, "text")
    for step in (set_value, current):
        with pytest.raises(Exception, match="WRONGTYPE"):
            step(server)
    assert server.inspect.get(STATE) == b"text"


@pytest.mark.servers("redis", "valkey")
def test_the_rights_of_the_page_are_enough(private_server: Server) -> None:
    page = (ROOT / "docs/wire-protocol.md").read_text(encoding="utf-8")
    row = re.search(r"(?m)^\| fenced lock \| `(.*)` \| `(.*)` \| `(.*)` \|$", page)
    line = next(
        line
        for line in (ROOT / "docs/rights.md").read_text(encoding="utf-8").splitlines()
        if "holdfast_state" in line
    )
    more = re.findall(r"`([+~&][^`]+)`", line)
    assert row is not None
    rights = [*(f"+{word}" for word in row[1].split()), *row[2].split(), row[3], *more]
    admin = private_server.inspect
    admin.execute_command(
        "ACL", "SETUSER", "app", "on", ">secret", "resetchannels", "-@all", *rights
    )
    url = private_server.url.replace("//", "//app:secret@")
    with holdfast.Client(url, name_prefix="app:", tracking="off") as client:
        leader = client.leader("it", value="there")
        with leader:
            info = client.leader("it").current()
            assert info is not None
            assert info.value == "there"
            leader.set_value("elsewhere")
        assert next(client.leader("it").watch()) is None
        with client.leader("it", wait=0) as again:
            assert again.leading


def test_a_state_without_an_owner_has_no_leader(server: Server) -> None:
    """As of a barrier that follows a leader which has died."""
    seconds, _ = server.inspect.time()
    until = (seconds + 60) * 1000
    server.inspect.hset(STATE, mapping={"revision": 7, "until": until, "token": 7, "value": VALUE})
    assert current(server) == [7]


@pytest.mark.parametrize("field", ["owner", "token", "value"])
def test_a_field_that_another_program_has_removed_is_no_leader(server: Server, field: str) -> None:
    hold(server)
    set_value(server)
    server.inspect.hdel(STATE, field)
    assert len(current(server)) == 1


def test_a_revision_that_another_program_has_written_is_an_error(server: Server) -> None:
    hold(server)
    set_value(server)
    server.inspect.hset(STATE, "revision", "Ada")
    for step in (current, lambda it: changed(it, 7)):
        with pytest.raises(redis.ResponseError):
            step(server)


def test_a_lock_of_another_type_leaves_what_was_announced(
    server: Server, changes: Listener
) -> None:
    hold(server)
    set_value(server)
    heard(changes)
    server.inspect.set(NAME, "a text")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        release(server)
    assert server.inspect.exists(STATE) == 1
    assert heard(changes) == []
