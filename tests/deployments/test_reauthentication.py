"""Credentials that expire, of all servers of a cluster and of a service under Sentinel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, LONG, NAME, begin_waiting, wait
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = [pytest.mark.servers("real")]

PERIOD = 0.3
RIGHTS = ("on", ">word", "+@all", "~*", "&*")


def issue(servers: Sequence[Server], user: str) -> None:
    for server in servers:
        server.inspect.execute_command("ACL", "SETUSER", user, *RIGHTS)


def end(servers: Sequence[Server], user: str) -> None:
    """The servers end this user's connections, too."""
    for server in servers:
        server.inspect.execute_command("ACL", "DELUSER", user)


def users(servers: Sequence[Server]) -> set[str]:
    """The users of the client's connections."""
    return {
        each["user"]
        for server in servers
        for each in server.connections()
        if each["user"] in {"first", "second"}
    }


@pytest.fixture
def given() -> list[str]:
    """The user of the moment, and the password of both."""
    return ["first", "word"]


@pytest.fixture
def options(given: list[str]) -> dict[str, Any]:
    return {"password": lambda: tuple(given), "reauthenticate": PERIOD, "lease": LONG}


@pytest.fixture
def guarded(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with two users."""
    for user in ("first", "second"):
        issue(cluster.servers, user)
    yield cluster
    for user in ("first", "second"):
        end(cluster.servers, user)


def test_a_holder_and_a_waiter_of_a_cluster_outlive_their_first_credentials(
    guarded: Cluster, make_client: MakeClient, given: list[str], options: Any, owners: Any
) -> None:
    alice, bob = owners
    near, far = (make_client(guarded.url, **options).lock(NAME) for _ in range(2))
    alice.do(near.acquire)
    waiting = wait(guarded, bob, far)
    given[0] = "second"
    eventually(lambda: users(guarded.servers) == {"second"})
    end(guarded.servers, "first")
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


@pytest.fixture
def owners(alice: Any, bob: Any) -> tuple[Any, Any]:
    return alice, bob


def test_a_holder_and_a_waiter_of_a_service_outlive_their_first_credentials(
    service: Service, make_client: MakeClient, given: list[str], options: Any, owners: Any
) -> None:
    alice, bob = owners
    for user in ("first", "second"):
        issue(service.servers, user)
    near, far = (make_client(service.url, **options).lock(NAME) for _ in range(2))
    alice.do(near.acquire)
    waiting = begin_waiting(bob, far, service)
    given[0] = "second"
    eventually(lambda: users(service.servers) == {"second"})
    end(service.servers, "first")
    assert service.primary.subscribers(CHANNEL) == 1
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)
