"""Locks made of locks on several servers, some of which are down, hang, or refuse to work."""

from __future__ import annotations

import importlib
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT, LASTING, NAME, SHORT
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, stays, timed_out

pytestmark = pytest.mark.servers("redis")


Break = Callable[[Server], object]


def _down(server: Server) -> None:
    server.stop()


def _hanging(server: Server) -> None:
    server.pause()


def _refusing(server: Server) -> None:
    server.inspect.config_set("requirepass", "unknown")
    server.kill_connections()


def _read_only(server: Server) -> None:
    server.inspect.replicaof("127.0.0.1", 1)


BREAKS = pytest.mark.parametrize("broken", [_down, _hanging, _refusing], ids=lambda b: b.__name__)


class Cluster:
    """Independent servers, and what is on them."""

    def __init__(self, servers: list[Server], flavour: Flavour, make_client: MakeClient) -> None:
        self.servers = servers
        self._make_client = make_client
        self._module = importlib.import_module(
            "holdfast.asyncio" if flavour.asyncio else "holdfast"
        )

    def red_lock(self, *, watchdog: float = 30, name_prefix: str = "", **options: Any) -> Any:
        """A lock of fresh clients, one for each server."""
        clients = [
            self._make_client(
                server.url, command_timeout=1, lease=watchdog, name_prefix=name_prefix
            )
            for server in self.servers
        ]
        return self._module.RedLock(*(client.lock(NAME) for client in clients), **options)

    def multi_lock(self, *, but: int | None = None) -> Any:
        """All of them, or all but one, by fresh clients."""
        clients = [self._make_client(server.url, command_timeout=1) for server in self.servers]
        locks = [client.lock(NAME) for place, client in enumerate(clients) if place != but]
        return clients[0].multi_lock(*locks)

    def holders(self) -> list[set[bytes]]:
        """The owners on each server, also on one out of the client's reach."""
        return [set(server.inspect.hkeys(NAME)) for server in self.servers]

    def is_held_everywhere(self) -> bool:
        return all(len(owners) == 1 for owners in self.holders())

    def is_empty(self, *, but: int | None = None) -> bool:
        return all(
            server.keys() == set() for place, server in enumerate(self.servers) if place != but
        )


@pytest.fixture
def cluster(start_server: StartServer, flavour: Flavour, make_client: MakeClient) -> Cluster:
    """Three servers."""
    return Cluster([start_server() for _ in range(3)], flavour, make_client)


@pytest.fixture
def five(start_server: StartServer, flavour: Flavour, make_client: MakeClient) -> Cluster:
    return Cluster([start_server() for _ in range(5)], flavour, make_client)


def acquire_everywhere(actor: Any, lock: Any, cluster: Cluster) -> None:
    """Acquire until no server was late: what a late one grants is taken back."""

    def granted() -> bool:
        assert actor.do(lock.acquire)
        if actor.do(lambda: all(each._core.known_count(each._owner()) for each in lock._members)):
            return True
        actor.do(lock.release)
        return False

    eventually(granted, what="a grant by every server")
    assert cluster.is_held_everywhere()


def test_all_servers_hold_it(alice: Any, bob: Any, cluster: Cluster) -> None:
    mine, theirs = cluster.red_lock(), cluster.red_lock()
    acquire_everywhere(alice, mine, cluster)
    assert bob.do(theirs.acquire, blocking=False) is False
    alice.do(mine.release)
    eventually(cluster.is_empty)
    assert bob.do(theirs.acquire, timeout=BOUND)


@pytest.mark.parametrize(
    "broken", [_down, _hanging, _refusing, _read_only], ids=lambda b: b.__name__
)
@pytest.mark.parametrize("place", [0, 2])
def test_a_minority_may_fail(
    alice: Any, bob: Any, cluster: Cluster, broken: Break, place: int
) -> None:
    """failed-members."""
    mine, theirs = cluster.red_lock(), cluster.red_lock()
    alice.do(mine.acquire)
    alice.do(mine.release)
    broken(cluster.servers[place])
    assert alice.do(mine.acquire)
    assert 0 < alice.do(lambda: mine.validity) <= 30 - 0.3 - 0.002
    assert alice.do(mine.owned)
    assert bob.do(theirs.acquire, blocking=False) is False
    alice.do(mine.release)
    eventually(lambda: cluster.is_empty(but=place))
    assert bob.do(theirs.acquire, timeout=BOUND)


