"""Fixtures of the fault tests: a faulty way to the server, and a lock on either side of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from tests.contract.kinds import KINDS, Kind
from tests.contract.permits import Permits
from tests.support.matrix import spread
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"

SHORT = 0.6
"""A watchdog lease for what is to be lost: soon over."""
LASTING = 3.0
"""A watchdog lease for what is to be kept: a machine that is busy for two seconds keeps it."""
IMPATIENT = 1.0
"""A `command_timeout` for what is to run into it; long enough for a busy machine otherwise."""


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    """A way to the shared server that can be broken."""
    with FaultProxy(server.port) as proxy:
        yield proxy


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    spread(metafunc, "kind", KINDS)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of lock, for tests of all of them."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def near(make_client: MakeClient, server: Server) -> Any:
    """A lock whose client reaches the server directly."""
    return make_client(server.url).lock(NAME)


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """The same lock, of another client, that reaches the server through the proxy."""
    return make_client(proxy.url).lock(NAME)


@pytest.fixture
def permits(server: Server, flavour: Any, make_client: MakeClient) -> Permits:
    return Permits(server, flavour, make_client)


def holds(server: Server, name: str = NAME) -> dict[bytes, int]:
    """The owners of a lock on the server, and their hold counts."""
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


@contextmanager
def endless_script(server: Server) -> Iterator[None]:
    """A script of another client runs during this block: the server refuses commands with BUSY."""
    server.inspect.config_set("busy-reply-threshold", 20)
    with server.connect(single_connection_client=True) as looping:
        looping.connection.send_command("EVAL", "while true do end", 0)
        eventually(lambda: _is_busy(server))
        yield
        server.inspect.script_kill()


def _is_busy(server: Server) -> bool:
    try:
        server.inspect.ping()
    except redis.ResponseError as refused:
        return str(refused).startswith("BUSY")
    return False


def left(kind: Kind, server: Server) -> set[bytes]:
    """What is on the server but for what locks of this kind leave behind on purpose."""
    there = server.keys()
    return {key for key in there if not key.startswith(kind.stays)}
