"""A grant counts once enough replicas have it; else it is given back and the caller told."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.deployments.replicas.conftest import NAME, Granted
from tests.support.fixtures import StartServer
from tests.support.owners import MakeActor, MakeClient
from tests.support.proxy import FaultProxy
from tests.support.replicas import Replicated
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")


def _refused(future: Future[Any]) -> holdfast.ServerError:
    error = future.exception(BOUND)
    assert isinstance(error, holdfast.ServerError), error
    assert error.code == "NOREPLICAS"
    assert error.temporary
    return error


def _timed_out(future: Future[Any]) -> None:
    error = future.exception(BOUND)
    assert isinstance(error, holdfast.LockTimeout), error
    assert "replicas" in str(error)


def test_what_replicas_have_is_granted(alice: Any, granted: Granted) -> None:
    assert granted.acquire(alice)
    assert not granted.free(alice)
    key = granted.seen._members[0].name if "multi" in granted.thing.name else NAME
    for replica in granted.group.replicas:
        assert replica.inspect.exists(key)


def test_what_a_replica_does_not_have_is_given_back(alice: Any, bob: Any, granted: Granted) -> None:
    """failover-without-lock: the error says how many have it, and nothing is left held."""
    granted.group.replicas[0].pause()
    error = _refused(granted.begin(alice, blocking=False))
    assert NAME in str(error)
    assert str(granted.group.primary.port) in str(error)
    assert "1 of 2 replicas" in str(error)
    eventually(lambda: granted.free(bob))


def test_a_waiter_gets_it_when_the_replica_is_back(alice: Any, bob: Any, granted: Granted) -> None:
    granted.group.replicas[0].pause()
    waiting = granted.begin(alice)
    # The first time it was granted, and given back.
    with granted.group.primary.recording() as recording:
        eventually(lambda: recording.count().get("WAIT", 0) >= 2)
    assert not waiting.done()
    granted.group.replicas[0].resume()
    assert waiting.result(BOUND)
    assert not granted.free(bob)


def test_a_waiter_whose_time_is_over_gets_the_reason(
    alice: Any, bob: Any, granted: Granted
) -> None:
    granted.group.replicas[0].pause()
    waiting = granted.begin(alice, timeout=1)
    _timed_out(waiting)
    eventually(lambda: granted.free(bob))


@pytest.fixture
def client(replicated: Replicated, make_client: MakeClient) -> Any:
    """A client that waits for one of the two replicas."""
    return make_client(replicated.primary.url, replicas_to_wait=1)


def test_one_replica_may_be_away(alice: Any, client: Any, replicated: Replicated) -> None:
    replicated.replicas[0].pause()
    assert alice.do(client.lock(NAME).acquire, blocking=False)


def test_as_an_option_of_the_url(
    alice: Any, make_client: MakeClient, replicated: Replicated
) -> None:
    replicated.replicas[0].pause()
    client = make_client(f"{replicated.primary.url}?replicas_to_wait=2")
    _refused(alice.begin(client.lock(NAME).acquire, blocking=False))


def test_more_replicas_than_there_are(
    alice: Any, make_client: MakeClient, replicated: Replicated
) -> None:
    client = make_client(replicated.primary.url, replicas_to_wait=3)
    error = _refused(alice.begin(client.lock(NAME).acquire, blocking=False))
    assert "2 of 3 replicas" in str(error)


def test_a_server_that_has_become_a_replica_is_waited_for(
    alice: Any, make_client: MakeClient, replicated: Replicated
) -> None:
    """passing-refusal: its refusal of WAIT is a state that passes, as its refusal to write is."""
    lock = make_client(replicated.replicas[0].url, replicas_to_wait=1).lock(NAME)
    error = alice.begin(lock.acquire, blocking=False).exception(BOUND)
    assert isinstance(error, holdfast.ServerError), error
    assert error.code == "READONLY"
    assert error.temporary
    waited = alice.begin(lock.acquire, timeout=1).exception(BOUND)
    assert isinstance(waited, holdfast.LockTimeout), waited


def test_of_nested_holds_the_outer_one_stays(
    alice: Any, bob: Any, client: Any, replicated: Replicated
) -> None:
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    for replica in replicated.replicas:
        replica.pause()
    # A longer lease than the outer one has: a server may not need to write for a shorter one.
    _refused(alice.begin(lock.acquire, blocking=False, lease=90))
    eventually(lambda: alice.do(lock.hold_count) == 1)
    alice.do(lock.release)
    assert bob.do(lock.locked) is False


@pytest.mark.flavours("asyncio")  # a thread cannot be cancelled
def test_cancelled_while_replicas_are_asked_it_is_given_back(
    alice: Any, bob: Any, client: Any, replicated: Replicated
) -> None:
    for replica in replicated.replicas:
        replica.pause()
    lock = client.lock(NAME)
    primary = replicated.primary
    alice.begin(lock.acquire, lease=60)
    eventually(lambda: primary.inspect.exists(NAME))
    alice.cancel()
    # Long before the replicas' time is over the next one has it on the server.
    eventually(lambda: not primary.inspect.exists(NAME), within=0.8)
    del bob


def test_no_caller_waits_for_the_wait_of_another(
    alice: Any, bob: Any, client: Any, replicated: Replicated
) -> None:
    """While a grant is not confirmed, other commands of the client are answered."""
    for replica in replicated.replicas:
        replica.pause()
    lock, exists = client.lock(NAME), replicated.primary.inspect.exists

    def answered_meanwhile() -> bool:
        waiting = alice.begin(lock.acquire, blocking=False)
        eventually(lambda: exists(NAME) or waiting.done())
        bob.do(client.ping)
        locked = bob.do(lock.locked)
        before = not waiting.done()
        _refused(waiting)
        eventually(lambda: not exists(NAME))
        return locked is True and before

    assert any(answered_meanwhile() for _ in range(3)), "a machine may be busy once, not each time"


def test_who_waits_behind_gets_it_when_it_is_given_back(
    alice: Any, bob: Any, make_client: MakeClient, client: Any, replicated: Replicated
) -> None:
    other = make_client(replicated.primary.url)
    for replica in replicated.replicas:
        replica.pause()
    refused = alice.begin(client.lock(NAME).acquire, blocking=False)
    eventually(lambda: replicated.primary.inspect.exists(NAME))
    waiting = bob.begin(other.lock(NAME).acquire)
    assert waiting.result(BOUND) is True
    _refused(refused)


def test_those_who_ask_at_once_share_the_wait(
    client: Any, make_actor: MakeActor, replicated: Replicated
) -> None:
    """However many grants await their replicas, it takes few waits: mostly two."""
    for replica in replicated.replicas:
        replica.pause()
    actors = [make_actor() for _ in range(8)]

    def waits() -> int:
        before = replicated.primary.calls("wait")
        asked = [
            actor.begin(client.lock(f"{NAME} {i}").acquire, blocking=False)
            for i, actor in enumerate(actors)
        ]
        for future in asked:
            _refused(future)
        return replicated.primary.calls("wait") - before

    assert any(waits() < len(actors) for _ in range(5)), "a machine is busy at times, not each time"


def test_a_released_lock_is_handed_over_confirmed(
    alice: Any, bob: Any, client: Any, replicated: Replicated
) -> None:
    """Of two owners of one client, too, the next one has it only when a replica knows."""
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(lock.acquire, timeout=3)
    eventually(replicated.primary.subscribed_channels)
    for replica in replicated.replicas:
        replica.pause()
    alice.do(lock.release)
    _timed_out(waiting)
    assert bob.do(lock.hold_count) == 0


def test_a_lock_is_renewed_while_no_replica_answers(
    alice: Any, make_client: MakeClient, replicated: Replicated
) -> None:
    client = make_client(replicated.primary.url, replicas_to_wait=1, lease=3)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    for replica in replicated.replicas:
        replica.pause()
    before = replicated.primary.scripts_run()
    assert before is not None
    eventually(lambda: (replicated.primary.scripts_run() or 0) >= before + 2)
    assert lock.lost is False
    alice.do(lock.release)


def test_a_fresh_connection_is_not_taken_for_a_confirmation(
    alice: Any, make_client: MakeClient, replicated: Replicated
) -> None:
    """A connection that breaks before the reply to WAIT confirms no grant."""
    with FaultProxy(replicated.primary.port) as proxy:
        client = make_client(proxy.url, replicas_to_wait=1)
        lock = client.lock(NAME)
        alice.do(lock.acquire)
        alice.do(lock.release)
        for replica in replicated.replicas:
            replica.pause()
        # The reply to what is written again arrives, the one to WAIT does not.
        lost = proxy.truncate_reply(len(b":1\r\n"), b"WAIT")
        future = alice.begin(lock.acquire, blocking=False)
        assert lost.wait(BOUND)
        _refused(future)
        alice.do(client.close)


@pytest.mark.flavours("sync")
def test_a_lone_server_has_no_replicas_to_wait_for(
    alice: Any, start_server: StartServer, make_client: MakeClient
) -> None:
    client = make_client(start_server().url, replicas_to_wait=1)
    error = _refused(alice.begin(client.lock(NAME).acquire, blocking=False))
    assert "0 of 1 replicas" in str(error)


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("how", [{"blocking": False}, {"timeout": 1.5}], ids=["try", "wait"])
def test_what_a_replica_refuses_to_take_back_is_taken_back_when_it_is_a_primary_again(
    alice: Any, start_server: StartServer, make_client: MakeClient, how: dict[str, Any]
) -> None:
    """passing-refusal.

    It was granted, and the server is a replica before that could be confirmed.
    """
    server = start_server()
    lock = make_client(server.url, replicas_to_wait=1).lock(NAME)
    asked = alice.begin(lock.acquire, lease=3600, **how)
    eventually(lambda: server.inspect.exists(NAME))
    server.inspect.replicaof("127.0.0.1", 1)
    assert isinstance(asked.exception(BOUND), (holdfast.ServerError, holdfast.LockTimeout))
    refused = server.scripts_run() or 0
    eventually(lambda: (server.scripts_run() or 0) >= refused + 2)
    assert server.inspect.exists(NAME)
    server.inspect.replicaof("NO", "ONE")
    eventually(lambda: not server.inspect.exists(NAME))


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("denied", ["a right", "the command"])
def test_a_server_without_wait_is_an_error_before_anything_is_granted(
    alice: Any, start_server: StartServer, make_client: MakeClient, denied: str, tmp_path: Path
) -> None:
    """missing-commands: never guessed. Without the option nothing of it is needed."""
    without = tmp_path / "without.conf"
    without.write_text('rename-command WAIT ""\n')
    server = start_server({} if denied == "a right" else {"include": str(without)})
    if denied == "a right":
        server.inspect.execute_command("ACL", "SETUSER", "default", "-wait")
    with server.recording() as recording:
        client = make_client(server.url, replicas_to_wait=1)
        with pytest.raises(holdfast.ServerError, match="replicas_to_wait") as told:
            alice.do(client.lock(NAME).acquire)
        assert told.value.code == ("NOPERM" if denied == "a right" else "ERR")
        assert not recording.scripted
    plain = make_client(server.url).lock(NAME)
    assert alice.do(plain.acquire)
