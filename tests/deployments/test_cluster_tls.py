"""A cluster whose servers speak TLS only, to clients and to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import holdfast
from tests.deployments.conftest import CHANNEL, LONG, NAME, wait
from tests.support.certificates import make_certificates
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.waiting import BOUND, eventually

# Valkey's wheel is built without TLS.
pytestmark = pytest.mark.servers("redis")

FAILOVER = 60.0
"""As in test_cluster_failover."""


@pytest.fixture(scope="module")
def running_guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Formed once for all tests of this file."""
    tls = make_certificates(tmp_path_factory.mktemp("tls"))
    with Cluster("redis", tls=tls) as cluster:
        yield cluster


@pytest.fixture
def guarded(running_guarded: Cluster) -> Iterator[Cluster]:
    """A cluster without keys, to which only TLS leads."""
    running_guarded.flush()
    yield running_guarded
    running_guarded.heal()


MakeLock = Callable[[], Any]


@pytest.fixture
def make_lock(guarded: Cluster, make_client: MakeClient) -> MakeLock:
    """The same lock of ever another client, which trusts the authority."""
    ca = str(guarded.servers[0].tls / "ca.crt")  # type: ignore[operator]
    options: dict[str, Any] = {"tls_ca": ca, "lease": LONG, "command_timeout": FAILOVER}
    return lambda: make_client(guarded.url, **options).lock(NAME)


def test_holder_and_waiter_follow_a_slot_over_tls(
    guarded: Cluster, make_lock: MakeLock, alice: Any, bob: Any
) -> None:
    """MOVED names a port only; what leads there is TLS again, for commands and for messages."""
    near, far = make_lock(), make_lock()
    alice.do(near.acquire)
    waiting = wait(guarded, bob, far)
    source, target = guarded.migrate_slot(NAME)
    eventually(lambda: guarded.sharded(CHANNEL, target) == 1)
    alice.do(near.acquire)
    assert list(guarded.holders(NAME).values()) == [2]
    assert not source.keys()
    alice.do(near.release)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_holder_and_waiter_survive_a_failover_over_tls(
    guarded: Cluster, make_lock: MakeLock, alice: Any, bob: Any
) -> None:
    """failover-with-lock.

    The replica that takes the dead primary's place is reached, and trusted, as that was.
    """
    near, far = make_lock(), make_lock()
    alice.do(near.acquire)
    waiting = wait(guarded, bob, far)
    primary = guarded.primary_of(NAME)
    replica = guarded.replica_of(primary)
    primary.inspect.wait(1, 5000)
    primary.stop()
    guarded.await_promotion(replica)
    eventually(lambda: guarded.sharded(CHANNEL, replica) == 1)
    assert not alice.do(lambda: near.lost)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_servers_of_an_unknown_authority_are_refused(
    guarded: Cluster, make_client: MakeClient, alice: Any
) -> None:
    """The error says which option is about it."""
    client = make_client(guarded.url, command_timeout=3)
    with pytest.raises(holdfast.ConnectionError, match="tls_ca"):
        alice.do(client.lock(NAME).acquire)
