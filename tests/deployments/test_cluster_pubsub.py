"""Which messages reach which waiters in a cluster: sharded, classic, or both ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployments.conftest import CHANNEL, LONG, NAME, wait
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")


SPREAD = [f"lock-{n}" for n in range(4)]
"""Names whose slots are on all servers, however tests before have moved them."""


def _heard(cluster: Cluster) -> tuple[int, int]:
    """How many are subscribed: sharded, classic."""
    sharded = sum(cluster.sharded(CHANNEL, server) for server in cluster.servers)
    return sharded, cluster.subscribers(CHANNEL) - sharded


HEARD = {"auto": (1, 0), "sharded": (1, 0), "classic": (0, 1), "both": (1, 1)}


@pytest.mark.parametrize("how", HEARD)
def test_a_waiter_subscribes_as_configured(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, how: str
) -> None:
    """On a server that knows sharded channels, "auto" is sharded."""
    client, other = (make_client(cluster.url, pubsub=how, lease=LONG) for _ in range(2))
    alice.do(client.lock(NAME).acquire)
    waiting = wait(cluster, bob, other.lock(NAME))
    assert _heard(cluster) == HEARD[how]
    alice.do(client.lock(NAME).release)
    assert waiting.result(BOUND)
    bob.do(other.lock(NAME).release)


@pytest.mark.parametrize(
    "ways",
    [
        ("auto", "sharded"),
        ("classic", "classic"),
        ("both", "sharded"),
        ("both", "classic"),
        ("sharded", "both"),
        ("classic", "both"),
        ("both", "both"),
    ],
    ids="-".join,
)
def test_who_speaks_and_who_hears(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, ways: tuple[str, str]
) -> None:
    """The holder's way, and the waiter's: who is "both" reaches and hears everybody."""
    held = make_client(cluster.url, pubsub=ways[0], lease=LONG).lock(NAME)
    lock = make_client(cluster.url, pubsub=ways[1]).lock(NAME)
    alice.do(held.acquire)
    waiting = wait(cluster, bob, lock)
    alice.do(held.release)
    assert waiting.result(BOUND)
    bob.do(lock.release)


@pytest.mark.parametrize("how", HEARD)
def test_pushed_messages_wake_on_every_server(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, how: str
) -> None:
    """RESP3, in which messages are pushed: all connections speak it, to whichever server."""
    options = {"protocol": 3, "pubsub": how, "lease": LONG}
    client, other = (make_client(cluster.url, client_name="three", **options) for _ in range(2))
    for name in SPREAD:
        alice.do(client.lock(name).acquire)
        waiting = wait(cluster, bob, other.lock(name), f"redisson_lock__channel:{{{name}}}")
        alice.do(client.lock(name).release)
        assert waiting.result(BOUND)
        bob.do(other.lock(name).release)
    primaries = {cluster.primary_of(name) for name in SPREAD}
    assert len(primaries) == 3
    for server in primaries:
        spoken = {c.get("resp") for c in server.connections() if c["name"].startswith("three:")}
        assert spoken == {"3"}


@pytest.mark.parametrize("how", HEARD)
def test_a_pushed_message_comes_from_where_the_slot_is(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, how: str
) -> None:
    """RESP3: that a subscription has ended is pushed, too; the waiter listens at the new server."""
    options = {"protocol": 3, "pubsub": how, "lease": LONG}
    client, other = (make_client(cluster.url, **options) for _ in range(2))
    alice.do(client.lock(NAME).acquire)
    waiting = wait(cluster, bob, other.lock(NAME))
    source, target = cluster.migrate_slot(NAME)
    sharded, _ = HEARD[how]
    eventually(lambda: cluster.sharded(CHANNEL, target) == sharded)
    assert cluster.sharded(CHANNEL, source) == 0
    alice.do(client.lock(NAME).release)
    assert waiting.result(BOUND)
    bob.do(other.lock(NAME).release)


@pytest.mark.flavours("sync")
def test_without_sharded_channels_auto_is_classic(
    cluster: Cluster, near: Any, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """A server that does not answer PUBSUB SHARDNUMSUB is taken for one without, as by Redisson."""
    for server in cluster.servers:
        server.inspect.execute_command(
            "ACL", "SETUSER", "old", "on", ">pass", "~*", "&*", "+@all",
            "-pubsub|shardnumsub", "-spublish", "-ssubscribe",
        )  # fmt: skip
    held, lock = (make_client(cluster.url, username="old", password="pass") for _ in range(2))
    alice.do(held.lock(NAME).acquire)
    waiting = wait(cluster, bob, lock.lock(NAME))
    assert _heard(cluster) == (0, 1)
    alice.do(held.lock(NAME).release)
    assert waiting.result(BOUND)
    bob.do(lock.lock(NAME).release)


@pytest.mark.flavours("sync")
def test_a_classic_waiter_follows_its_slot(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """A message on a classic channel goes to all servers, so it is heard wherever one listens."""
    held = make_client(cluster.url, pubsub="classic", lease=LONG).lock(NAME)
    lock = make_client(cluster.url, pubsub="classic").lock(NAME)
    alice.do(held.acquire)
    waiting = wait(cluster, bob, lock)
    cluster.migrate_slot(NAME)
    alice.do(held.release)
    assert waiting.result(BOUND)
    bob.do(lock.release)


@pytest.mark.flavours("sync")
def test_how_is_an_option_of_the_url(cluster: Cluster, make_client: MakeClient) -> None:
    """Of a cluster, or of a proxy in front of one, and one of four words."""
    make_client(f"{cluster.url}?pubsub=both")
    with pytest.raises(ValueError, match="pubsub must be one of"):
        make_client(f"{cluster.url}?pubsub=loud")
