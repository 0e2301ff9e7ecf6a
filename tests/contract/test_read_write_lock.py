"""What the read-write lock promises beyond what its two sides promise as locks."""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any

import pytest

import holdfast
from tests.contract.read_write_lock import CHANNEL, NAME, begin, fields, left, mode
from tests.support.actors import PAUSE, Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

# ---- sharing


def test_readers_share_over_owners_and_clients(
    alice: Any, bob: Any, rw: Any, theirs: Any, server: Server
) -> None:
    assert alice.do(rw.read.acquire)
    assert bob.do(rw.read.acquire, blocking=False)
    assert alice.do(theirs.read.acquire, blocking=False)
    assert fields(server) == 3
    assert mode(server) == b"read"


def test_a_writer_is_alone(alice: Any, bob: Any, rw: Any, theirs: Any) -> None:
    alice.do(rw.write.acquire)
    for other in (rw.read, rw.write, theirs.read, theirs.write):
        assert not bob.do(other.acquire, blocking=False)
        assert not bob.do_briefly(other.acquire, timeout=0)


def test_a_writer_waits_for_the_last_reader(
    alice: Any, bob: Any, rw: Any, theirs: Any, server: Server
) -> None:
    alice.do(rw.read.acquire)
    alice.do(theirs.read.acquire)
    waiting = begin(server, bob, rw.write)
    alice.do(rw.read.release)
    assert not waiting.done()
    alice.do(theirs.read.release)
    assert waiting.result(BOUND) is True
    assert mode(server) == b"write"


def test_a_new_reader_overtakes_a_waiting_writer(
    alice: Any, bob: Any, carol: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.read.acquire)
    waiting = begin(server, bob, rw.write)
    assert carol.do(rw.read.acquire, blocking=False)
    alice.do(rw.read.release)
    assert not waiting.done()
    carol.do(rw.read.release)
    assert waiting.result(BOUND) is True


def test_waiting_readers_get_in_together(
    alice: Any, make_actor: MakeActor, rw: Any, theirs: Any, server: Server
) -> None:
    alice.do(rw.write.acquire, lease=3600)
    readers = [make_actor() for _ in range(20)]
    locks = [(rw if n % 2 else theirs).read for n in range(20)]
    waiting = [begin(server, *pair) for pair in zip(readers, locks, strict=True)]
    eventually(lambda: server.subscribers(CHANNEL) == 2)
    alice.do(rw.write.release)
    assert all(each.result(BOUND) for each in waiting)
    assert fields(server) == 20
    for reader, lock in zip(readers, locks, strict=True):
        reader.do(lock.release)
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    assert server.keys() == set()


def test_of_those_who_wait_readers_go_first(
    alice: Any, make_actor: MakeActor, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire)
    writer, readers = make_actor(), [make_actor() for _ in range(3)]
    writing = begin(server, writer, rw.write)
    reading = [begin(server, reader, rw.read) for reader in readers]
    alice.do(rw.write.release)
    assert all(each.result(BOUND) for each in reading)
    assert not writing.done()
    for reader in readers:
        reader.do(rw.read.release)
    assert writing.result(BOUND) is True


def test_readers_and_writers_never_meet(
    make_actor: MakeActor, make_client: MakeClient, server: Server
) -> None:
    inside: list[str] = []
    turns: list[int] = []
    clients = [make_client(server.url), make_client(server.url)]

    def work(number: int) -> Generator[Any, Any, None]:
        rw = clients[number % 2].read_write_lock(NAME)
        for turn in range(8):
            side = "write" if (turn + number) % 4 == 0 else "read"
            lock = getattr(rw, side)
            assert (yield lock.acquire(timeout=3 * BOUND))
            inside.append(side)
            yield PAUSE
            assert inside == ["write"] or "write" not in inside
            inside.remove(side)
            turns.append(number)
            yield lock.release()

    running = [make_actor().begin(work, number) for number in range(6)]
    for each in running:
        each.result(6 * BOUND)
    assert len(turns) == 48


# ---- reading and writing


def test_the_writer_may_read_and_stays_alone(alice: Any, bob: Any, rw: Any, server: Server) -> None:
    alice.do(rw.write.acquire)
    assert alice.do(rw.read.acquire, blocking=False)
    assert not bob.do(rw.read.acquire, blocking=False)
    alice.do(rw.read.release)
    assert mode(server) == b"write"
    alice.do(rw.write.release)
    assert server.keys() == set()


def test_holds_of_the_sides_are_counted_apart(alice: Any, rw: Any) -> None:
    alice.do(rw.write.acquire)
    for _ in range(2):
        alice.do(rw.read.acquire)
    assert alice.do(rw.read.hold_count) == 2
    assert alice.do(rw.write.hold_count) == 1
    assert alice.do(rw.read.locked)
    assert alice.do(rw.write.locked)
    with_two = alice.do(repr, rw.read)
    assert "(2)" in with_two
    assert "(1)" in alice.do(repr, rw.write)


