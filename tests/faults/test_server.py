"""Servers that stall, restart, forget, fill up or refuse."""

from __future__ import annotations

from hashlib import sha1
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import CHANNEL, LASTING, NAME, SHORT, endless_script
from tests.support.owners import MakeClient
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass, stays
from tests.wire.lua.steps import embedded


@pytest.fixture
def lock(private_server: Server, make_client: MakeClient) -> Any:
    """A lock on the private server."""
    return make_client(private_server.url).lock(NAME)


def _wait(actor: Any, lock: Any, server: Server) -> Any:
    waiting = actor.begin(lock.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    return waiting


@pytest.mark.realtime
def test_short_stalls(alice: Any, bob: Any, lock: Any, private_server: Server) -> None:
    """stalled-server: 60 ms of silence, again and again: no caller hangs, nothing is lost."""
    for _ in range(15):
        private_server.pause()
        first = alice.begin(lock.acquire)
        let_pass(0.06)
        private_server.resume()
        assert first.result(BOUND) is True
        second = bob.begin(lock.acquire)
        private_server.pause()
        released = alice.begin(lock.release)
        let_pass(0.06)
        private_server.resume()
        released.result(BOUND)
        assert second.result(BOUND) is True
        bob.do(lock.release)
    assert private_server.keys() == set()


@pytest.mark.slow
@pytest.mark.realtime
def test_a_stall_of_twenty_seconds(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    """stalled-server: a lease of 30 s survives it, and the waiter is not stuck."""
    lost: list[Any] = []
    lock = make_client(private_server.url, command_timeout=40).lock(NAME, on_lost=lost.append)
    alice.do(lock.acquire)
    waiting = _wait(bob, lock, private_server)
    private_server.pause()
    let_pass(20)
    private_server.resume()
    stays(lambda: not alice.do(lambda: lock.lost), during=1)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    assert lost == []


@pytest.mark.realtime
def test_a_stall_delays_only_its_own_clients(
    alice: Any, make_client: MakeClient, private_server: Server, server: Server
) -> None:
    """stalled-server: renewals of other servers go on while one server is silent."""
    stalled = make_client(private_server.url, lease=LASTING)
    for number in range(5):
        alice.do(stalled.lock(f"stalled {number}").acquire)
    lock = make_client(server.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    private_server.pause()
    see_renewals(server, times=3)
    private_server.resume()
    alice.do(lock.release)


@pytest.mark.realtime
def test_restart_with_data(alice: Any, bob: Any, lock: Any, private_server: Server) -> None:
    """restart-with-data: present after kill -9 and restart.

    Still held, still released, waiters woken.
    """
    alice.do(lock.acquire)
    waiting = _wait(bob, lock, private_server)
    private_server.restart(keep_data=True)
    eventually(lambda: private_server.subscribers(CHANNEL) == 1)
    assert alice.do(lock.owned)
    assert not alice.do(lambda: lock.lost)
    assert not waiting.done()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


@pytest.mark.realtime
def test_restart_without_data(alice: Any, bob: Any, lock: Any, private_server: Server) -> None:
    """restart-without-data: forgotten by the server: told at once, and the waiter gets in."""
    alice.do(lock.acquire)
    waiting = _wait(bob, lock, private_server)
    private_server.restart(keep_data=False)
    assert waiting.result(BOUND) is True
    eventually(lambda: alice.do(lambda: lock.lost))
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert bob.do(lock.owned)


@pytest.mark.realtime
def test_renewal_goes_on_after_a_restart(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    """restart-with-data, restart-without-data.

    A hold from before (data kept) and one from after are both renewed.
    """
    client = make_client(private_server.url, lease=3)
    before, after = client.lock("before"), client.lock("after")
    alice.do(before.acquire)
    private_server.restart(keep_data=True)
    alice.do(after.acquire)
    stays(lambda: private_server.keys() == {b"before", b"after"}, during=4)
    alice.do(before.release)
    alice.do(after.release)


def test_a_server_that_is_away_while_asked(alice: Any, lock: Any, private_server: Server) -> None:
    """restart-with-data: a release meets a server that is just starting.

    A server that comes back is found.
    """
    alice.do(lock.acquire)
    private_server.stop()
    releasing = alice.begin(lock.release)
    private_server.start()
    error = releasing.exception(BOUND)
    assert error is None or isinstance(error, (holdfast.LockLostError, holdfast.ConnectionError))
    assert alice.do(lock.acquire)
    alice.do(lock.release)


@pytest.mark.realtime
def test_script_flush(alice: Any, bob: Any, private_server: Server, make_client: Any) -> None:
    """script-flush: scripts are loaded again, unseen: acquire, release, renewal, waiters."""
    lock = make_client(private_server.url, lease=LASTING).lock(NAME)
    for _ in range(3):
        private_server.inspect.script_flush()
        alice.do(lock.acquire)
        waiting = _wait(bob, lock, private_server)
        private_server.inspect.script_flush()
        see_renewals(private_server)
        private_server.inspect.script_flush()
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        private_server.inspect.script_flush()
        assert not alice.do(lock.acquire, blocking=False)
        bob.do(lock.release)


def test_a_hand_over_is_known_to_the_server_after_the_first(
    alice: Any, bob: Any, lock: Any, private_server: Server
) -> None:
    """script-flush.

    Where the server knows the other scripts, so that no acquisition loads them all.
    """
    alice.do(lock.acquire)
    waiting = _wait(bob, lock, private_server)
    private_server.inspect.script_flush()
    scripts = embedded()
    private_server.inspect.script_load(scripts["lock/acquire"])
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    hand_over = sha1(scripts["lock/transfer"].encode()).hexdigest()  # as Redis does
    assert private_server.inspect.script_exists(hand_over) == [True]
    bob.do(lock.release)


@pytest.mark.realtime
def test_out_of_memory(alice: Any, bob: Any, private_server: Server, make_client: Any) -> None:
    """out-of-memory: no new lock, with a clear error; renewal and release work."""
    lock = make_client(private_server.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    with private_server.listening(CHANNEL) as messages:
        private_server.inspect.config_set("maxmemory", 1)
        see_renewals(private_server)
        assert not alice.do(lambda: lock.lost)
        with pytest.raises(holdfast.ServerError, match="OOM") as refused:
            bob.do(make_client(private_server.url).lock("another").acquire)
        assert refused.value.code == "OOM"
        alice.do(lock.release)
        assert messages.received() == [b"0"]
    assert private_server.keys() == set()


def test_a_waiter_that_comes_when_memory_is_out(
    alice: Any, bob: Any, lock: Any, private_server: Server
) -> None:
    """out-of-memory.

    It waits as ever, or raises OOM at once where SUBSCRIBE is refused, as by Redis 8.6.
    """
    alice.do(lock.acquire, lease=3600)
    private_server.inspect.config_set("maxmemory", 1)
    waiting = bob.begin(lock.acquire)
    eventually(lambda: waiting.done() or private_server.subscribers(CHANNEL) == 1)
    if waiting.done():
        with pytest.raises(holdfast.ServerError, match="OOM") as refused:
            waiting.result()
        assert refused.value.code == "OOM"
    alice.do(lock.release)
    if waiting.exception(BOUND) is None:
        bob.do(lock.release)
    assert private_server.keys() == set()


def test_out_of_memory_with_a_waiter(
    alice: Any, bob: Any, lock: Any, private_server: Server
) -> None:
    """out-of-memory: whether the release wakes the waiter or hands the lock over.

    It is never stuck.
    """
    alice.do(lock.acquire, lease=3600)
    waiting = _wait(bob, lock, private_server)
    private_server.inspect.config_set("maxmemory", 1)
    alice.do(lock.release)
    error = waiting.exception(BOUND)
    if error is None:
        bob.do(lock.release)
    else:
        assert isinstance(error, holdfast.ServerError)
    assert private_server.keys() == set()


def test_out_of_memory_under_a_nested_hold(alice: Any, lock: Any, private_server: Server) -> None:
    """out-of-memory: partial releases work too."""
    for _ in range(3):
        alice.do(lock.acquire)
    private_server.inspect.config_set("maxmemory", 1)
    for _ in range(3):
        alice.do(lock.release)
    assert private_server.keys() == set()


def test_a_read_only_server_is_not_a_held_lock(
    alice: Any, lock: Any, private_server: Server
) -> None:
    """passing-refusal: READONLY is an error, whether the caller waits or not.

    Never "held by another".
    """
    alice.do(lock.acquire)
    alice.do(lock.release)
    private_server.inspect.replicaof("127.0.0.1", 1)
    with pytest.raises(holdfast.ServerError) as refused:
        alice.do(lock.acquire, blocking=False)
    assert refused.value.code == "READONLY"
    with pytest.raises(holdfast.HoldfastError):
        alice.do(lock.acquire, timeout=0.2)
    private_server.inspect.replicaof("NO", "ONE")
    assert alice.do(lock.acquire)
    alice.do(lock.release)


@pytest.mark.realtime
def test_a_refused_renewal_is_tried_again_soon(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """stalled-server: each 250 ms, not a third of the lease later.

    That were two before the lease is over.
    """
    client = make_client(private_server.url, lease=6)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    private_server.inspect.replicaof("127.0.0.1", 1)
    eventually(lambda: client.stats().renewal_failures > 2)
    private_server.inspect.replicaof("NO", "ONE")
    eventually(lambda: private_server.inspect.pttl(NAME) > 5000)
    alice.do(lock.release)


def test_too_few_replicas(alice: Any, lock: Any, private_server: Server) -> None:
    """passing-refusal: NOREPLICAS is an error, not a held lock."""
    private_server.inspect.config_set("min-replicas-to-write", 1)
    with pytest.raises(holdfast.ServerError) as refused:
        alice.do(lock.acquire, blocking=False)
    assert refused.value.code == "NOREPLICAS"


@pytest.mark.realtime
def test_a_busy_server_is_waited_for(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """stalled-server, passing-refusal: another's endless script.

    The hold is kept, and the release comes through after.
    """
    lock = make_client(private_server.url, lease=SHORT).lock(NAME)
    alice.do(lock.acquire, lease=60)
    with endless_script(private_server):
        releasing = alice.begin(lock.release)
        stays(lambda: True, during=0.2)
    error = releasing.exception(BOUND)
    assert error is None or getattr(error, "code", "") == "BUSY"
    if error is not None:
        alice.do(lock.release)
    assert private_server.keys() == set()


@pytest.mark.realtime
def test_a_loading_server_is_waited_for(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """passing-refusal: LOADING is no answer: a waiter gets the lock when the data are there."""
    server = private_server
    pipeline = server.inspect.pipeline()
    for number in range(3000):
        pipeline.set(f"key {number}", "v" * 100)
    pipeline.execute()
    server.prepare_restart(keep_data=True)
    server.stop()
    server.settings |= {"key-load-delay": "300", "loading-process-events-interval-bytes": "1024"}
    server.start_without_waiting()
    lock = make_client(server.url).lock(NAME)
    assert alice.do(lock.acquire, timeout=BOUND) is True
    assert server.inspect.dbsize() == 3001
    alice.do(lock.release)


def test_too_many_clients(alice: Any, lock: Any, private_server: Server) -> None:
    """passing-refusal: a server that takes no more connections says so, and is not a held lock."""
    private_server.inspect.config_set("maxclients", 1)
    with pytest.raises(holdfast.HoldfastError, match=r"max number of clients|onnect"):
        alice.do(lock.acquire, blocking=False)
    private_server.inspect.config_set("maxclients", 100)
    assert alice.do(lock.acquire)


@pytest.mark.realtime
def test_a_slow_consumer_is_cut_off_and_comes_back(
    alice: Any, bob: Any, start_server: Any, make_client: MakeClient
) -> None:
    """slow-subscriber: the server drops a subscriber that does not read.

    It subscribes again and asks.
    """
    server = start_server({"client-output-buffer-limit": "pubsub 65536 65536 1"})
    lock = make_client(server.url).lock(NAME)
    alice.do(lock.acquire, lease=3600)
    waiting = _wait(bob, lock, server)

    def is_dropped() -> bool:
        messages = server.inspect.pipeline(transaction=False)
        for _ in range(20):
            messages.publish(CHANNEL, "x" * 1_000_000)
        messages.execute()
        return lock._client.stats().reconnects > 0

    eventually(is_dropped)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
