"""RESP2 and RESP3: the same promises over both, and servers that know only one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"


def _life(alice: Any, bob: Any, mine: Any, theirs: Any, server: Server) -> None:
    """Granted, refused, waited for, woken, extended, asked, released."""
    alice.do(mine.acquire)
    assert bob.do(theirs.acquire, blocking=False) is False
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    assert alice.do(mine.ttl) > 1
    assert alice.do(mine.hold_count) == 1
    assert alice.do(mine.extend, 20)
    alice.do(mine.release)
    assert waiting.result(BOUND) is True
    assert alice.do(mine.hold_count) == 0
    assert bob.do(theirs.force_release) is True


@pytest.mark.servers("real")
@pytest.mark.parametrize("protocol", [2, 3])
def test_either_protocol(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server, protocol: int
) -> None:
    client = make_client(
        private_server.url, protocol=protocol, client_name="by-keyword", tracking="off"
    )
    other = make_client(f"{private_server.url}?protocol={protocol}&client_name=by-url&tracking=off")
    _life(alice, bob, client.lock(NAME), other.lock(NAME), private_server)
    spoken = {c["name"].partition(":")[0]: c.get("resp") for c in private_server.connections()}
    assert set(spoken) == {"by-keyword", "by-url"}
    assert set(spoken.values()) <= {str(protocol), None}  # Redis 6.2 does not say


@pytest.mark.servers("real")
@pytest.mark.parametrize("protocol", [2, 3])
def test_all_kinds_over_either(
    alice: Any, make_client: MakeClient, server: Server, protocol: int
) -> None:
    client = make_client(server.url, protocol=protocol)
    locks = (
        client.fair_lock("fair"), client.fenced_lock("fenced"), client.spin_lock("spin"),
        client.read_write_lock("rw").read, client.read_write_lock("write").write,
    )  # fmt: skip
    for lock in locks:
        assert alice.do(lock.acquire)
        assert alice.do(lock.owned)
        alice.do(lock.release)
    semaphore, permits = client.semaphore("semaphore"), client.permit_semaphore("permits")
    latch = client.count_down_latch("latch")
    for counter in (semaphore, permits):
        assert alice.do(counter.try_set_permits, 1)
        granted = alice.do(counter.acquire)
        assert alice.do(counter.available_permits) == 0
        alice.do(counter.release, *([] if counter is semaphore else [granted]))
    assert alice.do(latch.try_set_count, 1)
    alice.do(latch.count_down)
    assert alice.do(latch.wait)


@pytest.fixture
def old_server(start_server: StartServer, tmp_path: Path) -> Server:
    """A server with a password and without HELLO."""
    old = tmp_path / "old.conf"
    old.write_text('rename-command HELLO ""\n')
    return start_server({"include": str(old)}, password="hunter2")


@pytest.mark.servers("real")
@pytest.mark.parametrize("database", [0, 3])
def test_a_server_that_does_not_know_hello(
    alice: Any, bob: Any, make_client: MakeClient, old_server: Server, database: int
) -> None:
    """As before Redis 6, and proxies: it is spoken to in RESP2.

    What else was to be said when connecting is said.
    """
    server = old_server
    url = server.url.replace("/0", f"/{database}").replace("redis://", "redis://:hunter2@")
    client = make_client(url, protocol=3, client_name="patient")
    other = make_client(url)
    _life(alice, bob, client.lock(NAME), other.lock(NAME), server)
    assert "patient" in {c["name"].partition(":")[0] for c in server.connections()}
    alice.do(client.lock(NAME).acquire)
    assert server.connect(db=database).exists(NAME)


@pytest.mark.servers("real")
def test_without_the_option_a_connection_has_resp2(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url)
    alice.do(client.ping)
    assert {each.get("resp", "2") for each in private_server.connections()} == {"2"}


@pytest.mark.parametrize("protocol", [1, 4, 0])
def test_other_protocols_are_refused(make_client: MakeClient, protocol: int) -> None:
    for url, options in (
        ("redis://127.0.0.1", {"protocol": protocol}),
        (f"redis://127.0.0.1?protocol={protocol}", {}),
    ):
        with pytest.raises(ValueError, match="protocol"):
            make_client(url, **options)
