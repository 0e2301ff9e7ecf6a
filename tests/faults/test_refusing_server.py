"""Servers that answer with an error which passes by itself: never taken for "held by another"."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest
import redis

import holdfast
from tests.faults.conftest import IMPATIENT, NAME, endless_script
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.servers import Server, free_port
from tests.support.waiting import BOUND, Stopwatch, eventually, stays

pytestmark = pytest.mark.realtime

PERMITS = "permits"
"""A semaphore with some, from before the state."""


@contextmanager
def read_only(server: Server) -> Iterator[None]:
    server.inspect.replicaof("127.0.0.1", 1)
    yield
    server.inspect.replicaof("NO", "ONE")


@contextmanager
def without_primary(server: Server) -> Iterator[None]:
    server.inspect.config_set("replica-serve-stale-data", "no")
    with read_only(server):
        yield


@contextmanager
def without_replicas(server: Server) -> Iterator[None]:
    server.inspect.config_set("min-replicas-to-write", 1)
    yield
    server.inspect.config_set("min-replicas-to-write", 0)


@contextmanager
def with_a_full_disk(server: Server) -> Iterator[None]:
    server.inspect.bgsave()
    eventually(lambda: server.inspect.info("persistence")["rdb_last_bgsave_status"] == "err")
    yield
    server.inspect.config_set("stop-writes-on-bgsave-error", "no")


@contextmanager
def without_slots(server: Server) -> Iterator[None]:
    yield
    server.inspect.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)


STATES = {
    "READONLY": read_only,
    "MASTERDOWN": without_primary,
    "NOREPLICAS": without_replicas,
    "MISCONF": with_a_full_disk,
    "BUSY": endless_script,
    "CLUSTERDOWN": without_slots,
}
START: dict[str, dict[str, str]] = {
    # A folder in which no user can make a file, not even root.
    "MISCONF": {"dir": "/proc", "save": "3600 1000000"},
    "CLUSTERDOWN": {"cluster-enabled": "yes"},
}


class Refusing:
    """A server that refuses with `code` from now on, until `heal`."""

    def __init__(self, code: str, server: Server, heal: contextlib.ExitStack) -> None:
        self.code = code
        self.server = server
        self._heal = heal

    def heal(self) -> None:
        self._heal.close()


@pytest.fixture(params=STATES)
def refusing(request: pytest.FixtureRequest, start_server: StartServer) -> Iterator[Refusing]:
    """A server in one of the states."""
    code: str = request.param
    settings = {"cluster-port": str(free_port())} if code == "CLUSTERDOWN" else {}
    server = start_server({**START.get(code, {}), **settings})
    if code != "CLUSTERDOWN":
        server.inspect.set(PERMITS, 5)
    with contextlib.ExitStack() as state:
        state.enter_context(STATES[code](server))
        yield Refusing(code, server, state)


def test_a_try_names_the_state_soon(
    alice: Any, refusing: Refusing, make_client: MakeClient
) -> None:
    """passing-refusal: `blocking=False` is a ServerError whatever the command_timeout."""
    lock = make_client(refusing.server.url, command_timeout=600).lock(NAME)
    with pytest.raises(holdfast.ServerError, match=refusing.code) as refused:
        alice.do(lock.acquire, blocking=False)
    assert refused.value.code == refusing.code
    assert NAME in str(refused.value)
    assert str(refusing.server.port) in str(refused.value)


def test_a_hold_object_that_does_not_wait_names_the_state(
    alice: Any, refusing: Refusing, make_client: MakeClient
) -> None:
    """passing-refusal: `hold(wait=0)` is a try, too.

    Its LockTimeout always means "held by another".
    """
    lock = make_client(refusing.server.url, command_timeout=600).lock(NAME)
    with pytest.raises(holdfast.ServerError, match=refusing.code):
        alice.do(lock.hold, wait=0)


def test_a_wait_with_a_limit_ends_as_a_time_out_that_names_the_state(
    alice: Any, refusing: Refusing, make_client: MakeClient
) -> None:
    """passing-refusal: LockTimeout, not False, which would mean "held by another".

    Its cause is the state.
    """
    lock = make_client(refusing.server.url, command_timeout=IMPATIENT).lock(NAME)
    watch = Stopwatch()
    with pytest.raises(holdfast.LockTimeout, match=refusing.code) as late:
        alice.do(lock.acquire, timeout=2 * IMPATIENT)
    assert watch.seconds >= 2 * IMPATIENT, "it is asked until the deadline, past command_timeout"
    assert isinstance(late.value.__cause__, holdfast.ServerError)
    assert late.value.__cause__.code == refusing.code


def test_a_wait_without_a_limit_ends_with_the_command_timeout(
    alice: Any, refusing: Refusing, make_client: MakeClient
) -> None:
    """passing-refusal: no caller waits for ever for a server that is out of order."""
    lock = make_client(refusing.server.url, command_timeout=IMPATIENT).lock(NAME)
    with pytest.raises(holdfast.ServerError, match=refusing.code):
        alice.do(lock.acquire)


def test_a_wait_lasts_longer_than_the_state(
    alice: Any, refusing: Refusing, make_client: MakeClient, flavour: Flavour
) -> None:
    """passing-refusal: a waiter gets the lock when the server works again."""
    client = make_client(refusing.server.url, command_timeout=BOUND)
    waiting: list[Future[Any]] = [
        alice.begin(client.lock("first").acquire),
        flavour.actor().begin(client.lock("second").acquire, timeout=BOUND),
    ]
    eventually(lambda: _refused(refusing.server) >= 4)
    assert not any(each.done() for each in waiting)
    refusing.heal()
    assert [each.result(BOUND) for each in waiting] == [True, True]


def _refused(server: Server) -> int:
    """How many commands it has refused so far, where it can be asked."""
    try:
        return sum(int(error["count"]) for error in server.inspect.info("errorstats").values())
    except redis.ResponseError:
        return 4


def test_other_kinds_do_not_take_the_state_for_held_or_empty(
    alice: Any, refusing: Refusing, make_client: MakeClient
) -> None:
    """passing-refusal: the same for whatever is waited for."""
    client = make_client(refusing.server.url)
    waited_for = (
        client.semaphore(PERMITS),
        client.permit_semaphore(PERMITS),
        client.fair_lock(NAME),
        client.spin_lock(NAME),
    )
    for each in waited_for:
        with pytest.raises(holdfast.ServerError, match=refusing.code):
            alice.do(each.acquire, blocking=False)
        with pytest.raises(holdfast.LockTimeout, match=refusing.code):
            alice.do(each.acquire, timeout=1)


@pytest.mark.awaited
def test_a_release_is_carried_on_until_the_state_has_passed(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """lost-release, passing-refusal: the caller gets an error.

    The lock is free soon after the server works again.
    """
    lock = make_client(private_server.url, command_timeout=IMPATIENT).lock(NAME)
    alice.do(lock.acquire, lease=3600)
    with read_only(private_server):
        with pytest.raises(holdfast.ServerError, match="READONLY"):
            alice.do(lock.release)
        assert private_server.keys() == {NAME.encode()}
    eventually(lambda: private_server.keys() == set())
    alice.do(lock.release)


@pytest.mark.awaited
def test_a_late_release_leaves_a_new_hold_alone(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """lost-release, passing-refusal: an owner that has acquired again meanwhile keeps its grant."""
    lock = make_client(private_server.url, command_timeout=IMPATIENT).lock(NAME)
    alice.do(lock.acquire, lease=3600)
    with read_only(private_server):
        with pytest.raises(holdfast.ServerError, match="READONLY"):
            alice.do(lock.release)
        again = alice.begin(lock.acquire, timeout=BOUND)
    assert again.result(BOUND) is True
    stays(lambda: alice.do(lock.hold_count) == 1, during=0.6)
    alice.do(lock.release)
    assert private_server.keys() == set()
