"""How long readers and writers hold, what ends that, and what waiters leave behind."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.read_write_lock import CHANNEL, NAME, begin, fields, left
from tests.support.owners import MakeActor, MakeClient
from tests.support.renewals import KEPT, SHORT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

# ---- leases


def test_a_second_write_lease_is_not_added_to_the_first(
    alice: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire, lease=100)
    alice.do(rw.write.acquire, lease=100)
    assert 95 < left(server) <= 100


def test_the_lock_lives_as_long_as_its_longest_reader(
    alice: Any, bob: Any, carol: Any, rw: Any, server: Server
) -> None:
    for actor, lease in ((alice, 10), (bob, 60), (carol, 30)):
        actor.do(rw.read.acquire, lease=lease)
    assert 55 < left(server) <= 60
    bob.do(rw.read.release)
    assert 25 < left(server) <= 30
    alice.do(rw.read.release)
    assert 25 < left(server) <= 30


def test_a_write_lease_outlives_the_writers_reading(alice: Any, rw: Any, server: Server) -> None:
    alice.do(rw.write.acquire, lease=100)
    alice.do(rw.read.acquire, lease=10)
    alice.do(rw.read.release)
    assert 95 < left(server) <= 100


@pytest.mark.costly
@pytest.mark.realtime
@pytest.mark.parametrize("leases", [(SHORT, 2 * SHORT), (2 * SHORT, SHORT)], ids=str)
def test_a_writer_gets_in_when_the_last_lease_of_readers_is_over(
    alice: Any, bob: Any, rw: Any, theirs: Any, leases: tuple[float, float]
) -> None:
    alice.do(rw.read.acquire, lease=leases[0])
    alice.do(theirs.read.acquire, lease=leases[1])
    assert not bob.do(rw.write.acquire, timeout=SHORT / 2)
    assert bob.do(rw.write.acquire, timeout=BOUND) is True


@pytest.mark.realtime
def test_a_dead_reader_does_not_outlive_the_living(
    alice: Any, bob: Any, rw: Any, theirs: Any, server: Server
) -> None:
    alice.do(rw.read.acquire, lease=SHORT)
    alice.do(theirs.read.acquire, lease=3600)
    eventually(lambda: alice.do(lambda: rw.read.lost))
    eventually(lambda: not alice.do(rw.read.owned))
    waiting = begin(server, bob, theirs.write)
    alice.do(theirs.read.release)
    assert waiting.result(BOUND) is True


@pytest.mark.realtime
def test_a_late_release_of_a_reader_leaves_the_others_alone(
    alice: Any, bob: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.read.acquire, lease=SHORT)
    bob.do(rw.read.acquire, lease=100)
    eventually(lambda: alice.do(lambda: rw.read.lost))
    with pytest.raises(holdfast.LockLostError):
        alice.do(rw.read.release)
    eventually(lambda: fields(server) == 1)
    assert 95 < left(server) <= 100
    assert bob.do(rw.read.owned)


@pytest.mark.costly
@pytest.mark.realtime
def test_only_own_readers_are_renewed(
    alice: Any, rw: Any, make_client: MakeClient, server: Server
) -> None:
    dead = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
    lock = make_client(lease=KEPT).read_write_lock(NAME).read
    alice.do(lock.acquire)
    server.inspect.hset(NAME, dead, 1)
    server.inspect.set(f"{{{NAME}}}:{dead}:rwlock_timeout:1", 1, px=int(SHORT * 1000))
    stays(lambda: left(server) > 0, during=1.2 * KEPT)
    assert len(server.keys()) == 2
    assert alice.do(lock.owned)
    alice.do(lock.release)
    assert server.keys() == set()


@pytest.mark.costly
@pytest.mark.realtime
def test_a_writer_that_reads_has_both_renewed(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    rw = make_client(lease=KEPT).read_write_lock(NAME)
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    stays(lambda: len(server.keys()) == 2, during=1.2 * KEPT)
    alice.do(rw.write.release)
    stays(lambda: len(server.keys()) == 2, during=1.2 * KEPT)
    assert not alice.do(lambda: rw.read.lost)
    alice.do(rw.read.release)


def test_a_hash_that_is_deleted_alone_is_a_lost_hold(alice: Any, rw: Any, server: Server) -> None:
    alice.do(rw.read.acquire)
    alice.do(rw.read.acquire)
    server.inspect.delete(NAME)
    assert not alice.do(rw.read.owned)
    with pytest.raises(holdfast.LockLostError):
        alice.do(rw.read.release)
    assert server.keys() == set()


# ---- force release


@pytest.mark.awaited
def test_force_release_is_for_its_side(alice: Any, bob: Any, rw: Any, theirs: Any) -> None:
    alice.do(rw.read.acquire)
    assert bob.do(theirs.write.force_release) is False
    assert alice.do(rw.read.owned)
    assert bob.do(theirs.read.force_release) is True
    with pytest.raises(holdfast.LockLostError):
        alice.do(rw.read.release)
    alice.do(rw.write.acquire)
    assert bob.do(theirs.read.force_release) is False
    assert alice.do(rw.write.owned)
    assert bob.do(theirs.write.force_release) is True
    assert not alice.do(rw.write.owned)


def test_a_side_that_could_not_be_forced_is_not_lost(alice: Any, bob: Any, rw: Any) -> None:
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    assert bob.do(rw.read.force_release) is False
    assert not alice.do(lambda: rw.read.lost or rw.write.lost)
    alice.do(rw.read.release)
    alice.do(rw.write.release)


def test_a_writer_that_is_forced_out_loses_what_it_reads(
    alice: Any, bob: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    assert bob.do(rw.write.force_release) is True
    assert server.keys() == set()
    assert alice.do(lambda: rw.read.lost and rw.write.lost)
    for lock in (rw.read, rw.write):
        with pytest.raises(holdfast.LockLostError):
            alice.do(lock.release)


# ---- waiting readers


@pytest.mark.realtime
def test_a_reader_that_gives_up_leaves_nothing(
    alice: Any, bob: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire)
    assert bob.do_briefly(rw.read.acquire, timeout=0.1) is False
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    alice.do(rw.write.release)
    assert server.keys() == set()


@pytest.mark.flavours("asyncio", "trio")
def test_a_cancelled_reader_leaves_nothing(alice: Any, bob: Any, rw: Any, server: Server) -> None:
    alice.do(rw.write.acquire)
    waiting = begin(server, bob, rw.read)
    bob.cancel()
    eventually(waiting.done)
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    alice.do(rw.write.release)
    assert server.keys() == set()


@pytest.mark.realtime
def test_a_waiting_reader_wakes_when_the_writers_lease_is_over(
    alice: Any, bob: Any, rw: Any, theirs: Any
) -> None:
    alice.do(rw.write.acquire, lease=SHORT)
    assert bob.do(theirs.read.acquire, timeout=BOUND) is True


def test_a_client_has_one_subscription_for_readers_and_writers(
    alice: Any, make_actor: MakeActor, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire)
    waiting = [begin(server, make_actor(), lock) for lock in (rw.read, rw.write, rw.read)]
    assert server.subscribers(CHANNEL) == 1
    assert not any(each.done() for each in waiting)
