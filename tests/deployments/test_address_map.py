"""Address maps: the servers announce addresses that the client cannot reach, as behind NAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.deployments.conftest import CHANNEL, LONG, NAME, begin_waiting, wait
from tests.support.certificates import make_certificates
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.processes import Child, StartChild
from tests.support.proxy import FaultProxy
from tests.support.sentinels import Service
from tests.support.servers import free_port
from tests.support.waiting import BOUND, eventually

pytestmark = [pytest.mark.servers("real")]

HOST = "127.0.0.1"
FAILOVER = 60.0

Address = tuple[str, int]
Table = dict[Address, Address]
MakeMap = Callable[[Table], Any]


class BrokenTunnel(Exception):
    """What a callable raises."""


@pytest.fixture(scope="module")
def running_hidden() -> Iterator[dict[str, Cluster]]:
    """Clusters by kind, formed once for all tests of this file."""
    with ExitStack() as stack:
        yield _Formed(stack)


class _Formed(dict[str, Cluster]):
    def __init__(self, stack: ExitStack) -> None:
        super().__init__()
        self._stack = stack

    def __missing__(self, kind: str) -> Cluster:
        cluster = self._stack.enter_context(Cluster(kind, replicas=False))
        cluster.announce([free_port() for _ in cluster.servers])
        self[kind] = cluster
        return cluster


@pytest.fixture
def hidden(server_kind: str, running_hidden: dict[str, Cluster]) -> Iterator[Cluster]:
    """A cluster whose servers announce ports at which nothing listens."""
    cluster = running_hidden[server_kind]
    cluster.flush()
    yield cluster
    cluster.heal()


def table_of(cluster: Cluster) -> Table:
    """Where each announced server is reachable, by another name."""
    return {
        (HOST, int(server.settings["cluster-announce-port"])): ("localhost", server.port)
        for server in cluster.servers
    }


@pytest.fixture(params=["table", "callable"])
def make_map(request: pytest.FixtureRequest) -> MakeMap:
    """An address map of either form, of a table."""
    if request.param == "table":
        return dict
    return lambda table: lambda announced: table.get(announced, announced)


def names_on_all(cluster: Cluster) -> list[str]:
    """A name on each primary."""
    found: dict[int, str] = {}
    numbers = count()
    while len(found) < len(cluster.servers):
        name = f"lock {next(numbers)}"
        found.setdefault(cluster.primary_of(name).port, name)
    return list(found.values())


def test_without_a_map_the_announced_servers_are_out_of_reach(
    hidden: Cluster, make_client: MakeClient, alice: Any
) -> None:
    client = make_client(hidden.url, command_timeout=1.0)
    with pytest.raises(holdfast.ConnectionError):
        alice.do(client.lock(NAME).acquire)


def test_the_locks_of_all_servers_are_taken(
    hidden: Cluster, make_client: MakeClient, make_map: MakeMap, alice: Any
) -> None:
    client = make_client(hidden.url, address_map=make_map(table_of(hidden)))
    for name in names_on_all(hidden):
        assert alice.do(client.lock(name).acquire)
    assert len(hidden.keys()) == len(hidden.servers)
    for name in names_on_all(hidden):
        alice.do(client.lock(name).release)


def test_a_waiter_and_a_holder_follow_a_slot_that_moves(
    hidden: Cluster, make_client: MakeClient, make_map: MakeMap, alice: Any, bob: Any
) -> None:
    """The redirections name addresses as the list of slots does."""
    addresses = make_map(table_of(hidden))
    near = make_client(hidden.url, lease=LONG, address_map=addresses).lock(NAME)
    far = make_client(hidden.url, lease=LONG, address_map=addresses).lock(NAME)
    alice.do(near.acquire)
    waiting = wait(hidden, bob, far)
    hidden.migrate_slot(NAME)
    eventually(lambda: hidden.subscribers(CHANNEL) > 0)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_a_key_in_a_moving_slot_is_found_by_ask(
    hidden: Cluster, make_client: MakeClient, make_map: MakeMap, alice: Any
) -> None:
    lock = make_client(hidden.url, address_map=make_map(table_of(hidden))).lock(NAME)
    source, target = hidden.begin_migration(NAME)
    assert alice.do(lock.acquire)
    assert target.keys() == {NAME.encode()}
    hidden.end_migration(source, target, NAME)
    alice.do(lock.release)


def test_seeds_are_used_as_they_are_written(
    hidden: Cluster, make_client: MakeClient, alice: Any
) -> None:
    seeds = {(HOST, server.port): (HOST, 1) for server in hidden.servers}
    client = make_client(hidden.url, address_map={**table_of(hidden), **seeds})
    assert alice.do(client.lock(NAME).acquire)
    alice.do(client.lock(NAME).release)


def test_what_the_callable_raises_is_the_cause_of_the_connection_error(
    hidden: Cluster, make_client: MakeClient, alice: Any
) -> None:
    def broken(_announced: Address) -> Address:
        raise BrokenTunnel

    client = make_client(hidden.url, address_map=broken, command_timeout=1.0)
    with pytest.raises(holdfast.ConnectionError, match="address_map raised BrokenTunnel") as caught:
        alice.do(client.lock(NAME).acquire)
    assert isinstance(caught.value.__cause__, BrokenTunnel)


@pytest.mark.parametrize("result", [None, "localhost", ("localhost", "7000"), ("localhost", 0)])
def test_a_result_that_is_no_address_is_an_error(
    hidden: Cluster, make_client: MakeClient, alice: Any, result: Any
) -> None:
    client = make_client(hidden.url, address_map=lambda _: result, command_timeout=1.0)
    with pytest.raises(holdfast.ConnectionError) as caught:
        alice.do(client.lock(NAME).acquire)
    assert isinstance(caught.value.__cause__, TypeError | ValueError)
    assert "result of the callable given as address_map" in str(caught.value.__cause__)


@pytest.mark.flavours("sync")
def test_the_inspector_reaches_all_servers(
    hidden: Cluster, make_client: MakeClient, make_map: MakeMap, alice: Any
) -> None:
    client = make_client(hidden.url, address_map=make_map(table_of(hidden)))
    names = names_on_all(hidden)
    for name in names:
        alice.do(client.lock(name).acquire)
    assert {lock.name for lock in inspect.locks(client)} == set(names)
    for name in names:
        alice.do(client.lock(name).release)


HOLDER = """
table = dict(TABLE)
address_map = table if FORM == "table" else lambda announced: table.get(announced, announced)
client = holdfast.Client(URL, guard=True, lease=120, address_map=address_map)
for name in NAMES:
    client.lock(name).acquire()
