"""Fixtures of the fault tests: a faulty way to the server, and a lock on either side of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.contract.kinds import KINDS, Kind
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"

SHORT = 0.6
"""A watchdog lease for what is to be lost: soon over."""
LASTING = 2.0
"""A watchdog lease for what is to be kept: a machine that is busy for a second keeps it."""
IMPATIENT = 1.0
"""A `command_timeout` for what is to run into it; long enough for a busy machine otherwise."""


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    """A way to the shared server that can be broken."""
    with FaultProxy(server.port) as proxy:
        yield proxy


@pytest.fixture(params=KINDS, ids=repr)
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


def holds(server: Server, name: str = NAME) -> dict[bytes, int]:
    """The owners of a lock on the server, and their hold counts."""
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


def see_renewals(server: Server, times: int = 1, key: str | bytes = NAME) -> None:
    """Wait until the lease of a hold was made longer so often: one that was lost is not."""
    left: list[int] = []

    def are_seen() -> bool:
        left.append(server.inspect.pttl(key))
        return sum(later > earlier for earlier, later in pairwise(left)) == times

    eventually(are_seen, what=f"{times} renewals of {key!r}")


def left(kind: Kind, server: Server) -> set[bytes]:
    """What is on the server but for what locks of this kind leave behind on purpose."""
    there = server.keys()
    return {key for key in there if not key.startswith(kind.stays)}
