"""Names with several addresses: one of them is dead, or leads to the wrong server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import NAME
from tests.support.certificates import make_certificates
from tests.support.fixtures import StartServer
from tests.support.impostors import Scripted, scripted
from tests.support.managed import Managed
from tests.support.names import Names
from tests.support.processes import Child, StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server, free_port

pytestmark = [pytest.mark.servers("real"), pytest.mark.realtime]

FIRST, SECOND = "127.0.0.2", "127.0.0.3"

PROGRAM = """
def timed(call):
    begun = time.monotonic()
    result = call()
    return f"{time.monotonic() - begun:.3f}", result

with holdfast.Client(URL, **OPTIONS) as client:
    say("first", *timed(client.ping))
    hear("again")
    say("second", *timed(client.ping))
    hear("end")
"""


@contextmanager
def silent(host: str, port: int) -> Iterator[None]:
    """Nothing answers there: the queue of the listener is full, and the kernel drops the rest."""
    with ExitStack() as stack:
        stack.enter_context(socket.create_server((host, port), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex((host, port))
        yield


@pytest.fixture
def start(start_child: StartChild, names: Names) -> Any:
    """Start a program whose URL has the name: `start(program, port, **names_in_it)`."""

    def start(program: str, port: int, *, scheme: str = "redis", **values: Any) -> Child:
        url = f"{scheme}://{Names.NAME}:{port}/0"
        return start_child(program, environment=names.environment, URL=url, **values)

    return start


@pytest.fixture(params=["tcp", "tls"])
def secured(
    request: pytest.FixtureRequest, start_server: StartServer, tmp_path: Path
) -> tuple[Server, str, dict[str, Any]]:
    """A server, the scheme of its URL and the options for it."""
    if request.param == "tcp":
        return start_server(), "redis", {}
    tls = make_certificates(tmp_path / "tls", f"DNS:{Names.NAME}")
    return start_server(tls=tls), "rediss", {"tls_ca": str(tls / "ca.crt")}


def test_the_second_address_is_used_while_the_first_is_silent(
    secured: tuple[Server, str, dict[str, Any]], names: Names, start: Any
) -> None:
    """several-addresses.

    A quarter of a second later, within any `connect_timeout`; and first from then on.
    """
    server, scheme, options = secured
    port = free_port()
    names.lead_to(FIRST, SECOND)
    with silent(FIRST, port), FaultProxy(server.port, host=SECOND, port=port) as way:
        options = {**options, "connect_timeout": 1.0}
        child = start(PROGRAM, port, scheme=scheme, OPTIONS=options)
        seconds, reached = child.expect("first")
        assert reached == "True"
        assert 0.2 < float(seconds) < 1.0
        way.cut()
        child.send("again")
        seconds, reached = child.expect("second")
        assert reached == "True"
        assert float(seconds) < 0.2
        child.send("end")
        assert child.wait() == 0


def test_an_address_that_has_failed_is_not_the_first_any_more(
    private_server: Server, names: Names, start: Any
) -> None:
    """several-addresses: the one that was used is refused; the other one works."""
    port = free_port()
    names.lead_to(FIRST, SECOND)
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        first.enter_context(FaultProxy(private_server.port, host=FIRST, port=port))
        stack.enter_context(FaultProxy(private_server.port, host=SECOND, port=port))
        child = start(PROGRAM, port, OPTIONS={})
        assert child.expect("first")[1] == "True"
        first.close()
        child.send("again")
        assert child.expect("second")[1] == "True"
        child.send("end")
        assert child.wait() == 0


LOCKING = """
with holdfast.Client(URL, lease=60.0) as client:
    lock = client.lock(NAME)
    say("acquired", lock.acquire(timeout=30))
    hear("again")
    lock.release()
    say("again", lock.acquire(blocking=False))
    lock.release()
"""


def test_the_address_of_a_replica_is_not_used(server_kind: str, names: Names, start: Any) -> None:
    """several-addresses.

    Whatever the resolver's order; and after the two have changed their places.
    """
    port = free_port()
    names.lead_to(FIRST, SECOND)
    with ExitStack() as stack:
        managed = stack.enter_context(Managed(server_kind))
        managed.replicated()
        for host, server in ((FIRST, managed.replica), (SECOND, managed.primary)):
            stack.enter_context(FaultProxy(server.port, host=host, port=port))
        child = start(LOCKING, port, NAME=NAME)
        assert child.expect("acquired") == ["True"]
        managed.replicated()
        managed.promote()
        child.send("again")
        assert child.expect("again") == ["True"]
        assert child.wait() == 0


WAITING = """
with holdfast.Client(URL, command_timeout=60.0) as client:
    say("pinged", client.ping())
    hear("acquire")
    say("acquired", client.lock(NAME).acquire(timeout=50))
"""


class OutOfOrder(Scripted):
    """A server that refuses all scripts for the same reason."""

    def __init__(self, state: str) -> None:
        super().__init__()
        self._refusal = f"-{state} not now\r\n".encode()

    def reply_to(self, words: list[bytes]) -> bytes:
        if words[0] == b"PING":
            return b"+PONG\r\n"
        return self._refusal if words[0] in {b"EVALSHA", b"EVAL"} else super().reply_to(words)


@pytest.mark.parametrize("state", ["LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN"])
def test_a_server_that_is_out_of_order_is_left_for_a_new_address(
    state: str, private_server: Server, names: Names, start: Any
) -> None:
    """hidden-failover: it goes on refusing; a second later the name is resolved once more."""
    port = free_port()
    names.lead_to(FIRST)
    with (
        scripted(OutOfOrder(state), FIRST, port),
        FaultProxy(private_server.port, host=SECOND, port=port),
    ):
        child = start(WAITING, port, NAME=NAME)
        assert child.expect("pinged") == ["True"]
        child.send("acquire")
        names.lead_to(SECOND)
        assert child.expect("acquired") == ["True"]
        assert private_server.inspect.exists(NAME)
