"""What `client.stats()` counts."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("redis")


def counted(client: Any, **expected: int) -> None:
    """The named figures are these, and all other counters of acquisitions and holds are 0."""
    stats = dataclasses.asdict(client.stats())
    others = {"commands", "wait_seconds", "hold_seconds", "renewals", "tracked"}
    others |= {"busy_polls", "busy_polls_right"}
    assert {name: n for name, n in stats.items() if name not in others and n} == expected


def test_the_figures_are_a_frozen_dataclass(client: Any, alice: Any) -> None:
    stats = client.stats()
    assert isinstance(stats, holdfast.Stats)
    assert [field.name for field in dataclasses.fields(stats)] == [
        "acquired", "contended", "timed_out", "cancelled",
        "failed", "released", "lost", "renewals", "renewal_failures", "commands", "reconnects",
        "protocol_errors", "busy_polls", "busy_polls_right",
        "held", "waiting", "tracked", "guarded",
        "wait_seconds", "hold_seconds",
    ]  # fmt: skip
    assert not any(dataclasses.astuple(stats)[:-2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.acquired = 1
    for histogram in (stats.wait_seconds, stats.hold_seconds):
        assert isinstance(histogram, holdfast.Histogram)
        assert len(histogram.counts) == len(histogram.bounds) + 1
        assert list(histogram.bounds) == sorted(histogram.bounds)
        assert (histogram.sum, histogram.count) == (0, 0)


def test_nested_grants_and_releases_count_and_the_hold_counts_once(client: Any, alice: Any) -> None:
    lock = client.lock("myLock")
    for _ in range(3):
        alice.do(lock.acquire)
    counted(client, acquired=3, held=1)
    alice.do(lock.release)
    counted(client, acquired=3, released=1, held=1)
    for _ in range(2):
        alice.do(lock.release)
    counted(client, acquired=3, released=3)
    stats = client.stats()
    assert stats.wait_seconds.count == sum(stats.wait_seconds.counts) == 3
    assert stats.hold_seconds.count == sum(stats.hold_seconds.counts) == 1
    assert stats.wait_seconds.sum > 0
    assert stats.hold_seconds.sum > 0
    assert stats.commands >= 6


def test_a_grant_that_had_to_wait_is_contended(client: Any, alice: Any, bob: Any) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    waiting = bob.begin(lock.acquire)
    eventually(lambda: client.stats().waiting == 1)
    alice.do(lock.release)
    assert waiting.result(BOUND)
    counted(client, acquired=2, contended=1, released=1, held=1)
    bob.do(lock.release)
    counted(client, acquired=2, contended=1, released=2)


def test_a_grant_to_another_client_s_waiter_is_contended_too(
    client: Any, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    other = make_client()
    alice.do(client.lock("myLock").acquire)
    waiting = bob.begin(other.lock("myLock").acquire)
    eventually(lambda: other.stats().waiting == 1)
    alice.do(client.lock("myLock").release)
    assert waiting.result(BOUND)
    counted(other, acquired=1, contended=1, held=1)
    counted(client, acquired=1, released=1)


def test_an_acquisition_that_another_s_hold_ends_is_timed_out(
    client: Any, alice: Any, bob: Any
) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    assert not bob.do(lock.acquire, blocking=False)
    assert not bob.do(lock.acquire, timeout=1)
    with pytest.raises(holdfast.LockTimeout):
        bob.inside(client.lock("myLock", wait=1), lambda _: None)
    counted(client, acquired=1, held=1, timed_out=3)


@pytest.mark.flavours("asyncio")
def test_a_cancelled_acquisition_is_counted(client: Any, alice: Any, bob: Any) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    bob.begin(lock.acquire)
    eventually(lambda: client.stats().waiting == 1)
    bob.cancel()
    eventually(lambda: client.stats().cancelled == 1)
    counted(client, acquired=1, held=1, cancelled=1)


def test_an_acquisition_without_a_server_is_failed(make_client: MakeClient, alice: Any) -> None:
    client = make_client("redis://127.0.0.1:1", retries=0)
    with pytest.raises(holdfast.ConnectionError):
        alice.do(client.lock("myLock").acquire)
    counted(client, failed=1)


def test_a_hold_that_is_lost_counts_once(client: Any, alice: Any, server: Server) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    server.inspect.delete("myLock")
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.acquire)
    counted(client, acquired=2, lost=1, failed=1)
    assert client.stats().hold_seconds.count == 1
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    counted(client, acquired=2, lost=1, failed=1)


def test_a_hold_whose_owner_ended_is_lost(client: Any, alice: Any) -> None:
    alice.do(client.lock("myLock").acquire)
    alice.end()
    eventually(lambda: client.stats().held == 0)
    counted(client, acquired=1, lost=1)


def test_renewals_are_counted(make_client: MakeClient, alice: Any, private_server: Server) -> None:
    options = {"lease": 0.6, "command_timeout": 0.2, "tracking": "off"}
    client = make_client(private_server.url, **options)
    alice.do(client.lock("myLock").acquire)
    eventually(lambda: client.stats().renewals >= 2)
    assert client.stats().renewal_failures == 0
    private_server.inspect.delete("myLock")
    eventually(lambda: client.stats().lost == 1)
    assert client.stats().renewal_failures == 1
    assert client.stats().held == 0


def test_a_connection_that_is_established_again_is_counted(
    make_client: MakeClient, alice: Any, private_server: Server
) -> None:
    client = make_client(private_server.url)
    lock = client.lock("myLock")
    alice.do(lock.locked)
    commands = client.stats().commands
    assert commands >= 1
    counted(client)
    private_server.inspect.client_kill_filter(_type="normal", skipme=True)
    eventually(lambda: (alice.do(lock.locked), client.stats().reconnects)[1] == 1)
    assert client.stats().commands > commands


def test_a_lock_of_locks_counts_as_its_members(client: Any, alice: Any, bob: Any) -> None:
    lock = client.multi_lock(client.lock("one"), client.lock("two"))
    alice.do(lock.acquire)
    counted(client, acquired=2, held=2)
    assert not bob.do(lock.acquire, blocking=False)
    counted(client, acquired=2, held=2, timed_out=1)
    alice.do(lock.release)
    counted(client, acquired=2, released=2, timed_out=1)


def test_permits_with_ids_count_as_locks_do(client: Any, alice: Any, server: Server) -> None:
    permits = client.permit_semaphore("permits")
    alice.do(permits.try_set_permits, 3)
    permit = alice.do(permits.acquire)
    counted(client, acquired=1, held=1)
    several = alice.do(permits.acquire_many, 2)
    assert alice.do(permits.acquire, blocking=False) is None
    counted(client, acquired=3, held=3, timed_out=1)
    alice.do(permits.release, permit)
    alice.do(permits.release_many, several)
    counted(client, acquired=3, released=3, timed_out=1)
    assert (client.stats().wait_seconds.count, client.stats().hold_seconds.count) == (2, 3)
    permit = alice.do(permits.acquire)
    server.inspect.flushdb()
    with pytest.raises(holdfast.LockLostError):
        alice.do(permits.release, permit)
    assert alice.do(permits.acquire, timeout=1) is None
    counted(client, acquired=4, released=3, timed_out=2, lost=1)


def test_permits_without_owners_count_too(client: Any, alice: Any, bob: Any) -> None:
    slots = client.semaphore("slots")
    alice.do(slots.try_set_permits, 3)
    assert alice.do(slots.acquire, permits=2)
    assert not alice.do(slots.acquire, permits=2, blocking=False)
    counted(client, acquired=2, held=2, timed_out=1)
    waiting = bob.begin(slots.acquire, permits=3)
    eventually(lambda: client.stats().waiting == 1)
    alice.do(slots.release, 2)
    assert waiting.result(BOUND)
    counted(client, acquired=5, contended=3, released=2, held=3, timed_out=1)
    alice.do(slots.release_if_exists, 3)
    assert not alice.do(client.semaphore("none").release_if_exists)
    assert alice.do(slots.drain_permits) == 3
    counted(client, acquired=8, contended=3, released=5, held=3, timed_out=1)
    alice.do(slots.release, 3)
    alice.do(slots.release)  # a permit of another program's
    assert client.stats().held == 0


def test_latches_are_not_counted(client: Any, alice: Any) -> None:
    latch = client.count_down_latch("latch")
    alice.do(latch.try_set_count, 1)
    assert not alice.do(latch.wait, 0.01)
    alice.do(latch.count_down)
    assert alice.do(latch.wait)
    counted(client)


@pytest.mark.flavours("sync")
def test_a_forked_child_starts_at_zero(start_child: StartChild, server: Server) -> None:
    child = start_child(
        """
        client = holdfast.Client(URL)
        with client.lock("myLock"):
            pass
        if os.fork() == 0:
            stats = client.stats()
            say("child", stats.acquired, stats.commands, stats.hold_seconds.count)
            with client.lock("myLock"):
                say("then", client.stats().acquired, client.stats().held)
            os._exit(0)
        os.wait()
        say("parent", client.stats().acquired)
        """,
        URL=server.url,
    )
    assert child.expect("child") == ["0", "0", "0"]
    assert child.expect("then") == ["1", "1"]
    assert child.expect("parent") == ["1"]


def test_a_closed_client_still_tells(client: Any, alice: Any) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    alice.do(lock.release)
    alice.do(client.close)
    counted(client, acquired=1, released=1)


@pytest.mark.flavours("sync")
def test_the_module_of_the_figures_is_imported_when_asked_for(flavour: Any) -> None:
    program = """if True:
        import sys, holdfast
        assert "holdfast._engine.stats" not in sys.modules
        assert holdfast.Client().stats() == holdfast.Client().stats()
        assert {type(holdfast.Client().stats())} == {holdfast.Stats}
        """
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.realtime
def test_a_renewal_that_cannot_be_sent_is_counted(
    make_client: MakeClient, alice: Any, private_server: Server
) -> None:
    """Before its hold is lost, and once; one whose reply comes late is a renewal, too."""
    client = make_client(private_server.url, lease=6.0, tracking="off")
    alice.do(client.lock("myLock").acquire)
    private_server.stop()
    eventually(lambda: client.stats().renewal_failures == 1)
    assert client.stats().renewals == 0
    assert client.stats().lost == 0
