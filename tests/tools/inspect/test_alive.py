"""Which program an owner is, also of one that is dead, and whether it is alive."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

import holdfast
from holdfast import inspect
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

#: It says of which library each connection is.
pytestmark = pytest.mark.servers("valkey")

JAVA = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2"
PROGRAM = """
client = holdfast.Client(url, label="billing worker 3")
lock = client.fair_lock("demo", label="nightly run", lease=600)
client.ping()
say(client.id)
hear("acquire")
lock.acquire()
say("held")
hear()
"""


def key_of(client: str) -> str:
    return f"holdfast:client:{client}"


def details(client: holdfast.Client, kind: str | None = None) -> inspect.LockDetail:
    found = inspect.lock(client, "demo", kind)
    assert found is not None
    return found


def people(client: holdfast.Client) -> list[inspect.Owner | inspect.QueuedOwner]:
    """The owners, and who waits."""
    found = details(client, "fair_lock")
    return [*found.owners, *(found.queue or ())]


@contextmanager
def unnamed(server: Server, library: str = "", name: str = "") -> Iterator[None]:
    """While there is a connection of a client that does not say who it is."""
    with redis.Redis(
        port=server.port, client_name=name or None, single_connection_client=True
    ) as connection:
        for what, value in (("LIB-NAME", library), ("LIB-VER", "")):
            connection.execute_command("CLIENT", "SETINFO", what, value)
        yield


def said(server: Server, client: str, **fields: Any) -> None:
    """What a program writes into its key, as docs/wire-protocol.md describes it."""
    server.inspect.hset(key_of(client), mapping=fields)
    server.inspect.pexpire(key_of(client), 60_000)


def test_a_killed_owner_and_a_killed_waiter_are_named(
    server: Server, client: holdfast.Client, start_child: StartChild
) -> None:
    children = [start_child(PROGRAM, url=server.url) for _ in range(2)]
    ids = [child.next_line() for child in children]
    children[0].send("acquire")
    children[0].expect("held")
    children[1].send("acquire")
    eventually(lambda: details(client, "fair_lock").queue)
    assert [one.connection for one in people(client)] == ["connected"] * 2
    for client_id, child in zip(ids, children, strict=True):
        said(server, client_id, lease=30_000)
        child.kill()
    eventually(lambda: {one.connection for one in people(client)} == {"not connected"})
    for client_id in ids:
        server.inspect.pexpire(key_of(client_id), 18_000)
    for one, child in zip(people(client), children, strict=True):
        assert (one.host, one.pid, one.client) == (socket.gethostname(), child.pid, None)
        assert (one.label, one.purpose) == ("billing worker 3", "nightly run")
        assert one.since
        assert one.renewed == pytest.approx(12, abs=5)
    server.inspect.pexpire(key_of(ids[0]), 40_000)
    assert people(client)[0].renewed is None, "its key lives longer, for a hold"


def test_only_a_whole_list_of_named_connections_says_who_is_not_connected(
    server: Server, client: holdfast.Client
) -> None:
    server.inspect.hset("demo", f"{JAVA}:1", 1)

    def connection(by: holdfast.Client = client) -> str:
        return details(by).owners[0].connection

    assert connection() == "not connected"
    with unnamed(server, library="redis-py"), unnamed(server, name="sentinel-0f66c2a4-cmd"):
        assert connection() == "not connected"
    for how in ({"library": "redisson"}, {"library": "holdfast"}, {"name": "orders"}, {}):
        with unnamed(server, **how):
            assert connection() == "unknown", how
            assert [one.library for one in details(client).unnamed] == [how.get("library")]
    said(server, JAVA, started=1, host="web-3", pid=4711, within=2000)
    for how, found in (
        ({"library": "redisson"}, "not connected"),
        ({"name": "orders"}, "not connected"),
        ({"library": "holdfast"}, "unknown"),
        ({}, "unknown"),
    ):
        with unnamed(server, **how):
            assert connection() == found, "holdfast has written its key"
            young = None if found == "not connected" else 2
            assert details(client).owners[0].within == young, "a dead program notes nothing"
            assert details(client).unnamed == ()
    eventually(lambda: connection() == "not connected")
    with holdfast.Client(server.url, client_name="") as hidden:
        assert connection(hidden) == "unknown", "a proxy may stand in between"
    server.inspect.acl_setuser(
        "few", enabled=True, nopass=True, categories=["+@all"], commands=["-client|list"],
        keys=["*"], channels=["*"],
    )  # fmt: skip
    url = server.url.replace("127.0.0.1", "few:any@127.0.0.1")
    with holdfast.Client(url) as refused:
        assert connection(refused) == "unknown"


def test_a_java_program_is_named_by_the_key_that_it_writes(
    server: Server, client: holdfast.Client
) -> None:
    server.inspect.hset("demo", f"{JAVA}:1", 1)
    with unnamed(server, library="redisson"):
        assert [one.library for one in details(client).unnamed] == ["redisson"]
        said(server, JAVA, label="ledger", host="java-1", pid=77, lease=90_000)
        found = details(client)
        [owner] = found.owners
        assert (owner.label, owner.host, owner.pid) == ("ledger", "java-1", 77)
        assert owner.renewed == pytest.approx(30, abs=5)
        assert (owner.connection, found.unnamed) == ("unknown", ())