@BREAKS
def test_a_majority_that_fails_is_an_error_and_not_held_by_another(
    alice: Any, cluster: Cluster, broken: Break
) -> None:
    """failed-members."""
    lock = cluster.red_lock()
    for server in cluster.servers[1:]:
        broken(server)
    error = holdfast.ServerError if broken is _refusing else holdfast.ConnectionError
    with pytest.raises(error):
        alice.do(lock.acquire, blocking=False)
    with pytest.raises(error):
        alice.do(lock.acquire, timeout=1)
    assert alice.do(lambda: lock.validity) is None
    eventually(lambda: cluster.servers[0].keys() == set())


def test_a_majority_that_refuses_to_work_names_the_state(alice: Any, cluster: Cluster) -> None:
    """passing-refusal."""
    lock = cluster.red_lock()
    assert not alice.do(lock.locked)
    for server in cluster.servers[1:]:
        _read_only(server)
    with pytest.raises(holdfast.ServerError, match="READONLY"):
        alice.do(lock.acquire, blocking=False)
    timed_out(lambda: alice.do(lock.acquire, timeout=1), match="READONLY")
    with pytest.raises(holdfast.ServerError, match="READONLY"):
        alice.do(lock.acquire)
    waiting = alice.begin(lock.acquire, timeout=BOUND)
    for server in cluster.servers[1:]:
        server.inspect.replicaof("NO", "ONE")
    assert waiting.result(BOUND) is True
    alice.do(lock.release)


def test_what_a_hanging_server_grants_late_is_taken_back(alice: Any, cluster: Cluster) -> None:
    """failed-members."""
    lock = cluster.red_lock()
    alice.do(lock.acquire)
    alice.do(lock.release)
    cluster.servers[0].pause()
    alice.do(lock.acquire)
    cluster.servers[0].resume()
    eventually(lambda: cluster.servers[0].keys() == set())
    alice.do(lock.release)
    eventually(cluster.is_empty)


@pytest.mark.flavours("sync")
def test_what_is_taken_back_from_a_dead_server_is_taken_back_once(
    alice: Any, cluster: Cluster
) -> None:
    """failed-members: rounds that it missed do not pile up for the server that comes back."""
    lock, back = cluster.red_lock(), cluster.servers[0]
    back.stop()
    for _ in range(20):
        alice.do(lock.acquire)
        alice.do(lock.release)
    back.start()
    everywhere = False
    while not everywhere:  # what was to be taken back came first
        alice.do(lock.acquire, timeout=BOUND)
        everywhere = all(cluster.holders())
        alice.do(lock.release)
    assert 0 < _evals(back) < 10


def _evals(server: Server) -> int:
    """The scripts that came with their text: releases without a caller do."""
    return int(server.inspect.info("commandstats").get("cmdstat_eval", {}).get("calls", 0))


def test_a_minority_lost_is_no_loss(alice: Any, cluster: Cluster) -> None:
    told: list[Any] = []
    lock = cluster.red_lock(watchdog=LASTING, on_lost=told.append)
    acquire_everywhere(alice, lock, cluster)
    cluster.servers[1].inspect.delete(NAME)
    see_renewals(cluster.servers[0], times=2)
    assert not alice.do(lambda: lock.lost)
    assert alice.do(lock.owned)
    alice.do(lock.release)
    assert alice.do(lambda: lock.lost) is False
    assert told == []


