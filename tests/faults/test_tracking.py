"""Holds whose changes the server reports: what another client does to them shows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import CHANNEL, LASTING, NAME
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass, stays

pytestmark = pytest.mark.servers("real")

HOUR = 3600.0
"""A lease whose next renewal a test does not see: what it sees at once, it sees without one."""
MINUTE = 60_000


def track(client: Any, holds: int = 1) -> None:
    eventually(lambda: client.stats().tracked == holds, what="the holds are tracked")


def is_lost_at_once(lost: list[Any]) -> None:
    eventually(lambda: len(lost) == 1, what="the hold is lost")


def hold(actor: Any, client: Any, kind: str = "lock", **options: Any) -> tuple[Any, list[Any]]:
    """A tracked hold of the actor's, and where its loss will show."""
    lost: list[Any] = []
    lock = KINDS[kind](client, on_lost=lost.append, **options)
    actor.do(lock.acquire)
    track(client)
    return lock, lost


KINDS: dict[str, Callable[..., Any]] = {
    "lock": lambda client, **options: client.lock(NAME, **options),
    "fair": lambda client, **options: client.fair_lock(NAME, **options),
    "fenced": lambda client, **options: client.fenced_lock(NAME, **options),
    "spin": lambda client, **options: client.spin_lock(NAME, **options),
    "read": lambda client, **options: client.read_write_lock(NAME, **options).read,
    "write": lambda client, **options: client.read_write_lock(NAME, **options).write,
}

Act = Callable[[Server], Any]
ENDS: dict[str, Act] = {
    "DEL": lambda server: server.inspect.delete(NAME),
    "UNLINK": lambda server: server.inspect.unlink(NAME),
    "HDEL": lambda server: server.inspect.hdel(NAME, *server.inspect.hkeys(NAME)),
    "FLUSHDB": lambda server: server.inspect.flushdb(),
    "FLUSHALL": lambda server: server.inspect.flushall(),
    "RENAME": lambda server: server.inspect.rename(NAME, "elsewhere"),
    "PEXPIRE 0": lambda server: server.inspect.pexpire(NAME, 0),
    "expiry": lambda server: server.inspect.pexpireat(NAME, 1),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_removed_hold_is_lost_at_once(
    alice: Any, make_client: MakeClient, private_server: Server, end: str
) -> None:
    """changed-key."""
    client = make_client(private_server.url, lease=HOUR)
    lock, lost = hold(alice, client)
    ENDS[end](private_server)
    is_lost_at_once(lost)
    assert lost == [lock]
    assert client.stats().tracked == 0
    with pytest.raises(holdfast.LockLostError, match="no longer has it"):
        alice.do(lock.release)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forced_release_by_another_client(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server, kind: str
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client, kind)
    theirs = KINDS[kind](make_client(private_server.url, lease=HOUR))
    assert bob.do(theirs.force_release)
    is_lost_at_once(lost)


@pytest.mark.parametrize("kind", KINDS)
def test_a_renewed_hold_is_still_tracked(
    alice: Any, make_client: MakeClient, private_server: Server, kind: str
) -> None:
    """changed-key: the renewal's own write ends what a reading began: it reads once more."""
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client, kind)
    for _ in range(2):  # a lease that another client has cut is renewed at once
        renewed = client.stats().renewals
        private_server.inspect.pexpire(NAME, MINUTE)
        eventually(lambda: client.stats().renewals > renewed)  # noqa: B023 - called at once
    private_server.inspect.delete(NAME)
    eventually(lambda: lost)


