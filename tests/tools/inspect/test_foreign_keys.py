"""Keys of others are neither shown nor read."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.tools.cli.conftest import Run, run

__all__ = ["run"]

pytestmark = pytest.mark.servers("redis")

OWNER = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
BIG = 1_000_000


def put_foreign_keys(connection: Any) -> None:
    connection.set("text", "x")
    connection.set("number", "3")
    connection.rpush("list", "a")
    connection.sadd("set", "a")
    connection.zadd("{number}:timeout", {"member": 1e15})
    connection.zadd("{text}:timeout", {b"0" * 16: 1e15})
    connection.zadd("{gone}:timeout", {b"0" * 16: 1e15})
    connection.hset("empty name", mapping={"": "1"})
    connection.hset("hash", mapping={"a": "1"})
    connection.hset("mode only", mapping={"mode": "read"})
    connection.hset("other mode", mapping={"mode": "x", OWNER: "1"})
    connection.hset("no number", mapping={OWNER: "one"})
    connection.hset("big value", mapping={OWNER: "1" * BIG})
    connection.hset("wide", mapping={f"{OWNER}{i}": "x" for i in range(5000)})


def test_nothing_but_locks_is_listed(server: Server, client: holdfast.Client) -> None:
    with server.connect() as connection:
        put_foreign_keys(connection)
        connection.hset("lock", mapping={OWNER: "1"})
    assert [(info.name, info.ttl) for info in inspect.locks(client)] == [("lock", None)]


def test_numbers_that_no_client_writes_hide_no_lock(
    server: Server, client: holdfast.Client
) -> None:
    """More digits than Python reads, and scores that are infinite."""
    permits = {b"%016d" % place: score for place, score in enumerate(["inf", "1e300", 1e14])}
    with server.connect() as connection:
        few = {f"{OWNER[:-1]}{i}": "1" for i in range(9)}
        connection.hset("digits", mapping={**few, OWNER: "1" * 4400})
        connection.set("pool", 1)
        connection.zadd("{pool}:timeout", permits | {b"gone".zfill(16): "-inf"})
        connection.set("redisson_lock_token:{lock}", "9" * 5000)
        connection.hset("lock", mapping={OWNER: "1"})
    assert [info.name for info in inspect.locks(client)] == ["lock", "pool"]
    found = inspect.lock(client, "lock")
    assert found is not None
    assert found.token is None
    pool = inspect.lock(client, "pool")
    assert pool is not None
    assert (len(pool.owners), pool.permits) == (3, 2)
    assert pool.ttl == pytest.approx(1e11, rel=0.05)
    with pytest.raises(holdfast.LockError, match="'digits' is not a lock"):
        inspect.lock(client, "digits")


def test_a_reader_of_any_number_of_holds_is_shown(server: Server, client: holdfast.Client) -> None:
    """Its keys are not all named: there would be no memory for them."""
    with server.connect() as connection:
        connection.hset("sides", mapping={"mode": "read", OWNER: 10**17})
    found = inspect.lock(client, "sides")
    assert found is not None
    assert [owner.holds for owner in found.owners] == [10**17]


def test_a_waiter_that_never_counts_as_dead_has_no_time_left(
    server: Server, client: holdfast.Client, run: Run
) -> None:
    others = [f"{OWNER[:-1]}{place}" for place in (2, 3)]
    with server.connect() as connection:
        connection.hset("fair", mapping={OWNER: "1"})
        connection.rpush("redisson_lock_queue:{fair}", *others)
        scores = dict(zip(others, ["inf", "-inf"], strict=True))
        connection.zadd("redisson_lock_timeout:{fair}", scores)
    found = inspect.lock(client, "fair")
    assert found is not None
    assert found.queue is not None
    assert [one.timeout for one in found.queue] == [None, 0.0]
    shown = json.loads(run("show", "--json", "fair").stdout, parse_constant=pytest.fail)
    assert [one["timeout"] for one in shown["queue"]] == [None, 0.0]


def test_what_is_left_out_of_a_large_lock_is_said(server: Server, client: holdfast.Client) -> None:
    with server.connect() as connection:
        connection.hset("wide", mapping={f"{OWNER}{i}": "1" for i in range(5000)})
        connection.set("pool", 1)
        permits = {b"%016d" % i: 1e15 + i for i in range(5000)}
        connection.zadd("{pool}:timeout", permits)
    for info in inspect.locks(client):
        assert info.to_json()["truncated"] is True
        assert 4000 < len(info.owners) < 5000
        found = inspect.lock(client, info.name)
        assert found is not None
        assert found.truncated
        assert (found.permits, info.name) in {(1, "pool"), (None, "wide")}
    assert [info.name for info in inspect.locks(client)] == ["pool", "wide"]


def test_a_key_is_read_only_if_its_size_fits(server: Server, client: holdfast.Client) -> None:
    with server.connect() as connection:
        put_foreign_keys(connection)
        connection.config_resetstat()
        before = connection.info("stats")["total_net_output_bytes"]
        inspect.locks(client)
        sent = connection.info("stats")["total_net_output_bytes"] - before
        commands = connection.info("commandstats")
    assert sent < BIG / 2
    assert {"cmdstat_keys", "cmdstat_hvals", "cmdstat_smembers"}.isdisjoint(commands)
    assert commands["cmdstat_hrandfield"]["calls"] == 7
    assert commands["cmdstat_hlen"]["calls"] == 5 + 2  # of what may be locks, and slots


@pytest.mark.parametrize("name", ["hash", "text", "list", "wide", "big value"])
def test_what_is_no_lock_is_refused_by_name(
    server: Server, client: holdfast.Client, name: str
) -> None:
    with server.connect() as connection:
        put_foreign_keys(connection)
    with pytest.raises(holdfast.LockError, match=rf"'{name}' is not a lock"):
        inspect.lock(client, name)
    with pytest.raises(holdfast.LockError, match=rf"'{name}' is not a lock"):
        inspect.force_release(client, name)


def test_a_kind_that_does_not_fit_is_refused(server: Server, client: holdfast.Client) -> None:
    with client.lock("demo"):
        with pytest.raises(
            holdfast.LockError, match="'demo' is not a lock: it is a lock, not a re"
        ):
            inspect.lock(client, "demo", "read_write_lock")
        with pytest.raises(holdfast.LockError, match="a hash, not a semaphore"):
            inspect.lock(client, "demo", "semaphore")
    with pytest.raises(ValueError, match="kind must be one of"):
        inspect.lock(client, "demo", "mutex")
    with pytest.raises(TypeError, match="client must be"):
        inspect.locks("redis://")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pattern must be"):
        inspect.locks(client, 1)  # type: ignore[arg-type]


def test_many_keys_are_looked_at_in_short_steps(server: Server, client: holdfast.Client) -> None:
    with server.connect() as connection:
        script = "for i = 1, 50000 do redis.call('set', 'key:' .. i, 'x') end"
        connection.eval(script, 0)
        with client.lock("demo"):
            connection.config_resetstat()
            assert [info.name for info in inspect.locks(client)] == ["demo"]
        commands = connection.info("commandstats")
    assert commands["cmdstat_scan"]["calls"] >= 2 * 50
    assert commands["cmdstat_hlen"]["calls"] == 1
