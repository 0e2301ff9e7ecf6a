"""The Java peer by itself, kind by kind: what Redisson does where Python meets it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tests.interop.conftest import LONG, SOON
from tests.interop.java_objects import ILLEGAL_MONITOR_STATE, JavaError
from tests.interop.java_peer import JavaPeer
from tests.interop.lock_kinds import SharedLock
from tests.interop.wire import (
    FairKey,
    LatchKey,
    LockKey,
    PermitSemaphoreKey,
    ReadWriteKey,
    SemaphoreKey,
)
from tests.support.servers import Server
from tests.support.waiting import eventually


def test_each_kind_of_lock_wakes_its_waiter(peer: JavaPeer, shared: SharedLock) -> None:
    java, waiter = shared.java(peer), shared.java(peer, "t2")
    java.lock(lease=LONG)
    assert shared.key.holds() == {java.owner: 1}
    asleep = shared.key.next_waiter_sleeps(waiter)
    waiting = waiter.begin_lock(lease=LONG)
    eventually(asleep)
    java.unlock()
    waiting.result(SOON)
    assert shared.key.holds() == {waiter.owner: 1}
    waiter.unlock()
    eventually(shared.key.no_client_waits)
    assert not shared.key.exists()


def test_the_fair_lock_goes_to_the_first_in_its_queue(peer: JavaPeer, key: LockKey) -> None:
    fair = FairKey(key.server, key.name)
    locks = [peer.lock(key.name, thread, "fair") for thread in ("t1", "t2", "t3")]
    owners = [lock.owner for lock in locks]
    locks[0].lock(lease=LONG)
    waits = []
    for place, waiter in enumerate(locks[1:], 1):
        waits.append(waiter.begin_lock(lease=LONG))
        eventually(partial(fair.has_queued, place))
    assert fair.queue() == owners[1:]
    locks[0].unlock()
    for waiter, wait in zip(locks[1:], waits, strict=True):
        wait.result(SOON)
        assert fair.holds() == {waiter.owner: 1}
        waiter.unlock()
    eventually(fair.no_client_waits)


def test_readers_share_and_a_writer_that_reads_may_go_on_reading(
    peer: JavaPeer, key: LockKey
) -> None:
    both = ReadWriteKey(key.server, key.name)
    read, write = (peer.lock(key.name, kind=kind) for kind in ("read", "write"))
    other_reader = peer.lock(key.name, "t2", "read")
    write.lock(lease=LONG)
    read.lock(lease=LONG)
    assert (both.mode(), both.holds(), both.readers()) == (
        "write",
        {write.owner: 1},
        {read.owner: 1},
    )
    assert not other_reader.try_lock()
    write.unlock()
    assert both.mode() == "read"
    assert other_reader.try_lock(wait=0, lease=LONG)
    assert set(both.readers()) == {read.owner, other_reader.owner}
    assert len(both.read_holds_left(read.owner)) == 1
    read.unlock()
    other_reader.unlock()
    assert both.mode() is None


def test_a_fenced_lock_has_a_token(peer: JavaPeer, release: str, key: LockKey) -> None:
    lock = peer.fenced_lock(key.name)
    if release == "3.17.6":
        with pytest.raises(JavaError, match="no fenced lock"):
            lock.lock_and_get_token()
        return
    first = lock.lock_and_get_token()
    second = lock.begin_try_lock_and_get_token(1, LONG).result(SOON).value
    assert first + 1 == second == lock.token()
    assert lock.hold_count() == 2
    other = peer.fenced_lock(key.name, "t2")
    assert other.begin_try_lock_and_get_token(0, LONG).result(SOON).value is None
    lock.unlock()
    lock.unlock()


def test_a_lock_over_several_holds_all_of_them(peer: JavaPeer, key: LockKey) -> None:
    keys = [replace(key, name=f"{key.name} {part}") for part in "abc"]
    names = [part.name for part in keys]
    for several in (peer.multi_lock(*names), peer.red_lock(*names)):
        several.lock(lease=LONG)
        assert [part.holds() for part in keys] == [{several.owner: 1}] * 3
        assert not peer.multi_lock(names[0], thread="t2").try_lock()
        several.unlock()
        assert not any(part.exists() for part in keys)


def test_a_red_lock_goes_on_without_a_minority(peer: JavaPeer, key: LockKey) -> None:
    keys = [replace(key, name=f"{key.name} {part}") for part in "abc"]
    names = [part.name for part in keys]
    other = peer.lock(names[1], "t2")
    other.lock(lease=LONG)
    red = peer.red_lock(*names)
    assert red.try_lock(wait=1, lease=LONG)
    assert [part.holds() for part in keys] == [{red.owner: 1}, {other.owner: 1}, {red.owner: 1}]
    red.unlock()
    other.unlock()


def test_members_live_on_their_servers(
    red_peer: JavaPeer, red_servers: list[Server], name: str
) -> None:
    red = red_peer.red_lock(*[name] * len(red_servers))
    assert red.try_lock(wait=1, lease=LONG)
    assert [len(LockKey(server, name).holds()) for server in red_servers] == [1] * 3
    red.unlock()


def test_a_semaphore_counts(peer: JavaPeer, redis_server: Server, name: str) -> None:
    key = SemaphoreKey(redis_server, name)
    mine, other = peer.semaphore(name), peer.semaphore(name, "t2")
    assert mine.try_set_permits(3)
    assert not other.try_set_permits(5)
    assert mine.try_acquire(2)
    asleep = key.next_waiter_sleeps(other)
    waiting = other.begin_acquire(2)
    eventually(asleep)
    mine.release()
    waiting.result(SOON)
    mine.add_permits(4)
    assert (mine.available_permits(), key.permits()) == (4, 4)
    assert (mine.drain_permits(), key.permits()) == (4, 0)
    assert not mine.try_acquire()
    assert mine.delete()
    assert key.permits() is None


def test_a_permit_has_an_id_and_an_end(peer: JavaPeer, redis_server: Server, name: str) -> None:
    key = PermitSemaphoreKey(redis_server, name)
    mine, other = peer.permit_semaphore(name), peer.permit_semaphore(name, "t2")
    assert mine.try_set_permits(1)
    permit = mine.acquire(lease=LONG)
    assert set(key.given()) == {permit}
    assert mine.update_lease_time(permit, 2 * LONG)
    assert other.try_acquire() is None
    asleep = key.next_waiter_sleeps(other)
    waiting = other.begin_acquire()
    eventually(asleep)
    mine.release(permit)
    forever = waiting.result(SOON).value
    assert key.given() == {forever: 922337203685477}
    assert not other.try_release(permit)
    with pytest.raises(JavaError, match="RedisException"):
        other.release(permit)
    assert other.try_release(forever)
    assert mine.available_permits() == 1
    assert mine.delete()


def test_a_latch_opens_at_zero(peer: JavaPeer, redis_server: Server, name: str) -> None:
    key = LatchKey(redis_server, name)
    latch, waiter = peer.latch(name), peer.latch(name, "t2")
    assert latch.try_set_count(2)
    assert not latch.try_set_count(3)
    asleep = key.next_waiter_sleeps(waiter)
    waiting = waiter.begin_await(10)
    eventually(asleep)
    latch.count_down()
    assert (latch.count(), key.count(), waiting.done()) == (1, 1, False)
    latch.count_down()
    assert waiting.result(SOON).value
    assert key.count() is None
    assert latch.try_set_count(1)
    assert not latch.await_(0.1)
    assert latch.delete()
    assert waiter.await_(0)


def test_an_unlock_without_a_hold_is_an_error(peer: JavaPeer, shared: SharedLock) -> None:
    holder, other = shared.java(peer, "t2"), shared.java(peer)
    holder.lock(lease=LONG)
    with pytest.raises(JavaError) as caught:
        other.unlock()
    assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    holder.unlock()
