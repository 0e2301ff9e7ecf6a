"""A cluster is used like a single server, for every kind and whatever slots its names have."""

from __future__ import annotations

from concurrent.futures import Future
from time import time
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.contract.kinds import KINDS, SYNCHRONIZERS, Kind, Synchronizer
from tests.deployments.conftest import LASTING, LONG, NAME, wait
from tests.support.clusters import Cluster, slot_of
from tests.support.impostors import closed_port
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass, stays

pytestmark = pytest.mark.servers("real")

SPREAD = [f"lock-{n}" for n in range(12)]
"""Names whose slots are on all servers."""


def _wait(cluster: Cluster, channel: bytes, waiting: Future[Any]) -> Future[Any]:
    eventually(lambda: waiting.done() or cluster.listeners(channel) > 0)
    return waiting


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_each_kind_excludes_and_wakes(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, kind: Kind
) -> None:
    """A waiter is woken by the release, whatever the kind, long before the lease is over."""
    held = kind.make(make_client(cluster.url, lease=LONG), NAME)
    rival = (kind.make_rival or kind.make)(make_client(cluster.url, lease=LONG), NAME)
    assert alice.do(held.acquire)
    assert not bob.do(rival.acquire, blocking=False)
    waiting = bob.begin(rival.acquire)
    if kind.listens:
        _wait(cluster, kind.channel(kind.keys(NAME)[0]), waiting)
    assert not waiting.done()
    alice.do(held.release)
    assert waiting.result(BOUND)
    bob.do(rival.release)


@pytest.mark.parametrize("kind", SYNCHRONIZERS, ids=repr)
def test_each_synchronizer_reports_it(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any, kind: Synchronizer
) -> None:
    """Permits that come into being, and a latch that opens, wake who waits for them."""
    mine, theirs = (kind.make(make_client(cluster.url), NAME) for _ in range(2))
    if kind.name == "count_down_latch":
        alice.do(mine.try_set_count, 1)
        waiting = _wait(cluster, kind.channel(NAME), bob.begin(theirs.wait))
        alice.do(mine.count_down)
    else:
        waiting = _wait(cluster, kind.channel(NAME), bob.begin(theirs.acquire))
        alice.do(kind.begin, mine)
    assert waiting.result(BOUND)


def test_names_are_on_all_servers(cluster: Cluster, client_of: Any, alice: Any) -> None:
    """Each name's lock is on the server that has its slot, and nowhere else."""
    locks = [client_of.lock(name) for name in SPREAD]
    for lock in locks:
        assert alice.do(lock.acquire)
    assert len({cluster.primary_of(name).port for name in SPREAD}) == 3
    for name in SPREAD:
        assert len(cluster.holders(name)) == 1
    for lock in locks:
        alice.do(lock.release)
    assert not cluster.keys()