def test_the_log_tells_a_members_loss_from_that_of_the_red_lock(
    alice: Any, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    lock = cluster.red_lock(watchdog=LASTING)
    acquire_everywhere(alice, lock, cluster)
    caplog.clear()

    def logged() -> list[logging.LogRecord]:  # other records may be an earlier test's
        return [each for each in caplog.records if f"red lock '{NAME}'" in each.getMessage()]

    cluster.servers[0].inspect.delete(NAME)
    eventually(lambda: "is held by its majority" in caplog.text)
    (record,) = logged()
    assert record.levelname == "WARNING"
    assert cluster.servers[0].url in record.getMessage()
    assert "was lost" not in record.getMessage()
    cluster.servers[1].inspect.delete(NAME)
    eventually(lambda: f"the hold on the red lock '{NAME}'" in caplog.text)
    assert alice.do(lambda: lock.lost)
    assert logged()[-1].levelname == "ERROR"
    elsewhere = cluster.red_lock(name_prefix="shop:")
    (first, *_) = elsewhere._members
    assert elsewhere._member_of(first._client.id, f"shop:{NAME}".encode()) is first
    assert elsewhere._member_of(first._client.id, NAME.encode()) is None


def test_a_lost_majority_is_reported_once(alice: Any, cluster: Cluster) -> None:
    """failed-members."""
    told: list[Any] = []
    lock = cluster.red_lock(watchdog=SHORT, on_lost=told.append)
    acquire_everywhere(alice, lock, cluster)
    for server in cluster.servers[1:]:
        server.inspect.delete(NAME)
    eventually(lambda: alice.do(lambda: lock.lost))
    eventually(lambda: told == [lock])
    assert alice.do(lambda: lock.validity) is None
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    eventually(cluster.is_empty)
    assert told == [lock]


def test_a_lost_majority_is_released_though_a_minority_hangs(alice: Any, five: Cluster) -> None:
    """failed-members: the outer release releases the members that the inner one left held."""
    lock = five.red_lock(watchdog=LASTING)
    acquire_everywhere(alice, lock, five)
    for server in five.servers[3:]:
        server.pause()
    acquire_on(alice, lock, five.servers[:3])
    five.servers[2].inspect.delete(NAME)
    eventually(lambda: alice.do(lambda: lock._members[2].lost))
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    with suppress(holdfast.HoldfastError):
        alice.do(lock.release)
    eventually(lambda: not any(server.keys() for server in five.servers[:3]))


def acquire_on(actor: Any, lock: Any, servers: list[Server]) -> None:
    """Acquire until none of these servers was late for the hold within another."""
    granted = False
    while not granted:
        assert actor.do(lock.acquire, timeout=BOUND)
        granted = all(server.inspect.hvals(NAME) == [b"2"] for server in servers)
        if not granted:
            actor.do(lock.release)


def test_the_watchdog_keeps_it_while_a_minority_hangs(alice: Any, cluster: Cluster) -> None:
    lock = cluster.red_lock(watchdog=LASTING)
    acquire_everywhere(alice, lock, cluster)
    cluster.servers[2].pause()
    see_renewals(cluster.servers[0], times=4)
    assert alice.do(lambda: lock.validity) is not None
    alice.do(lock.release)
    assert cluster.is_empty(but=2)


def test_an_inner_hold_is_released_alone(alice: Any, cluster: Cluster) -> None:
    lock = cluster.red_lock()
    acquire_everywhere(alice, lock, cluster)
    cluster.servers[0].stop()
    assert alice.do(lock.acquire)
    assert alice.do(lock.hold_count) == 2
    alice.do(lock.release)
    assert alice.do(lock.hold_count) == 1
    alice.do(lock.release)
    assert alice.do(lambda: lock.lost) is False


def test_a_validity_is_the_lease_less_elapsed_time_and_drift(alice: Any, cluster: Cluster) -> None:
    """failed-members: the seconds granted, and later those of them that are left."""
    lock = cluster.red_lock(lease=10)
    assert alice.do(lambda: lock.validity) is None
    watch = Stopwatch()
    alice.do(lock.acquire)
    validity = alice.do(lambda: lock.validity)
    most = 10 - 0.1 - 0.002
    assert most - watch.seconds <= validity <= most
    eventually(lambda: alice.do(lambda: lock.validity) < validity)
    alice.do(lock.release)
    assert alice.do(lambda: lock.validity) is None


@pytest.mark.realtime
def test_a_waiter_wakes_by_the_message(alice: Any, bob: Any, cluster: Cluster) -> None:
    mine, theirs = cluster.red_lock(), cluster.red_lock()
    alice.do(mine.acquire, lease=3600)
    waiting = bob.begin(theirs.acquire)
    channel = f"redisson_lock__channel:{{{NAME}}}"
    eventually(lambda: any(server.subscribers(channel) for server in cluster.servers))
    alice.do(mine.release)
    assert waiting.result(BOUND)


@pytest.mark.flavours("asyncio")
def test_a_cancelled_wait_leaves_nothing(alice: Any, bob: Any, cluster: Cluster) -> None:
    mine, theirs = cluster.red_lock(), cluster.red_lock()
    alice.do(mine.acquire)
    before = cluster.holders()
    bob.begin(theirs.acquire)
    channel = f"redisson_lock__channel:{{{NAME}}}"
    eventually(lambda: any(server.subscribers(channel) for server in cluster.servers))
    bob.cancel()
    eventually(lambda: not any(server.subscribers(channel) for server in cluster.servers))
    eventually(lambda: cluster.holders() == before)


def test_a_close_amid_a_multi_lock_leaves_no_member(
    alice: Any, bob: Any, carol: Any, cluster: Cluster, make_client: MakeClient
) -> None:
    """deferred-at-close: its client waits for the other member's answer, then for the release."""
    free, taken = (make_client(server.url, command_timeout=BOUND) for server in cluster.servers[:2])
    carol.do(make_client(cluster.servers[1].url).lock(NAME).acquire)
    bob.do(taken.ping)
    multi = free.multi_lock(free.lock(NAME), taken.lock(NAME))
    cluster.servers[1].pause()
    try:
        asked = alice.begin(multi.acquire, blocking=False)
        eventually(lambda: free.stats().held == 1)
        closed = bob.begin(free.close)
        eventually(lambda: "closed" in repr(free))
        stays(lambda: not closed.done(), during=0.2)
    finally:
        cluster.servers[1].resume()
    assert asked.result(BOUND) is False
    closed.result(BOUND)
    assert cluster.servers[0].keys() == set()


@BREAKS
def test_a_multi_lock_needs_every_server(
    alice: Any, cluster: Cluster, make_client: MakeClient, broken: Break
) -> None:
    clients = [make_client(server.url, command_timeout=IMPATIENT) for server in cluster.servers]
    lock = clients[0].multi_lock(*(client.lock(NAME) for client in clients))
    broken(cluster.servers[2])
    with pytest.raises((holdfast.ConnectionError, holdfast.ServerError)):
        alice.do(lock.acquire)
    eventually(lambda: cluster.is_empty(but=2))


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("kind", ["multi", "red"])
def test_ctrl_c_ends_a_wait(start_child: StartChild, cluster: Cluster, kind: str) -> None:
    for server in cluster.servers:
        server.inspect.hset(NAME, "somebody-else:1", 1)
        server.inspect.pexpire(NAME, 3_600_000)
    child = start_child(
        """
locks = [holdfast.Client(url).lock(NAME) for url in URLS]
client = holdfast.Client(URLS[0])
lock = client.multi_lock(*locks) if KIND == "multi" else holdfast.RedLock(*locks)
say("waits")
try:
    lock.acquire()
except KeyboardInterrupt:
    say("interrupted")
hear("end")
""",
        URLS=[server.url for server in cluster.servers],
        NAME=NAME,
        KIND=kind,
    )
    child.expect("waits")
    channel = f"redisson_lock__channel:{{{NAME}}}"
    eventually(lambda: any(server.subscribers(channel) for server in cluster.servers))
    child.signal(signal.SIGINT)
    child.expect("interrupted")
    eventually(lambda: not any(server.subscribers(channel) for server in cluster.servers))
    assert cluster.holders() == [{b"somebody-else:1"}] * 3
    child.send("end")


@pytest.mark.parametrize("place", [0, 1])
def test_a_multi_lock_waits_for_a_server_that_refuses_as_for_a_holder(
    alice: Any, bob: Any, cluster: Cluster, place: int
) -> None:
    """passing-refusal: the state is named at the end, and until then no other member is held up."""
    lock, other = cluster.multi_lock(), cluster.multi_lock(but=place)
    refusing = cluster.servers[place]
    assert not alice.do(lock.locked)
    _read_only(refusing)
    with pytest.raises(holdfast.ServerError, match="READONLY"):
        alice.do(lock.acquire, blocking=False)
    with pytest.raises(holdfast.LockTimeout, match="READONLY") as late:
        alice.do(lock.acquire, timeout=1)
    assert isinstance(late.value.__cause__, holdfast.ServerError)
    with pytest.raises(holdfast.ServerError, match="READONLY"):
        alice.do(lock.acquire)
    waiting = alice.begin(lock.acquire, timeout=BOUND)
    assert bob.do(other.acquire, timeout=BOUND)
    bob.do(other.release)
    refusing.inspect.replicaof("NO", "ONE")
    assert waiting.result(BOUND) is True
    alice.do(lock.release)
    assert cluster.is_empty()
