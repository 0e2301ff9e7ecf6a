"""Renewals go by any connection that works; the server's words say why another cannot be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import NAME, SHORT
from tests.support.fixtures import StartServer
from tests.support.limits import no_descriptors
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

pytestmark = [pytest.mark.servers("redis"), pytest.mark.realtime]

LEASE = 3.0
FULL = "max number of clients"
USER = "program"


@contextmanager
def full(server: Server) -> Iterator[None]:
    """The server has as many clients as it may have."""
    server.inspect.config_set("maxclients", 1)
    try:
        yield
    finally:
        server.inspect.config_set("maxclients", 10000)


@contextmanager
def password(server: Server) -> Iterator[None]:
    """A new connection needs a password; those that are there stay."""
    server.inspect.config_set("requirepass", "another")
    try:
        yield
    finally:
        server.inspect.config_set("requirepass", "")


@contextmanager
def other_password(server: Server) -> Iterator[None]:
    """The user of the client has another password; the connections that are there stay."""
    server.inspect.execute_command("ACL", "SETUSER", USER, "resetpass", ">another")
    yield


@contextmanager
def without_descriptors(_server: Server) -> Iterator[None]:
    with no_descriptors():
        yield


REFUSALS = [full, password, other_password, without_descriptors]


@pytest.fixture
def own(start_server: StartServer) -> Server:
    return start_server()


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: each.__name__)
def test_a_hold_is_renewed_by_the_connection_that_is_there(
    alice: Any,
    own: Server,
    make_client: MakeClient,
    refusal: Callable[[Server], AbstractContextManager[None]],
) -> None:
    """no-new-connection: none can be made for renewals, and the one for calls works."""
    options: dict[str, Any] = {"lease": LEASE, "tracking": "off"}
    if refusal is other_password:
        rights = ("on", ">old", "allkeys", "allchannels", "allcommands")
        own.inspect.execute_command("ACL", "SETUSER", USER, *rights)
        options |= {"username": USER, "password": "old"}
    client = make_client(own.url, **options)
    lost: list[Any] = []
    lock = client.lock(NAME, on_lost=lost.append)
    alice.do(lock.acquire)
    with refusal(own):
        before = client.stats().renewals
        eventually(lambda: client.stats().renewals >= before + 2)
        assert not lost
    alice.do(lock.release)


def test_a_hold_survives_the_silence_of_its_connection(
    alice: Any, make_client: MakeClient, proxy: FaultProxy
) -> None:
    """no-new-connection: nothing passes the connection for renewals, and nothing resets it.

    Others work.
    """
    client = make_client(proxy.url, lease=LEASE)
    lost: list[Any] = []
    lock = client.lock(NAME, on_lost=lost.append)
    alice.do(lock.acquire)
    eventually(lambda: client.stats().tracked == 1)
    before = client.stats().renewals
    proxy.silence_renewals()
    eventually(lambda: lost or client.stats().renewals > before)
    assert not lost
    alice.do(lock.release)


def test_a_full_server_is_not_asked_again_and_again(
    alice: Any, own: Server, make_client: MakeClient
) -> None:
    """no-new-connection.

    The pause between two attempts grows to a second, also beside holds that are renewed.
    """
    client = make_client(own.url, lease=LEASE, tracking="off")
    for number in range(20):
        alice.do(client.lock(f"{NAME}{number}").acquire)
    with full(own):
        before = client.stats().renewals
        eventually(lambda: client.stats().renewals >= before + 60)
        refused = own.inspect.info("stats")["rejected_connections"]
    assert 1 <= refused < 30
    eventually(lambda: len(own.connections()) >= 2)  # the one for renewals is there


def test_a_loss_says_what_the_server_said(alice: Any, own: Server, make_client: MakeClient) -> None:
    """no-new-connection: no connection is left, and the server takes none."""
    client = make_client(own.url, lease=SHORT, tracking="off")
    lost: list[Any] = []
    lock = client.lock(NAME, on_lost=lost.append)
    alice.do(lock.acquire)
    with full(own):
        own.kill_connections()
        eventually(lambda: lost)
    with pytest.raises(holdfast.LockLostError, match=FULL):
        alice.do(lock.release)


def test_an_acquire_at_a_full_server(alice: Any, own: Server, make_client: MakeClient) -> None:
    """no-new-connection: it is out of reach, which is no answer to a command."""
    client = make_client(own.url)
    with full(own):
        for how in ({"blocking": False}, {"timeout": 0.5}):
            with pytest.raises(holdfast.ConnectionError, match=FULL):
                alice.do(client.lock(NAME).acquire, **how)
    assert alice.do(client.lock(NAME).acquire, timeout=BOUND)


def test_a_waiter_outlasts_a_full_server(
    alice: Any, bob: Any, own: Server, make_client: MakeClient
) -> None:
    """no-new-connection.

    It goes on, and is granted the lock when the server takes clients again.
    """
    client = make_client(own.url)
    with full(own):
        waiting = bob.begin(client.lock(NAME).acquire)
        stays(lambda: not waiting.done(), during=0.5)
    assert waiting.result(BOUND) is True
