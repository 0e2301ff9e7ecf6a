"""The inspector's API: shapes, names on the raw path, events, an outage."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import quote

import pytest

import holdfast
from tests.support.clusters import LoneCluster
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tests.tools.web.inspector import Inspector, owner

LOCK = {"name", "key", "kind", "owners", "ttl", "waiters"}


def test_the_list_has_each_lock_in_the_shape_of_ls(inspector: Inspector, client: Any) -> None:
    with client.lock("myLock"):
        [lock] = inspector.get("/api/locks").json
    assert set(lock) == LOCK
    assert (lock["name"], lock["key"], lock["kind"]) == ("myLock", "myLock", "lock")
    assert [owner["holds"] for owner in lock["owners"]] == [1]
    assert lock["owners"][0]["id"].startswith(client.id)
    assert 0 < lock["ttl"] <= 30


def test_the_list_is_never_older_than_the_request(inspector: Inspector, client: Any) -> None:
    for number in range(5):
        with client.lock(f"lock:{number}"):
            assert [lock["name"] for lock in inspector.get("/api/locks").json] == [f"lock:{number}"]


def test_a_lock_has_its_queue_keys_and_channels(inspector: Inspector, client: Any) -> None:
    with client.fair_lock("myLock"):
        waiting = threading.Thread(target=lambda: client.fair_lock("myLock").acquire(timeout=BOUND))
        waiting.start()
        eventually(lambda: inspector.get("/api/locks/myLock").json["waiters"] == 1)
        lock = inspector.get("/api/locks/myLock").json
        assert LOCK | {"queue", "keys", "channels"} <= set(lock)
        assert lock["kind"] == "fair_lock"
        [waiter] = lock["queue"]
        assert waiter["id"].startswith(client.id)
        assert waiter["timeout"] > 0
        assert "myLock" in lock["keys"]
    waiting.join(BOUND)


def test_a_free_lock_is_not_found(inspector: Inspector) -> None:
    assert inspector.get("/api/locks/myLock").status == 404


@pytest.mark.parametrize(
    "name",
    [
        b"a/b",
        b"a%2Fb",
        b"a b?c#d&e",
        b"<img src=x onerror=alert(1)>",
        b"..",
        b"\xff\x00\n",
        "schl\u00f6sser".encode(),
        b"force-release",
    ],
)
def test_any_name_is_addressed_by_its_key(inspector: Inspector, client: Any, name: bytes) -> None:
    client.lock(name).acquire()
    [listed] = inspector.get("/api/locks").json
    assert listed["key"] == quote(name, safe="")
    assert inspector.get(f"/api/locks/{listed['key']}").json["name"] == listed["name"]
    answer = inspector.post(f"/api/locks/{listed['key']}/force-release")
    assert answer.json == {"released": True}
    assert not client.lock(name).locked()


def test_a_slash_that_is_not_encoded_is_no_name(inspector: Inspector, client: Any) -> None:
    with client.lock("a/b"):
        assert inspector.get("/api/locks/a/b").status == 404


def test_force_release_frees_a_lock_of_each_kind(inspector: Inspector, client: Any) -> None:
    both = client.read_write_lock("readWrite")
    for lock in (client.lock("plain"), client.fair_lock("fair"), both.write):
        lock.acquire()
        answer = inspector.post(f"/api/locks/{lock.name}/force-release")
        assert (answer.status, answer.json) == (200, {"released": True})
        assert lock.ttl() is None
        assert inspector.post(f"/api/locks/{lock.name}/force-release").json == {"released": False}


def test_what_is_not_a_lock_is_not_released(inspector: Inspector, locks_server: Server) -> None:
    locks_server.inspect.set("text", "kept")
    answer = inspector.post("/api/locks/text/force-release")
    assert answer.status == 409
    assert "text" in answer.json["error"]
    assert locks_server.inspect.get("text") == b"kept"


def test_a_stream_begins_with_every_lock_and_goes_on_with_changes(
    inspector: Inspector, client: Any
) -> None:
    first, second = client.lock("first"), client.lock("second")
    first.acquire()
    with inspector.events() as events:
        assert events.headers["Content-Type"].startswith("text/event-stream")
        assert set(events.until("lock", name="first")) == LOCK
        second.acquire()
        events.until("lock", name="second")
        second.acquire()
        assert events.until("lock", name="second")["owners"][0]["holds"] == 2
        first.release()
        assert events.until("gone") == {"name": "first", "key": "first"}


def seen(events: Any, names: set[str]) -> None:
    """Wait until a stream has told of these locks."""
    while names:
        names = names - {events.until("lock")["name"]}


def test_a_stream_says_when_every_lock_was_sent(inspector: Inspector, client: Any) -> None:
    names = {f"sent{number}" for number in range(3)}
    for name in names:
        client.lock(name).acquire()
    with inspector.events() as first:
        seen(first, names)
        with inspector.events() as second:
            kind, told = second.next()
            while kind == "lock":
                names.discard(told["name"])
                kind, told = second.next()
            assert (kind, told, names) == ("ready", {}, set())


@pytest.mark.parametrize("brief", [True, False], ids=["brief", "full"])
def test_leases_that_have_moved_come_together_where_asked(
    inspector: Inspector, client: Any, locks_server: Server, brief: bool
) -> None:
    names = {f"moved{brief}{number}" for number in range(2)}
    for name in names:
        client.lock(name).acquire(lease=600)
    with inspector.events("?brief" if brief else "") as events:
        seen(events, names)
        for name in names:
            locks_server.inspect.pexpire(name, 900_000)
        left: dict[str, float] = {}
        while set(left) != names:
            found, data = events.next()
            assert found != ("lock" if brief else "leases")
            if found == "leases":
                left |= data
            elif found == "lock":
                left[data["name"]] = data["ttl"]
        assert all(890 < ttl <= 900 for ttl in left.values())


def test_a_lease_that_only_gets_shorter_is_no_change(
    inspector: Inspector, client: Any, locks_server: Server
) -> None:
    client.lock("quiet").acquire(lease=600)
    with inspector.events() as events:
        events.until("lock", name="quiet")
        seen: list[str] = []
        for number in range(2):
            locks_server.inspect.hset(f"other:{number}", owner(), 1)
            while f"other:{number}" not in seen:
                seen.append(events.until("lock")["name"])
        assert "quiet" not in seen
        client.lock("quiet").extend(1200)
        events.until("lock", name="quiet")


def test_a_stream_tells_when_the_server_goes_and_returns() -> None:
    with (
        Server("redis") as server,
        Inspector(f"{server.url}?command_timeout=1") as inspector,
        inspector.events() as events,
    ):
        server.inspect.hset("before", owner(), 1)
        events.until("lock", name="before")
        server.stop()
        away = events.until("server", up=False)
        assert str(server.port) in away["error"]
        assert inspector.get("/api/locks").status == 503
        assert inspector.get("/").status == 200
        server.start()
        events.until("server", up=True)
        server.inspect.hset("after", owner(), 1)
        events.until("lock", name="after")


def test_a_page_that_is_opened_without_a_server_says_so() -> None:
    url = "redis://127.0.0.1:1?command_timeout=0.5"
    with Inspector(url) as inspector, inspector.events() as events:
        kind, status = events.next()
        assert (kind, status["up"]) == ("server", False)


def test_a_password_is_shown_nowhere() -> None:
    with Server("redis", password="secret") as server:
        url = f"redis://:secret@127.0.0.1:{server.port}?command_timeout=1"
        with Inspector(url) as inspector, inspector.events() as events:
            assert b"secret" not in inspector.get("/api/server").body
            assert inspector.get("/api/server").json["primaries"]
            server.stop()
            assert "secret" not in str(events.until("server", up=False))
            assert b"secret" not in inspector.get("/api/server").body


def test_the_state_of_the_server_names_it(inspector: Inspector, locks_server: Server) -> None:
    state = inspector.get("/api/server").json
    [primary] = state["primaries"]
    assert str(locks_server.port) in primary["address"]
    assert primary["version"] == locks_server.inspect.info()["redis_version"]


def test_locks_of_a_cluster_are_those_of_all_primaries() -> None:
    with (
        LoneCluster() as cluster,
        Inspector(cluster.url) as inspector,
        holdfast.Client(cluster.url) as client,
        client.lock("a"),
        client.lock("b"),
    ):
        assert {lock["name"] for lock in inspector.get("/api/locks").json} == {"a", "b"}