def test_a_side_is_not_the_other(alice: Any, rw: Any) -> None:
    alice.do(rw.read.acquire)
    assert not alice.do(rw.write.locked)
    assert not alice.do(rw.write.owned)
    assert alice.do(rw.write.hold_count) == 0
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(rw.write.release)
    assert alice.do(rw.write.extend, 100) is False
    alice.do(rw.read.release)
    alice.do(rw.write.acquire)
    assert not alice.do(rw.read.locked)
    assert not alice.do(rw.read.owned)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(rw.read.release)


def test_ttl_is_of_both_sides(alice: Any, rw: Any) -> None:
    assert alice.do(rw.read.ttl) is None
    alice.do(rw.write.acquire, lease=50)
    assert 45 < alice.do(rw.read.ttl) <= 50


def test_a_downgrade_keeps_the_reader_in_and_lets_readers_in(
    alice: Any, make_actor: MakeActor, rw: Any, theirs: Any, server: Server
) -> None:
    alice.do(rw.write.acquire, lease=3600)
    alice.do(rw.read.acquire, lease=3600)
    mine, other = (begin(server, make_actor(), each.read) for each in (rw, theirs))
    eventually(lambda: server.subscribers(CHANNEL) == 2)
    alice.do(rw.write.release)
    assert mine.result(BOUND) is True
    assert other.result(BOUND) is True
    assert alice.do(rw.read.owned)
    assert fields(server) == 3


def test_after_a_downgrade_writers_still_wait(
    alice: Any, bob: Any, rw: Any, server: Server
) -> None:
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    waiting = begin(server, bob, rw.write)
    alice.do(rw.write.release)
    assert alice.do(rw.read.owned)
    assert not waiting.done()
    alice.do(rw.read.release)
    assert waiting.result(BOUND) is True


@pytest.mark.parametrize("how", [{}, {"blocking": False}, {"timeout": 1}], ids=str)
@pytest.mark.servers("real")
def test_an_upgrade_is_refused_before_anything_is_sent(
    alice: Any, make_client: MakeClient, server: Server, how: dict[str, Any]
) -> None:
    rw = make_client(tracking="off").read_write_lock(NAME)
    alice.do(rw.read.acquire)
    with server.recording() as recording:
        with pytest.raises(holdfast.LockError, match=NAME) as refused:
            alice.do(rw.write.acquire, **how)
        assert recording.commands == []
    assert not isinstance(refused.value, holdfast.NotOwnedError | holdfast.LockTimeout)
    assert "release" in str(refused.value)
    assert alice.do(rw.read.hold_count) == 1


def test_an_upgrade_by_with_is_refused(alice: Any, rw: Any, server: Server) -> None:
    alice.do(rw.read.acquire)
    with pytest.raises(holdfast.LockError, match="wait for itself"):
        alice.inside(rw.write, lambda _: pytest.fail("the body ran"))
    alice.do(rw.read.release)
    alice.inside(rw.write, lambda _: None)
    assert server.keys() == set()


def test_a_writer_that_reads_may_write_again(alice: Any, rw: Any, server: Server) -> None:
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    assert alice.do(rw.write.acquire, blocking=False)
    for lock in (rw.write, rw.read, rw.write):
        alice.do(lock.release)
    assert server.keys() == set()


# ---- the object


def test_the_lock_is_two_locks_of_one_name(flavour: Flavour, rw: Any) -> None:
    module = holdfast.asyncio if flavour.asyncio else holdfast
    assert isinstance(rw, module.ReadWriteLock)
    assert isinstance(rw.read, module.ReadLock)
    assert isinstance(rw.write, module.WriteLock)
    assert isinstance(rw.read, module.Lock)
    assert isinstance(rw.write, module.Lock)
    assert rw.name == rw.read.name == rw.write.name == NAME
    assert repr(rw) == "<ReadWriteLock 'myLock'>"
    with pytest.raises(TypeError, match="ReadWriteLock"):
        copy.copy(rw)
    with pytest.raises(AttributeError):
        rw.raed = None


def test_bad_arguments_are_refused(client: Any) -> None:
    for bad, error in (({"lease": 0}, ValueError), ({"wait": -1}, ValueError)):
        with pytest.raises(error, match=next(iter(bad))):
            client.read_write_lock(NAME, **bad)
    with pytest.raises(ValueError, match="name"):
        client.read_write_lock("")
    with pytest.raises(TypeError, match="leese"):
        client.read_write_lock(NAME, leese=1)


def test_options_are_of_both_sides(alice: Any, bob: Any, client: Any, server: Server) -> None:
    rw = client.read_write_lock(NAME, lease=50, wait=0)
    for lock in (rw.read, rw.write):
        alice.do(lock.acquire)
        assert 45 < left(server) <= 50
        alice.do(lock.release)
    alice.do(rw.write.acquire)
    for lock in (rw.read, rw.write):
        with pytest.raises(holdfast.LockTimeout):
            bob.inside(lock, lambda _: pytest.fail("the body ran"))
