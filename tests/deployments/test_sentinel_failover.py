"""Owners and waiters when the sentinels make another server the primary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

import holdfast
from tests.deployments.conftest import CHANNEL, NAME, begin_waiting, refuse_demotion
from tests.support.owners import MakeClient
from tests.support.renewals import see_renewals
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [pytest.mark.servers("real")]

LEASE = 24.0
"""A watchdog's lease that outlives a failover, also on a busy machine."""

LONG = 180.0
"""Seconds that a busy machine may take to fail over."""


FailOver = Callable[[Service], Server]


def _by_command(service: Service) -> Server:
    return service.fail_over()


def _by_kill(service: Service) -> Server:
    old = service.primary
    old.stop()
    return service.new_primary(old)


def _by_freeze(service: Service) -> Server:
    old = service.primary
    old.pause()
    return service.new_primary(old)


@pytest.fixture(params=[_by_command, _by_kill, _by_freeze], ids=["command", "kill", "freeze"])
def fail_over(request: pytest.FixtureRequest) -> FailOver:
    """One way to another primary."""
    way: FailOver = request.param
    return way


@pytest.fixture
def client(service: Service, make_client: MakeClient) -> Any:
    """A patient client of the service."""
    return make_client(service.url, lease=LEASE, command_timeout=LONG)


@pytest.fixture
def locks(client: Any, service: Service, make_client: MakeClient) -> tuple[Any, Any]:
    """A lock, and the same of another patient client."""
    return client.lock(NAME), make_client(service.url, command_timeout=LONG).lock(NAME)


@pytest.mark.realtime
def test_a_hold_and_a_waiter_survive(
    alice: Any, bob: Any, locks: tuple[Any, Any], service: Service, fail_over: FailOver
) -> None:
    """failover-with-lock.

    The hold is there, renewals follow, and the release wakes the waiter at once.
    """
    lock, theirs = locks
    alice.do(lock.acquire)
    waiting = begin_waiting(bob, theirs, service)
    service.replicated()
    new = fail_over(service)
    eventually(lambda: new.subscribers(CHANNEL) == 1, what="the waiter listens there")
    assert not waiting.done()
    see_renewals(new)
    assert not alice.do(lambda: lock.lost)
    assert alice.do(lock.owned)
    alice.do(lock.release)
    assert waiting.result(LONG) is True
    bob.do(theirs.release)


@pytest.mark.realtime
def test_a_release_during_a_failover_lets_the_waiter_in(
    alice: Any, bob: Any, locks: tuple[Any, Any], service: Service
) -> None:
    """failover-with-lock: nothing but the failover itself is waited for."""
    lock, theirs = locks
    alice.do(lock.acquire, lease=3600)
    waiting = begin_waiting(bob, theirs, service)
    service.replicated()
    old = service.primary
    old.stop()
    releasing = alice.begin(lock.release)
    service.new_primary(old)
    releasing.result(LONG)
    assert waiting.result(LONG) is True
    bob.do(theirs.release)


@pytest.mark.realtime
def test_a_failover_that_loses_the_lock_is_reported_to_its_owner(
    alice: Any, bob: Any, client: Any, make_client: MakeClient, service: Service
) -> None:
    """failover-without-lock: the grant reached no replica.

    The holder learns it long before its next renewal.
    """
    lost: list[Any] = []
    lock = make_client(service.url, lease=3600, command_timeout=LONG).lock(
        NAME, on_lost=lost.append
    )
    alice.do(client.ping)
    replicas = service.cut_off_replicas()
    alice.do(lock.acquire)
    old = service.primary
    old.stop()
    for replica in replicas:
        replica.resume()
    new = service.new_primary(old)
    eventually(lambda: alice.do(lambda: lock.lost))
    assert new.keys() == set()
    theirs = client.lock(NAME)
    assert bob.do(theirs.acquire, blocking=False)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    eventually(lambda: lost == [lock])
    assert bob.do(theirs.owned)


def test_a_primary_that_was_cut_off_is_left_though_it_still_answers(
    alice: Any, bob: Any, locks: tuple[Any, Any], service: Service
) -> None:
    """old-primary: the sentinels name another.

    The old one does not know, and takes every command.
    """
    lock, theirs = locks
    alice.do(lock.acquire, lease=3600)
    waiting = begin_waiting(bob, theirs, service)
    service.replicated()
    old = service.primary
    refuse_demotion(old)
    new = service.fail_over()
    eventually(lambda: new.subscribers(CHANNEL) == 1)
    eventually(lambda: old.subscribers(CHANNEL) == 0)
    assert old.inspect.role()[0] == b"master"
    before = old.scripts_run()
    alice.do(lock.release)
    assert waiting.result(LONG) is True
    bob.do(theirs.release)
    assert old.scripts_run() == before
    assert new.keys() == set()


def test_a_demoted_primary_is_not_written_to(alice: Any, client: Any, service: Service) -> None:
    """old-primary.

    One READONLY is enough; and nothing is lost when the server is a primary again.
    """
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    primary, replica = service.primary, service.replicas[0]
    asked, run = _roles_asked(primary), primary.scripts_run()
    primary.inspect.replicaof("127.0.0.1", replica.port)
    releasing = alice.begin(lock.release)
    eventually(lambda: _roles_asked(primary) >= asked + 5)
    assert primary.scripts_run() == run + 1
    assert not releasing.done()
    primary.inspect.replicaof("NO", "ONE")
    releasing.result(LONG)
    assert alice.do(lock.acquire, blocking=False)


def _roles_asked(server: Server) -> int:
    calls: int = server.inspect.info("commandstats").get("cmdstat_hello", {}).get("calls", 0)
    return calls


def test_an_old_primary_that_comes_back_is_not_used(
    alice: Any, client: Any, service: Service
) -> None:
    """old-primary: it thinks that it is the primary until the sentinels have told it."""
    _comes_back_and_is_not_used(alice, client, service)


@pytest.mark.slow
def test_an_old_primary_that_has_become_a_replica_is_not_used(
    alice: Any, client: Any, service: Service
) -> None:
    """It takes the sentinels ten seconds to tell it."""
    old = _comes_back_and_is_not_used(alice, client, service)
    eventually(lambda: _role(old) == b"slave")
    alice.do(client.lock(NAME).acquire)
    assert _scripts_run(old) == 0


def _comes_back_and_is_not_used(alice: Any, client: Any, service: Service) -> Server:
    alice.do(client.ping)
    old = service.primary
    old.stop()
    new = service.new_primary(old)
    old.start()
    for number in range(20):
        alice.do(client.lock(f"lock {number}").acquire)
    assert _scripts_run(old) == 0
    assert len(new.keys()) == 20
    return old


def _scripts_run(server: Server) -> int | None:
    try:
        return server.scripts_run()
    except redis.ConnectionError:  # a sentinel that demotes a server cuts all its connections
        return server.scripts_run()


def _role(server: Server) -> bytes | None:
    try:
        role: bytes = server.inspect.role()[0]
    except redis.ConnectionError:  # as above
        return None
    return role
