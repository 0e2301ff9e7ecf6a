"""pytest fixtures over servers.py, for every folder of tests.

`server`: a running server, empty at the start of each test, shared by the session: a test may not
stop it or change its configuration. `private_server`: a fresh server of the test's own, real ones
only, to be broken at will. A test that uses either runs on one installed kind of server, or on
each: see matrix.py. `@pytest.mark.servers("redis", "valkey")` or `("real")` narrows the kinds for a
test, a class or a module, and `pytest --servers redis` for a run.
`pytest --servers sentinel,cluster tests/contract` runs the same against a service under Sentinel,
and a cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.clusters import LoneCluster
from tests.support.matrix import choose_server
from tests.support.sentinels import WatchedServer
from tests.support.servers import Server
from tests.support.waiting import eventually


def _is_of_this_test(record: logging.LogRecord) -> bool:
    """Whether a record of the library may be this test's.

    What a client held when it was closed is reported at the end of the lease, which may be during
    a later test.
    """
    return not record.getMessage().endswith("was lost: its client was closed")


def pytest_configure() -> None:
    logging.getLogger("holdfast").addFilter(_is_of_this_test)


@pytest.fixture
def server_kind(request: pytest.FixtureRequest) -> str:
    """The kind of server of this run of the test."""
    kind: str = request.param if hasattr(request, "param") else choose_server(request.node)
    request.node.add_report_section("setup", "server", kind)
    request.node.user_properties.append(("server", kind))
    return kind


@pytest.fixture(scope="session")
def running_servers() -> Iterator[dict[str, Server]]:
    """The session's servers by kind, started at first use."""
    servers: dict[str, Server] = {}
    yield servers
    for server in servers.values():
        server.close()


def _new(kind: str) -> Server:
    if kind == "sentinel":
        return WatchedServer()
    return LoneCluster() if kind == "cluster" else Server(kind)


@pytest.fixture
def server(server_kind: str, running_servers: dict[str, Server]) -> Server:
    """A shared server with no keys and no subscribers on it."""
    if server_kind not in running_servers:
        new = _new(server_kind)
        new.start()  # or the next test tries again
        running_servers[server_kind] = new
    chosen = running_servers[server_kind]
    if server_kind != "fakeredis":  # a closed client ends its subscriptions a little later
        eventually(lambda: not chosen.subscribed_channels(), what="the last test's waiters left")
    chosen.flush()
    return chosen


StartServer = Callable[..., Server]


@pytest.fixture
def start_server(server_kind: str) -> Iterator[StartServer]:
    """Start further real servers of this kind: `start_server(settings, password=…, tls=…)`."""
    with ExitStack() as stack:

        def start(settings: Mapping[str, str] | None = None, **options: Any) -> Server:
            return stack.enter_context(Server(server_kind, settings, **options))

        yield start


@pytest.fixture
def private_server(start_server: StartServer) -> Server:
    """A real server of the test's own, to stop, pause, fill and misconfigure."""
    return start_server()