def test_a_permit_that_is_removed_is_lost_at_once(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    lost: list[Any] = []
    semaphore = client.permit_semaphore("permits", on_lost=lost.append)
    alice.do(semaphore.try_set_permits, 2)
    permits = [alice.do(semaphore.acquire) for _ in range(2)]
    track(client, 2)
    for permit in permits:
        private_server.inspect.zrem("{permits}:timeout", bytes.fromhex(permit))
        eventually(partial(lost.__contains__, permit))


def test_a_reader_whose_time_another_client_ends(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client, "read")
    (key,) = private_server.inspect.keys("*:rwlock_timeout:1")
    private_server.inspect.delete(key)
    is_lost_at_once(lost)


def test_other_readers_are_no_loss(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    """changed-key."""
    client = make_client(private_server.url, lease=HOUR)
    theirs = make_client(private_server.url, lease=HOUR).read_write_lock(NAME).read
    _, lost = hold(alice, client, "read")
    sent = client.stats().commands
    for _ in range(200):
        bob.do(theirs.acquire)
        bob.do(theirs.release)
    assert client.stats().commands - sent <= 40, "looks at a busy key are few"
    assert not lost
    track(client)
    private_server.inspect.delete(NAME)
    is_lost_at_once(lost)


CHANGES: dict[str, Act] = {
    "PEXPIRE, longer": lambda server: server.inspect.pexpire(NAME, 10 * MINUTE),
    "PERSIST": lambda server: server.inspect.persist(NAME),
    "HSET": lambda server: server.inspect.hset(NAME, "other", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_changes_are_no_loss(
    alice: Any, make_client: MakeClient, private_server: Server, change: str
) -> None:
    """changed-key."""
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client)
    CHANGES[change](private_server)
    stays(lambda: not lost, 0.2)
    track(client)


def test_a_shorter_expiry_is_renewed_at_once(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    """changed-key."""
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client)
    for _ in range(3):
        private_server.inspect.pexpire(NAME, 5000)
        eventually(lambda: private_server.inspect.pttl(NAME) > 25_000)
    assert not lost


def test_a_shorter_expiry_of_a_lease_ends_its_validity(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client, lease=60)
    private_server.inspect.pexpire(NAME, 1000)
    is_lost_at_once(lost)


def test_nested_holds_and_extensions_of_its_owner_are_no_loss(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    lock, lost = hold(alice, client)
    for lease in (60, 20, 90):
        alice.do(lock.acquire)
        assert alice.do(lock.extend, lease)
        alice.do(lock.release)
    stays(lambda: not lost, 0.2)
    track(client)
    alice.do(lock.release)
    assert client.stats().tracked == 0


def test_a_hold_is_tracked_again_on_another_connection(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    _, lost = hold(alice, client)
    reconnects = client.stats().reconnects
    private_server.kill_connections()
    eventually(lambda: client.stats().reconnects > reconnects)
    track(client)
    assert not lost
    private_server.inspect.delete(NAME)
    is_lost_at_once(lost)


def test_a_server_that_tracks_fewer_keys(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    """It gives up one key for another, as if that had changed: no loss, and few looks."""
    private_server.inspect.config_set("tracking-table-max-keys", 1)
    client = make_client(private_server.url, lease=HOUR)
    lost: list[Any] = []
    for i in range(10):
        alice.do(client.lock(f"lock {i}", on_lost=lost.append).acquire)
    let_pass(0.5)
    sent = client.stats().commands
    let_pass(1)
    assert client.stats().commands - sent <= 10 * (4 + 5 + 1)
    assert not lost


@pytest.fixture
def deaf_server(start_server: StartServer, tmp_path: Path) -> Server:
    """A server without RESP3, as before Redis 6."""
    old = tmp_path / "old.conf"
    old.write_text('rename-command HELLO ""\n')
    return start_server({"include": str(old)})


@pytest.fixture
def strict_url(private_server: Server) -> str:
    """The URL of a user without the right to CLIENT TRACKING, nor to any other CLIENT."""
    words = ("locker", "on", ">secret", "allkeys", "allchannels", "+@all", "-client")
    private_server.inspect.execute_command("ACL", "SETUSER", *words)
    return private_server.url.replace("redis://", "redis://locker:secret@")


def _works_without(alice: Any, client: Any, server: Server) -> None:
    lost: list[Any] = []
    alice.do(client.lock(NAME, on_lost=lost.append).acquire)
    eventually(lambda: client.stats().renewals >= 2)
    assert client.stats().tracked == 0
    assert client.stats().reconnects == 0
    server.inspect.delete(NAME)
    is_lost_at_once(lost)


def test_without_resp3_a_loss_is_found_by_the_renewal(
    alice: Any, make_client: MakeClient, deaf_server: Server
) -> None:
    _works_without(alice, make_client(deaf_server.url, lease=3), deaf_server)


def test_without_the_right_a_loss_is_found_by_the_renewal(
    alice: Any, make_client: MakeClient, strict_url: str, private_server: Server
) -> None:
    _works_without(alice, make_client(strict_url, lease=3), private_server)


def test_where_it_is_required_a_server_without_it_is_refused(
    alice: Any, make_client: MakeClient, deaf_server: Server
) -> None:
    for client in (
        make_client(deaf_server.url, tracking="require"),
        make_client(f"{deaf_server.url}?tracking=require"),
    ):
        with pytest.raises(holdfast.ServerError, match="tracking='require' needs HELLO 3"):
            alice.do(client.lock(NAME).acquire)
    assert not deaf_server.keys()


def test_where_it_is_required_a_user_without_the_right_is_refused(
    alice: Any, make_client: MakeClient, strict_url: str
) -> None:
    client = make_client(strict_url, tracking="require")
    with pytest.raises(holdfast.ServerError, match="tracking='require'") as raised:
        alice.do(client.lock(NAME).acquire)
    assert raised.value.code == "NOPERM"


def test_where_it_is_required_and_there_holds_are_tracked(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, tracking="require")
    _, lost = hold(alice, client)
    private_server.inspect.delete(NAME)
    is_lost_at_once(lost)


def _calls(server: Server, command: str) -> int:
    calls: int = server.inspect.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0)
    return calls


def test_without_the_option_nothing_is_asked(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, tracking="off", lease=LASTING)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    eventually(lambda: client.stats().renewals >= 2)
    assert client.stats().tracked == 0
    assert not _calls(private_server, "client|tracking")
    assert {each.get("resp", "2") for each in private_server.connections()} == {"2"}


def test_a_short_hold_opens_no_connection_for_renewals(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, client_name="mine")
    for _ in range(100):
        alice.do(client.lock(NAME).acquire)
        alice.do(client.lock(NAME).release)
    names = [each["name"].partition(":")[0] for each in private_server.connections()]
    assert names.count("mine") == 1


def test_a_server_that_has_become_a_replica_has_lost_nothing(
    alice: Any, make_client: MakeClient, start_server: StartServer
) -> None:
    """changed-key: it reports that its data are replaced by another server's.

    The hold is not lost yet.
    """
    server, empty = start_server(), start_server()
    client = make_client(server.url)
    _, lost = hold(alice, client)
    server.inspect.replicaof("127.0.0.1", empty.port)
    eventually(lambda: server.inspect.info("replication").get("master_link_status") == "up")
    eventually(lambda: not server.keys())
    stays(lambda: not lost, 0.8)


def test_waiting_for_a_tracked_hold_is_woken_as_before(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=HOUR)
    theirs = make_client(private_server.url, lease=HOUR).lock(NAME)
    mine, _ = hold(alice, client)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: private_server.subscribers(CHANNEL) == 1)
    alice.do(mine.release)
    assert waiting.result(BOUND) is True
    bob.do(theirs.release)
