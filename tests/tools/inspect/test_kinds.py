"""Each kind is seen with what it has."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers("real")

UNSAID = dict.fromkeys(("label", "purpose", "since", "within", "renewed"))
"""What a client without a label does not say of an owner."""


def connection_name(label: str, client: holdfast.Client) -> str:
    return f"{label}:{socket.gethostname()}:{os.getpid()}:{client.id[:8]}"


def shown(client: holdfast.Client, name: str | bytes, kind: str | None = None) -> dict[str, Any]:
    found = inspect.lock(client, name, kind)
    assert found is not None
    return found.to_json()


def listed(client: holdfast.Client, pattern: str | bytes | None = None) -> list[dict[str, Any]]:
    return [info.to_json() for info in inspect.locks(client, pattern)]


@contextmanager
def waiting(acquire: Callable[[], Any], arrived: Callable[[], Any]) -> Iterator[None]:
    """While somebody waits; to be left only when the wait can end."""
    thread = threading.Thread(target=acquire)
    thread.start()
    eventually(arrived, what="the waiter arrived")
    yield
    thread.join()


def test_a_lock_has_the_shape_of_the_contract(server: Server, client: holdfast.Client) -> None:
    lock = client.lock("my:lock", lease=30)
    with lock, lock:
        [found] = listed(client)
        owner = found["owners"][0]
        assert found == {
            "name": "my:lock",
            "key": "my%3Alock",
            "kind": "lock",
            "owners": [
                {
                    "id": owner["id"],
                    "holds": 2,
                    "mode": None,
                    "client": owner["client"],
                    **UNSAID,
                    "host": socket.gethostname(),
                    "pid": os.getpid(),
                    "connection": "connected",
                },
            ],
            "ttl": pytest.approx(30, abs=10),
            "waiters": 0,
        }
        assert owner["id"].startswith(f"{client.id}:")
        assert set(owner["client"]) == {"address", "name", "library"}
        assert owner["client"]["name"] == connection_name("orders", client)
        assert owner["client"]["address"].startswith("127.0.0.1:")
        [[theirs]] = [info.owners for info in inspect.locks(client)]
        assert theirs.client is not None
        assert theirs.client.label == "orders"
        assert theirs.client.process == f"{socket.gethostname()}:{os.getpid()}"
        more = {"keys": ["my:lock"], "channels": ["redisson_lock__channel:{my:lock}"]}

        def one_is_the_other() -> bool:  # once the owner's connection for renewals is there
            [found] = listed(client)
            return shown(client, "my:lock") | {"ttl": 0} == found | more | {"ttl": 0}

        eventually(one_is_the_other)
    assert listed(client) == []
    assert inspect.lock(client, "my:lock") is None


def test_waiting_clients_are_counted_once_each(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    channel = "redisson_lock__channel:{demo}"
    lock = client.lock("demo")
    lock.acquire()

    def two() -> None:
        threads = [threading.Thread(target=enter) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def enter() -> None:
        with other.lock("demo"):
            pass

    with waiting(two, lambda: server.subscribers(channel) == 1):
        assert listed(client)[0]["waiters"] == 1
        lock.release()


def test_a_fair_lock_has_a_queue(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    lock = other.fair_lock("demo")
    lock.acquire()

    def enter() -> None:
        with client.fair_lock("demo"):
            pass

    with (
        server.connect() as connection,
        waiting(enter, lambda: connection.llen("redisson_lock_queue:{demo}") == 1),
    ):
        assert [(info["kind"], info["waiters"]) for info in listed(other)] == [("fair_lock", 1)]
        found = shown(other, "demo")
        [queued] = found["queue"]
        assert queued["id"].startswith(f"{client.id}:")
        assert 0 < queued["timeout"] <= 60
        assert queued["client"]["name"] == connection_name("orders", client)
        assert found["keys"] == [
            "demo",
            "redisson_lock_queue:{demo}",
            "redisson_lock_timeout:{demo}",
        ]
        lock.release()


def test_a_fair_lock_without_waiters_is_known_by_its_kind(client: holdfast.Client) -> None:
    with client.fair_lock("demo"):
        assert shown(client, "demo")["kind"] == "lock"
        found = shown(client, "demo", "fair_lock")
        assert (found["kind"], found["queue"]) == ("fair_lock", [])


def test_both_sides_of_a_read_write_lock_are_distinguished(client: holdfast.Client) -> None:
    lock = client.read_write_lock("demo")
    with lock.write, lock.read:
        found = shown(client, "demo")
        assert found["kind"] == "read_write_lock"
        sides = sorted((owner["mode"], owner["holds"]) for owner in found["owners"])
        assert sides == [("read", 1), ("write", 1)]
        assert {owner["id"] for owner in found["owners"]} == {found["owners"][0]["id"]}
        assert not found["owners"][0]["id"].endswith(":write")
        assert found["channels"] == ["redisson_rwlock:{demo}"]
        timeout = f"{{demo}}:{found['owners'][0]['id']}:rwlock_timeout:1"
        assert found["keys"] == ["demo", timeout]


def test_a_fenced_lock_has_its_token(client: holdfast.Client) -> None:
    lock = client.fenced_lock("demo")
    with lock:
        found = shown(client, "demo")
        assert found["token"] == lock.token
        assert "redisson_lock_token:{demo}" in found["keys"]


def test_permits_are_owners_by_their_ids(client: holdfast.Client, server: Server) -> None:
    """Those of holdfast tell the program that has them, while it is connected."""
    semaphore = client.permit_semaphore("demo", lease=30)
    semaphore.try_set_permits(3)
    assert listed(client) == []
    assert shown(client, "demo")["permits"] == 3
    with semaphore as permit:
        known = {"id": permit, "holds": 1, "mode": None, **UNSAID}
        known |= {"host": socket.gethostname(), "pid": os.getpid(), "connection": "connected"}
        [found] = listed(client)
        [owner] = found["owners"]
        assert (found["kind"], owner.pop("client")["name"][:7]) == ("permit_semaphore", "orders:")
        assert owner == known
        server.inspect.zadd("{demo}:timeout", {b"x" * 16: 10**14})  # of another library
        unsaid = {"client": None, "host": None, "pid": None, "connection": "unknown", **UNSAID}
        other = {"id": "78" * 16, "holds": 1, "mode": None, **unsaid}
        assert other in listed(client)[0]["owners"]
        server.inspect.zrem("{demo}:timeout", b"x" * 16)
        assert found["ttl"] == pytest.approx(30, abs=10)
        detail = shown(client, "demo")
        assert (detail["permits"], detail["keys"]) == (2, ["demo", "{demo}:timeout"])


def test_counters_are_shown_by_name_only(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    client.semaphore("permits").try_set_permits(4)
    client.count_down_latch("steps").try_set_count(2)
    assert listed(client) == []
    found = shown(client, "permits")
    assert (found["permits"], found["certain"], len(found["channels"])) == (4, False, 2)
    assert shown(client, "permits", "semaphore").get("certain", True)
    assert shown(client, "steps", "count_down_latch")["count"] == 2
    channel = "redisson_countdownlatch__channel__{steps}"
    arrived = lambda: server.subscribers(channel) == 1  # noqa: E731
    with waiting(other.count_down_latch("steps").wait, arrived):
        found = shown(client, "steps")
        assert (found["kind"], found["count"], found["waiters"]) == ("count_down_latch", 2, 1)
        told = [(one["name"], one["kind"], one["waiters"]) for one in listed(client)]
        assert told == [("steps", "count_down_latch", 1)], "its waiters tell what it is"
        assert listed(client, "other") == []
        assert "certain" not in found
        client.count_down_latch("steps").count_down()
        client.count_down_latch("steps").count_down()


def test_a_number_of_permits_that_is_zero_is_a_semaphore(client: holdfast.Client) -> None:
    semaphore = client.semaphore("permits")
    semaphore.try_set_permits(1)
    assert shown(client, "permits")["certain"] is False
    with semaphore:
        found = shown(client, "permits")
        assert (found["kind"], found["permits"], "certain" in found) == ("semaphore", 0, False)


def test_names_of_any_bytes_are_shown_and_found(client: holdfast.Client) -> None:
    name = b"a\xff\n{\xc3\xa9}\x7f"
    with client.lock(name):
        [info] = inspect.locks(client)
        assert info.name == "a\\xff\\x0a{é}\\x7f"
        assert info.key == "a%FF%0A%7B%C3%A9%7D%7F"
        assert info.raw_name == name
        found = inspect.lock(client, info.raw_name)
        assert found is not None
        assert found.keys == (info.name,)


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_permit_semaphores_with_braces_in_their_names_are_found(client: holdfast.Client) -> None:
    names = ["a", "{b}", "c{d}", "{e}:f"]
    for name in names:
        semaphore = client.permit_semaphore(name, lease=60)
        semaphore.try_set_permits(1)
        assert semaphore.acquire()
    assert sorted(info["name"] for info in listed(client)) == sorted(names)


def test_a_prefix_is_part_of_no_name(server: Server, client: holdfast.Client) -> None:
    with (
        holdfast.Client(server.url, name_prefix="app*:") as prefixed,
        client.lock("app*:demo"),
        client.lock("appX:demo"),
    ):
        assert [info["name"] for info in listed(prefixed)] == ["demo"]
        assert shown(prefixed, "demo")["keys"] == ["app*:demo"]
        assert {info["name"] for info in listed(client)} == {"app*:demo", "appX:demo"}
        assert not inspect.force_release(prefixed, "app*:demo")


GLOBS = ["*", "a*", "?b", "[ab]*", "[^a]*", "[a-b]?", "[b-a]?", r"\*", "a[*]", "", "[", "a]", "[]*"]
NAMES = ["ab", "bb", "b", "*", "a*", "a]", "x"]


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_patterns_are_those_of_scan(server: Server, client: holdfast.Client) -> None:
    for name in NAMES:
        client.lock(name).acquire(lease=60)
        semaphore = client.permit_semaphore(f"{name}s", lease=60)
        semaphore.try_set_permits(1)
        assert semaphore.acquire()
    with server.connect() as connection:
        for glob in GLOBS:
            matching = set(connection.scan_iter(match=glob, count=1000))
            wanted = {key.decode() for key in matching if not key.endswith(b":timeout")}
            assert {info["name"] for info in listed(client, glob)} == wanted, glob


def test_a_permit_semaphore_with_a_request_is_one_still(client: holdfast.Client) -> None:
    semaphore = client.permit_semaphore("demo")
    semaphore.set_permits(2)
    ids = semaphore.acquire_many(2)
    assert ids is not None
    assert [(one["kind"], len(one["owners"])) for one in listed(client)] == [
        ("permit_semaphore", 2)
    ]
    semaphore.release_many(ids)
    assert listed(client) == []


@pytest.mark.parametrize("length", [3000, 100_000])
def test_a_long_name_is_listed(client: holdfast.Client, length: int) -> None:
    name = "n" * length
    with client.lock(name), client.read_write_lock(name + "rw").read:
        assert [one["name"] for one in listed(client)] == [name, name + "rw"]


@pytest.mark.parametrize("name", ["demo", "{demo}", "a{demo}b"])
def test_a_semaphore_with_waiters_is_listed(
    client: holdfast.Client, server: Server, name: str
) -> None:
    """By its channel alone, once the server has forgotten its requests."""
    semaphore = client.semaphore(name)
    semaphore.try_set_permits(1)
    semaphore.acquire()
    for key in sorted(server.keys()):
        if key.startswith(b"redisson_request:"):
            server.inspect.delete(key)
    assert listed(client) == []
    channel = f"redisson_sc:{name if '{' in name else '{' + name + '}'}"
    with waiting(semaphore.acquire, lambda: server.subscribers(channel)):
        found = {"name": name, "kind": "semaphore", "owners": [], "ttl": None, "waiters": 1}
        assert listed(client) == [found | {"key": inspect.locks(client)[0].key}]
        assert listed(client, "other") == []
        assert [one["kind"] for one in listed(client, name)] == ["semaphore"]
        semaphore.release()
    semaphore.release()
    eventually(lambda: listed(client) == [], what="the subscription has ended")


@pytest.mark.parametrize("name", ["demo", "{demo}", "a{demo}b", "a:b"])
def test_a_semaphore_whose_permits_are_all_in_use_is_listed(
    client: holdfast.Client, server: Server, name: str
) -> None:
    """The key of its request tells it from another number, and 0 from a latch."""
    semaphore = client.semaphore(name)
    semaphore.try_set_permits(2)
    semaphore.acquire()
    assert listed(client) == []
    semaphore.acquire()
    key = inspect.locks(client)[0].key
    found = {"name": name, "key": key, "kind": "semaphore", "owners": [], "ttl": None, "waiters": 0}
    assert listed(client) == [found]
    assert listed(client, "other") == []
    semaphore.release(2)
    assert listed(client) == []
    server.inspect.set("0", 0)  # of another program
    latch = client.count_down_latch("latch")
    latch.try_set_count(1)
    assert listed(client) == []
    latch.count_down()
    assert listed(client) == []