def test_members_of_a_multi_lock_may_have_any_slots(
    cluster: Cluster, client_of: Any, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """A lock made of locks needs no common tag."""
    whole = client_of.multi_lock(*(client_of.lock(name) for name in SPREAD[:4]))
    other = make_client(cluster.url).lock(SPREAD[3])
    assert len({slot_of(name) for name in SPREAD[:4]}) == 4
    assert alice.do(whole.acquire)
    assert not bob.do(other.acquire, blocking=False)
    alice.do(whole.release)
    assert bob.do(other.acquire, blocking=False)
    bob.do(other.release)


@pytest.mark.realtime
def test_holds_on_all_servers_are_renewed(
    cluster: Cluster, make_client: MakeClient, alice: Any
) -> None:
    """The watchdog reaches every server."""
    client = make_client(cluster.url, lease=LASTING)
    locks = [client.lock(name) for name in SPREAD]
    for lock in locks:
        alice.do(lock.acquire)
    stays(lambda: all(cluster.holders(name) for name in SPREAD), 1.2 * LASTING)
    assert not any(lock.lost for lock in locks)


@pytest.mark.parametrize(
    "name", ["x{y", "x}y", "{}x", "{}{x}", b"\xff{"], ids=["open", "close", "empty", "both", "raw"]
)
def test_a_name_of_two_slots_is_refused(
    cluster: Cluster, client_of: Any, name: str | bytes
) -> None:
    """Where a name's keys would be in another slot, nothing is sent and the error says so."""
    for make in (
        client_of.lock,
        client_of.fair_lock,
        client_of.fenced_lock,
        client_of.spin_lock,
        client_of.read_write_lock,
        client_of.semaphore,
        client_of.permit_semaphore,
        client_of.count_down_latch,
    ):
        with pytest.raises(ValueError, match=r"cannot be a name in a cluster.*slots"):
            make(name)


def test_a_tag_is_welcome_but_in_a_latch(cluster: Cluster, client_of: Any, alice: Any) -> None:
    """A tag puts names into one slot; a latch's channel has additional braces around its name."""
    lock = client_of.lock("order:{42}:lock")
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    with pytest.raises(ValueError, match=r"without braces$"):
        client_of.count_down_latch("order:{42}:latch")


def test_a_prefix_counts(cluster: Cluster, make_client: MakeClient) -> None:
    """The name is judged as the server gets it."""
    with pytest.raises(ValueError, match="'app}x'"):
        make_client(cluster.url, name_prefix="app}").lock("x")


@pytest.mark.parametrize("name", ["x{y", "x}y", "{}x"])
def test_a_single_server_takes_any_name(
    cluster: Cluster, make_client: MakeClient, alice: Any, name: str, server: Any
) -> None:
    """There, all keys are in one place."""
    lock = make_client(server.url).lock(name)
    assert alice.do(lock.acquire)
    alice.do(lock.release)


def test_one_living_seed_is_enough(cluster: Cluster, make_client: MakeClient, alice: Any) -> None:
    """Seeds without a listener are skipped."""
    with closed_port() as port:
        url = f"redis+cluster://127.0.0.1:{port},127.0.0.1:{cluster.servers[4].port}"
        lock = make_client(url).lock(NAME)
        assert alice.do(lock.acquire)
        alice.do(lock.release)


def test_a_seed_that_says_nothing_is_passed_over(
    cluster: Cluster, make_client: MakeClient, alice: Any
) -> None:
    """The next server is queried long before the silent one's time is up."""
    silent = cluster.servers[5]
    silent.pause()
    try:
        url = f"redis+cluster://127.0.0.1:{silent.port},127.0.0.1:{cluster.servers[0].port}"
        lock = make_client(url, command_timeout=BOUND, connect_timeout=BOUND).lock(NAME)
        assert alice.begin(lock.acquire).result(BOUND / 2)
    finally:
        silent.resume()
    alice.do(lock.release)


@pytest.mark.parametrize("command_timeout", [0.9, 1.3, 2.3])
def test_a_failure_is_reported_though_others_are_being_asked(
    make_client: MakeClient, private_server: Server, alice: Any, command_timeout: float
) -> None:
    """The reason is that of the last one who could not say, of this round or the one before."""
    private_server.pause()
    url = private_server.url.replace("redis://", "redis+cluster://:secret@")
    client = make_client(url, connect_timeout=0.5, command_timeout=command_timeout)
    with pytest.raises(holdfast.ConnectionError, match="within 500 ms"):
        alice.do(client.lock(NAME).acquire)
    private_server.resume()


def test_no_server_there(make_client: MakeClient, cluster: Cluster, alice: Any) -> None:
    """Without any server it is a ConnectionError that names one, and no password."""
    with closed_port() as port:
        client = make_client(f"redis+cluster://:secret@127.0.0.1:{port}", retries=1)
        with pytest.raises(holdfast.ConnectionError, match=str(port)) as raised:
            alice.do(client.lock(NAME).acquire)
    assert "secret" not in str(raised.value)


def test_a_single_server_is_no_cluster(
    make_client: MakeClient, cluster: Cluster, server: Any, alice: Any
) -> None:
    """The error says which URL is the right one."""
    client = make_client(f"redis+cluster://127.0.0.1:{server.port}", retries=1)
    with pytest.raises(holdfast.ConnectionError, match="use redis://"):
        alice.do(client.lock(NAME).acquire)


def test_a_healthy_cluster_is_not_asked(cluster: Cluster, client_of: Any, alice: Any) -> None:
    """The slots are queried once, and not again without a failure."""
    lock = client_of.lock(NAME)
    alice.do(lock.acquire)
    asked = cluster.calls("cluster|slots")
    view = cluster.primary_of(NAME)  # which asks, too: once for each server
    between = cluster.calls("cluster|slots") - asked
    for _ in range(20):
        alice.do(lock.release)
        alice.do(lock.acquire)
    let_pass(0.7)  # longer than the survey ever rests
    assert cluster.calls("cluster|slots") == asked + between
    assert view.running
    alice.do(lock.release)


def test_close_ends_waits(
    cluster: Cluster, near: Any, client_of: Any, alice: Any, bob: Any
) -> None:
    """A waiter gets the error at once."""
    alice.do(near.acquire)
    waiting = wait(cluster, bob, client_of.lock(NAME))
    alice.do(client_of.close)
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        waiting.result(BOUND)


@pytest.mark.flavours("sync")
def test_a_password_is_for_all_servers(server_kind: str) -> None:
    """User and password of the URL open every server, and no message shows them."""
    with Cluster(server_kind, replicas=False, password="hush") as closed:
        url = closed.url.replace("://", "://:hush@")
        with holdfast.Client(url) as client:
            for name in SPREAD:
                with client.lock(name):
                    assert closed.holders(name)
            assert "hush" not in repr(client)
        with (
            holdfast.Client(closed.url.replace("://", "://:wrong@")) as client,
            pytest.raises(holdfast.ServerError) as raised,
        ):
            client.lock(NAME).acquire()
        assert raised.value.code == "WRONGPASS"
        assert "wrong" not in str(raised.value).replace("wrong password", "")


def test_in_a_cluster_the_label_is_in_another_slot(
    cluster: Cluster, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    began = time()
    client = make_client(cluster.url, label="billing worker 3")
    names = [f"lock-{n}" for n in range(6)]
    for name in names:
        alice.do(client.lock(name, label=f"for {name}").acquire)
    other = make_client(cluster.url)

    def said() -> list[tuple[str | None, str | None]]:
        found = [bob.do(other.lock(name).holders) for name in names]
        return [(one.label, one.purpose) for [one] in found]

    eventually(lambda: said() == [("billing worker 3", f"for {name}") for name in names])
    shown = {info.name: info.owners[0] for info in inspect.locks(other)}
    for name in names:
        [holder] = bob.do(other.lock(name).holders)
        assert began - 1 < holder.since < time() + 1
        assert (shown[name].purpose, shown[name].since) == (f"for {name}", holder.since)
    alice.do(client.lock("unsaid").acquire)
    eventually(lambda: bob.do(other.lock("unsaid").holders)[0].since)
    for name in (*names, "unsaid"):
        alice.do(client.lock(name).release)
    key = f"holdfast:client:{client.id}"
    kept = cluster.primary_of(key).inspect
    eventually(lambda: not any(b":" in field for field in kept.hkeys(key)))