say("held")
hear("end")
"""

StartHolder = Callable[[list[str], str], Child]


@pytest.fixture
def start_holder(hidden: Cluster, start_child: StartChild) -> StartHolder:
    """Start a program with a guard that holds locks of these names, by a map of this form."""

    def start(names: list[str], form: str) -> Child:
        table = list(table_of(hidden).items())
        child = start_child(HOLDER, URL=hidden.url, NAMES=names, TABLE=table, FORM=form)
        child.expect("held", 30.0)
        return child

    return start


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("form", ["table", "callable"])
def test_the_guard_follows_with_the_same_map(
    hidden: Cluster, start_holder: StartHolder, make_client: MakeClient, alice: Any, form: str
) -> None:
    names = names_on_all(hidden)
    holder = start_holder(names, form)
    next_owner = make_client(hidden.url, address_map=table_of(hidden))
    for name in names:
        assert not alice.do(next_owner.lock(name).acquire, blocking=False)
    holder.kill()
    for name in names:
        assert alice.do(next_owner.lock(name).acquire, timeout=BOUND)
        alice.do(next_owner.lock(name).release)


@pytest.mark.flavours("sync")
def test_the_guard_maps_a_server_that_its_client_has_not_used(
    hidden: Cluster, start_holder: StartHolder, make_client: MakeClient, alice: Any
) -> None:
    holder = start_holder([NAME], "table")
    hidden.migrate_slot(NAME)
    next_owner = make_client(hidden.url, address_map=table_of(hidden)).lock(NAME)
    assert not alice.do(next_owner.acquire, blocking=False)
    holder.kill()
    assert alice.do(next_owner.acquire, timeout=BOUND)
    alice.do(next_owner.release)


# ---- a service under Sentinel


@pytest.fixture
def tunnels(service: Service) -> Iterator[dict[int, FaultProxy]]:
    """A tunnel to each server and sentinel of the service, by its port."""
    with ExitStack() as stack:
        everyone = [*service.servers, *service.sentinels]
        yield {each.port: stack.enter_context(FaultProxy(each.port)) for each in everyone}


@pytest.fixture
def make_lock(
    service: Service, tunnels: dict[int, FaultProxy], make_client: MakeClient, make_map: MakeMap
) -> Callable[[], Any]:
    """The lock of ever another client that is given one sentinel, and the tunnels as a map."""
    table = {(HOST, port): (HOST, tunnel.port) for port, tunnel in tunnels.items()}
    options: dict[str, Any] = {"address_map": make_map(table), "command_timeout": FAILOVER}
    url = service.url_of(service.sentinels[0])
    return lambda: make_client(url, **options, lease=LONG).lock(NAME)


def test_what_sentinels_announce_is_reached_through_the_tunnels(
    service: Service,
    tunnels: dict[int, FaultProxy],
    make_lock: Callable[[], Any],
    alice: Any,
    bob: Any,
) -> None:
    """The primary and the other sentinels at first; a replica once it is the primary."""
    lock = make_lock()
    alice.do(lock.acquire)
    assert tunnels[service.primary.port].connections > 0
    others = [tunnels[sentinel.port] for sentinel in service.sentinels[1:]]
    eventually(lambda: all(tunnel.connections > 0 for tunnel in others))
    assert tunnels[service.sentinels[0].port].connections == 0
    waiting = begin_waiting(bob, make_lock(), service)
    new = service.fail_over()
    eventually(lambda: tunnels[new.port].connections > 0)
    eventually(lambda: new.subscribers(CHANNEL) == 1)
    alice.do(lock.release)
    assert waiting.result(FAILOVER)


# ---- TLS


@pytest.mark.servers("redis")  # Valkey's wheel is built without TLS
def test_certificates_are_checked_for_the_host_that_is_connected_to(
    tmp_path: Any, make_client: MakeClient, alice: Any
) -> None:
    """127.0.0.1 is in the certificate, localhost is not."""
    tls = make_certificates(tmp_path)
    with Cluster("redis", tls=tls, replicas=False) as cluster:
        options: dict[str, Any] = {"tls_ca": str(tls / "ca.crt"), "command_timeout": 2.0}
        announced = [(HOST, server.port) for server in cluster.servers]
        right = make_client(cluster.url, address_map={each: each for each in announced}, **options)
        assert alice.do(right.lock(NAME).acquire)
        alice.do(right.lock(NAME).release)
        wrong = {each: ("localhost", each[1]) for each in announced}
        with pytest.raises(holdfast.ConnectionError, match=r"localhost.*certificate"):
            alice.do(make_client(cluster.url, address_map=wrong, **options).lock(NAME).acquire)


# ---- arguments


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ("10.0.0.1:7000", TypeError, "address_map must be a mapping or a callable, not str"),
        ([(("h", 1), ("h", 2))], TypeError, "must be a mapping or a callable, not list"),
        ({"h": ("h", 2)}, TypeError, r"key 'h' of address_map must be \(str, int\)"),
        ({("h", "1"): ("h", 2)}, TypeError, r"not \(str, str\)"),
        ({("h", 1): "h:2"}, TypeError, r"address_map\[\('h', 1\)\] must be \(str, int\)"),
        ({("h", 1): ("h", True)}, TypeError, r"not \(str, bool\)"),
        ({("h", 1): ("h", 2, 3)}, TypeError, r"not \(str, int, int\)"),
        ({("h", 0): ("h", 2)}, ValueError, "port must be from 1 to 65535, not 0"),
        ({("h", 1): ("h", 65536)}, ValueError, "port must be from 1 to 65535, not 65536"),
        ({("h", 1): ("", 2)}, ValueError, r"address_map\[\('h', 1\)\]: the host must be"),
        ({("h", 1): ("[::1]", 2)}, ValueError, "without brackets"),
        ({("h", 1): ("a b", 2)}, ValueError, "the host must be"),
    ],
)
def test_a_map_of_wrong_types_is_refused(
    make_client: MakeClient, value: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make_client("redis+cluster://127.0.0.1:1", address_map=value)


def test_a_single_server_takes_no_map(make_client: MakeClient) -> None:
    with pytest.raises(ValueError, match="address_map needs a URL with sentinels or a cluster"):
        make_client("redis://127.0.0.1:1", address_map={})


def test_a_url_takes_no_map(make_client: MakeClient) -> None:
    with pytest.raises(ValueError, match="use the keyword address_map="):
        make_client("redis+cluster://127.0.0.1:1?address_map=x")
