"""Servers at which nothing listens: a caller hears so in time for its deadline, not later."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import NAME
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.impostors import closed_port, impostor
from tests.support.owners import MakeClient
from tests.support.waiting import BOUND, Stopwatch

pytestmark = [pytest.mark.servers("redis"), pytest.mark.realtime]

PATIENT: dict[str, Any] = {"retries": 100_000, "command_timeout": 600, "connect_timeout": 600}
"""Options of clients whose other callers wait for longer than a test does."""


def _refused_after(actor: Any, acquire: Any, **how: Any) -> float:
    watch = Stopwatch()
    with pytest.raises(holdfast.ConnectionError, match=r"is a server running there\?"):
        actor.do(acquire, **how)
    return watch.seconds


@pytest.mark.parametrize(
    ("how", "least"),
    [({"blocking": False}, 0), ({"timeout": 0}, 0.1), ({"timeout": 1.5}, 1.5)],
    ids=["no wait", "no time", "a deadline"],
)
def test_a_refused_connection_comes_out_by_the_deadline(
    alice: Any, make_client: MakeClient, how: dict[str, Any], least: float
) -> None:
    """nothing-listens: a lock and a semaphore, again and again.

    Not before, since a server may restart.
    """
    with closed_port() as port:
        client = make_client(f"redis://127.0.0.1:{port}", **PATIENT)
        for each in (client.lock(NAME), client.semaphore("s"), client.lock(NAME)):
            assert _refused_after(alice, each.acquire, **how) >= least


def test_an_impatient_caller_is_answered_while_a_patient_one_waits(
    alice: Any, bob: Any, make_client: MakeClient, start_server: StartServer
) -> None:
    """nothing-listens: each has its own time.

    The patient one gets the lock once the server is back.
    """
    server = start_server()
    client = make_client(server.url, **PATIENT)
    server.stop()
    waiting = bob.begin(client.lock(NAME).acquire)
    for _ in range(4):
        _refused_after(alice, client.lock("other").acquire, blocking=False)
    assert not waiting.done()
    server.start()
    assert waiting.result(BOUND) is True


def test_a_server_that_restarts_in_time_is_found(
    alice: Any, make_client: MakeClient, start_server: StartServer
) -> None:
    """nothing-listens.

    However long the rests between attempts have become, the last moment is used.
    """
    server = start_server()
    client = make_client(server.url, **PATIENT)
    server.stop()
    with suppress(holdfast.ConnectionError):
        alice.do(client.lock(NAME).acquire, timeout=2.5)  # rests are a second long by now
    server.start()
    assert alice.do(client.lock(NAME).acquire, blocking=False) is True


def test_a_red_lock_of_servers_that_refuse_connections(
    alice: Any, make_client: MakeClient, flavour: Flavour
) -> None:
    """nothing-listens, failed-members: a majority that is gone is reported by the deadline too."""
    module = importlib.import_module("holdfast.asyncio" if flavour.asyncio else "holdfast")
    with closed_port() as one, closed_port() as two, closed_port() as three:
        clients = [make_client(f"redis://127.0.0.1:{p}", **PATIENT) for p in (one, two, three)]
        red = module.RedLock(*(client.lock(NAME) for client in clients))
        multi = clients[0].multi_lock(*(client.lock("m") for client in clients))
        for lock in (red, multi):
            _refused_after(alice, lock.acquire, blocking=False)
            assert _refused_after(alice, lock.acquire, timeout=1) >= 1


@pytest.mark.parametrize("kind", ["sentinel", "cluster"])
def test_a_deployment_that_refuses_connections(
    alice: Any, make_client: MakeClient, kind: str
) -> None:
    """nothing-listens: where the servers are not known since those that know refuse connections."""
    with closed_port() as one, closed_port() as two:
        path = "/service" if kind == "sentinel" else ""
        client = make_client(f"redis+{kind}://127.0.0.1:{one},127.0.0.1:{two}{path}", **PATIENT)
        with pytest.raises(holdfast.ConnectionError, match=f"{one}|{two}"):
            alice.do(client.lock(NAME).acquire, blocking=False)


@pytest.mark.parametrize("answer", [None, b"-ERR unknown command\r\n"], ids=["silent", "answers"])
def test_tls_to_a_port_of_plain_text(
    alice: Any, make_client: MakeClient, start_server: StartServer, answer: bytes | None
) -> None:
    """tls-mismatch: Redis waits for the end of the line.

    Others answer in words. Told in a second.
    """

    def refused(port: int) -> float:
        client = make_client(f"rediss://127.0.0.1:{port}", **PATIENT)
        acquire = client.lock(NAME).acquire
        for _ in range(2):
            with pytest.raises(holdfast.ConnectionError, match="answers in plain text"):
                alice.do(acquire)

    if answer is None:
        refused(start_server(password="secret").port)
        return
    with impostor(answer) as port:
        refused(port)


def test_a_slow_handshake_is_waited_for(alice: Any, make_client: MakeClient) -> None:
    """tls-mismatch: silence alone is no sign of plain text."""
    with impostor(None) as port:
        client = make_client(f"rediss://127.0.0.1:{port}", command_timeout=2)
        watch = Stopwatch()
        with pytest.raises(holdfast.ConnectionError, match="TLS"):
            alice.do(client.lock(NAME).acquire)
        assert watch.seconds >= 2
