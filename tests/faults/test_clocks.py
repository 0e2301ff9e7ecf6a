"""Clocks that step: the server's wall clock, the client's, and a machine that was suspended."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import LASTING, NAME, holds
from tests.support.clocks import Clocks
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually

HOUR = 3600.0
LEASE = 2.0

pytestmark = pytest.mark.servers("redis")

HOLDER = """
lock = holdfast.Client(URL, lease=LEASE).lock(NAME)
lock.acquire()
say("held")
hear("stepped")
say("lost", lock.lost)
say("holds", lock.owned(), lock.hold_count())
for step in (lock.acquire, lock.release):
    try:
        step()
    except holdfast.LockLostError:
        say(step.__name__, "LockLostError")
    else:
        say(step.__name__)
"""


class Warnings:
    """What the library logs about locks that are waited for."""

    def __init__(self, make_client: MakeClient, caplog: pytest.LogCaptureFixture) -> None:
        self.client = make_client
        self._caplog = caplog

    @property
    def texts(self) -> list[str]:
        return [text for text in self._caplog.messages if "waits" in text]


@pytest.fixture
def warnings(make_client: MakeClient, caplog: pytest.LogCaptureFixture) -> Warnings:
    caplog.set_level(logging.WARNING, "holdfast")
    return Warnings(make_client, caplog)


@pytest.fixture
def skewed(start_server: StartServer, clocks: Clocks) -> Server:
    """A server whose clock can be stepped."""
    return start_server(environment=clocks.environment)


@pytest.mark.realtime
def test_a_server_clock_that_jumps_ahead_is_reported_as_a_loss(
    alice: Any, bob: Any, skewed: Server, clocks: Clocks, make_client: MakeClient
) -> None:
    """server-clock-ahead: every lease on the server is over.

    The owner notices it with its next renewal.
    """
    told: list[Any] = []
    lease = 6.0
    lock = make_client(skewed.url, lease=lease).lock(NAME, on_lost=told.append)
    other = make_client(skewed.url).lock(NAME)
    alice.do(lock.acquire)
    clocks.step(wall=HOUR)
    watch = Stopwatch()
    assert bob.do(other.acquire, timeout=BOUND) is True
    eventually(lambda: alice.do(lambda: lock.lost), within=lease)
    assert watch.seconds < lease * 2 / 3, "told by the end of the lease, not by a renewal"
    eventually(lambda: told == [lock])
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert bob.do(other.owned)
    bob.do(other.release)


@pytest.mark.realtime
def test_a_renewed_hold_survives_a_server_clock_that_jumps_back(
    alice: Any, skewed: Server, clocks: Clocks, make_client: MakeClient
) -> None:
    """server-clock-back.

    The lease is then an hour longer, and the last release ends it as usual.
    """
    lock = make_client(skewed.url, lease=LEASE).lock(NAME)
    alice.do(lock.acquire)
    clocks.step(wall=-HOUR)
    assert skewed.inspect.pttl(NAME) > (HOUR - 1) * 1000
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    assert skewed.keys() == set()


@pytest.mark.realtime
def test_a_lease_that_a_server_clock_made_too_long_is_reported(
    alice: Any, bob: Any, skewed: Server, clocks: Clocks, warnings: Warnings
) -> None:
    """server-clock-back.

    Its owner learns of it in time, waiters log how long it lasts, force_release ends it.
    """
    lock = warnings.client(skewed.url).lock(NAME)
    alice.do(lock.acquire, lease=LEASE)
    clocks.step(wall=-HOUR)
    waiting = bob.begin(lock.acquire)
    eventually(lambda: warnings.texts)
    assert NAME in warnings.texts[0]
    assert "clock was set back" in warnings.texts[0]
    eventually(lambda: alice.do(lambda: lock.lost), within=2 * LEASE)
    assert not waiting.done()
    assert alice.do(lock.force_release) is True
    assert waiting.result(BOUND) is True
    assert len(warnings.texts) == 1
    bob.do(lock.release)


def test_a_lease_that_is_too_long_is_reported_once_a_minute(
    alice: Any, bob: Any, server: Server, warnings: Warnings
) -> None:
    """server-clock-back: not by each wait, and of each lock by itself."""
    client = warnings.client(server.url)
    locks = [client.lock(name) for name in (NAME, "other")]
    for lock in locks:
        alice.do(lock.acquire, lease=3600)
        for _ in range(5):
            assert not bob.do_briefly(lock.acquire, timeout=0.01)
    eventually(lambda: "other" in "".join(warnings.texts))
    assert len(warnings.texts) == len(locks)
    for lock in locks:
        alice.do(lock.release)


def test_ordinary_leases_are_not_reported(
    alice: Any, bob: Any, server: Server, warnings: Warnings
) -> None:
    """server-clock-back.

    No warning for the watchdog's lease, nor for one that the waiter would take itself.
    """
    client = warnings.client(server.url)
    for lease in (None, 3600):
        lock = client.lock(NAME, lease=lease)
        alice.do(lock.acquire)
        assert not bob.do_briefly(lock.acquire, timeout=0.05)
        alice.do(lock.release)
    assert warnings.texts == []


@pytest.mark.realtime
@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["ahead", "back"])
def test_a_step_of_the_clients_wall_clock_changes_nothing(
    start_child: StartChild, server: Server, clocks: Clocks, step: float
) -> None:
    """client-clock-set: no lease, no wait and no renewal looks at it."""
    child = start_child(
        """
        client = holdfast.Client(URL, lease=LEASE)
        lock, taken = client.lock(NAME), client.lock(TAKEN)
        lock.acquire()
        say("held", int(time.time()))
        hear("stepped")
        before = time.monotonic()
        got = taken.acquire(timeout=LEASE)
        say("waited", got, LEASE <= time.monotonic() - before < LEASE + 5)
        say("lost", lock.lost, int(time.time()))
        hear("release")
        lock.release()
        say("released")
        """,
        environment=clocks.environment,
        URL=server.url,
        LEASE=LASTING,
        NAME=NAME,
        TAKEN="taken",
    )
    server.inspect.hset("taken", "somebody-else:1", 1)
    server.inspect.pexpire("taken", 3_600_000)
    before = int(child.expect("held")[0])
    clocks.step(wall=step)
    child.send("stepped")
    assert child.expect("waited") == ["False", "True"]
    lost, after = child.expect("lost")
    assert abs(int(after) - before - step) < 60, "the shim did not work"
    assert lost == "False"
    assert holds(server)
    child.send("release")
    child.expect("released")
    assert not holds(server)


@pytest.mark.realtime
def test_a_machine_that_slept_past_the_lease_knows_it(
    start_child: StartChild, server: Server, clocks: Clocks
) -> None:
    """suspended-machine: a suspended machine.

    Only the boot clock has gone on, and it alone counts.
    """
    child = start_child(
        HOLDER, environment=clocks.environment, URL=server.url, LEASE=30.0, NAME=NAME
    )
    child.expect("held")
    clocks.step(boot=31)
    # The server's clock went on too: somebody else has it by now.
    server.inspect.delete(NAME)
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    child.send("stepped")
    assert child.expect("lost") == ["True"]
    assert child.expect("holds") == ["False", "0"]
    assert child.expect("acquire") == ["LockLostError"]
    assert child.expect("release") == ["LockLostError"]
    assert holds(server) == {b"somebody-else:1": 1}
