"""pytest fixtures over servers.py, for every folder of tests.

`server`: a running server, empty at the start of each test, shared by the session: a test may not
stop it or change its configuration. `private_server`: a fresh server of the test's own, real ones
only, to be broken at will. A test that uses either runs once for each kind of server;
`@pytest.mark.servers("redis", "valkey")` or `("real")` narrows the kinds for a test, a class or a
module, and `pytest --servers redis` for a run. A kind that is not installed is skipped by name.
`pytest --servers sentinel,cluster tests/contract` runs the same against a service under Sentinel,
and a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.clusters import LoneCluster
from tests.support.sentinels import WatchedServer
from tests.support.servers import DEPLOYMENTS, KINDS, REAL_KINDS, Server, why_absent
from tests.support.waiting import eventually

_GROUPS = {"all": KINDS, "real": REAL_KINDS}
_EVERY = (*KINDS, *DEPLOYMENTS)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        default="all",
        help="kinds, by comma: fakeredis, redis, valkey, real, all (default), sentinel, cluster",
    )


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "servers(*kinds): the kinds of servers that a test runs on",
        "flavours(*names): sync or asyncio, where a test is about one of them",
    ):
        config.addinivalue_line("markers", line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server_kind" in metafunc.fixturenames:
        kinds = _kinds(metafunc)
        metafunc.parametrize("server_kind", kinds, indirect=True, scope="session")


def _kinds(metafunc: pytest.Metafunc) -> list[str]:
    wanted = _expand(metafunc.config.getoption("--servers").split(","))
    marker = metafunc.definition.get_closest_marker("servers")
    allowed = _expand(marker.args) if marker else set(_EVERY)
    if "start_server" in metafunc.fixturenames:
        allowed &= set(REAL_KINDS)
    return [kind for kind in _EVERY if kind in wanted & allowed]


def _expand(words: Iterable[str]) -> set[str]:
    kinds: set[str] = set()
    for word in words:
        kinds.update(_GROUPS.get(word, (word,)))
    unknown = kinds - set(_EVERY)
    if unknown:
        raise pytest.UsageError(f"unknown kinds of servers: {sorted(unknown)}")
    return kinds


@pytest.fixture(scope="session")
def server_kind(request: pytest.FixtureRequest) -> str:
    """The kind of server of this run of the test."""
    kind: str = request.param
    reason = why_absent(kind)
    if reason:
        pytest.skip(f"{kind}: {reason}")
    return kind


@pytest.fixture(scope="session")
def running_servers() -> Iterator[dict[str, Server]]:
    """The session's servers by kind, started when first asked for."""
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
        running_servers[server_kind] = _new(server_kind)
        running_servers[server_kind].start()
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
