"""What a fair lock says of its queue: who waits, and at which place."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.contract.kinds import KINDS, Kind, prefixed
from tests.contract.test_fair_lock import DEAD, JAVA, stand
from tests.support.waiting import BOUND, eventually

QUEUE = prefixed(b"redisson_lock_queue", NAME)


@pytest.fixture
def kind() -> Kind:
    (kind,) = (kind for kind in KINDS if kind.name == "fair_lock")
    return kind


def owners(found: list[holdfast.Holder]) -> list[str]:
    return [one.owner for one in found]


def test_a_lock_without_waiters_has_an_empty_queue(alice: Any, lock: Any) -> None:
    assert alice.do(lock.queue) == []
    assert alice.do(lock.position) is None
    alice.do(lock.acquire)
    assert alice.do(lock.queue) == []
    assert alice.do(lock.position) is None
    alice.do(lock.release)
    assert alice.do(lock.position) is None


def test_the_queue_has_the_waiters_in_order(alice: Any, bob: Any, carol: Any, stage: Stage) -> None:
    locks = [stage.lock(stage.client(), queue_timeout=60) for _ in range(3)]
    alice.do(locks[0].acquire)
    waiting = [stage.wait(bob, locks[1]), stage.wait(carol, locks[2])]
    for lock in locks[1:]:  # as of a client that notes its holds
        stage.server.inspect.hset(f"holdfast:client:{lock._client.id}", "within", 2000)
    found = alice.do(locks[0].queue)
    assert owners(found) == [each.decode() for each in stage.server.inspect.lrange(QUEUE, 0, -1)]
    assert [one.owner.partition(":")[0] for one in found] == [lock._client.id for lock in locks[1:]]
    for one in found:
        assert (one.mode, one.holds, one.since, one.within) == (None, 0, None, None)
        assert 30 < one.ttl <= 60
    alice.do(locks[0].release)
    assert waiting[0].result(BOUND) is True
    assert owners(alice.do(locks[0].queue)) == owners(found)[1:]
    bob.do(locks[1].release)
    assert waiting[1].result(BOUND) is True
    assert alice.do(locks[0].queue) == []


def test_other_threads_and_tasks_see_the_position_of_a_waiter(
    alice: Any, bob: Any, carol: Any, stage: Stage
) -> None:
    first, second, third = (stage.lock() for _ in range(3))
    alice.do(first.acquire)
    waiting = [stage.wait(bob, second), stage.wait(carol, third)]
    assert [alice.do(lock.position) for lock in (first, second, third)] == [None, 0, 1]
    queue = alice.do(first.queue)
    assert queue[1].owner == queue[alice.do(third.position)].owner
    alice.do(first.release)
    assert waiting[0].result(BOUND) is True
    assert [alice.do(lock.position) for lock in (second, third)] == [None, 0]
    bob.do(second.release)
    assert waiting[1].result(BOUND) is True
    assert alice.do(third.position) is None


def test_a_waiting_hold_and_a_block_have_a_position(
    alice: Any, bob: Any, carol: Any, stage: Stage
) -> None:
    held, of_hold, of_block = (stage.lock() for _ in range(3))
    alice.do(held.acquire)
    waiting = bob.begin(of_hold.hold)
    eventually(lambda: alice.do(of_hold.position) == 0)
    inside = stage.wait_inside(carol, of_block, lambda _: "inside")
    assert alice.do(of_block.position) == 1
    alice.do(held.release)
    alice.do(waiting.result(BOUND).release)
    assert inside.result(BOUND) == "inside"


def test_of_several_waiters_of_one_object_it_is_the_one_that_began_last(
    alice: Any, bob: Any, carol: Any, stage: Stage
) -> None:
    lock, held = stage.lock(), stage.lock()
    alice.do(held.acquire)
    waiting = stage.wait(bob, lock)
    assert alice.do(lock.position) == 0
    leaving = stage.wait(carol, lock, timeout=1)
    assert alice.do(lock.position) == 1
    assert leaving.result(BOUND) is False
    assert alice.do(lock.position) is None
    alice.do(held.release)
    assert waiting.result(BOUND) is True


def test_the_queue_says_who_waits_and_what_for(alice: Any, bob: Any, stage: Stage) -> None:
    held, theirs = stage.lock(), stage.lock(stage.client(label="billing"), label="invoice 7")
    alice.do(held.acquire)
    waiting = stage.wait(bob, theirs)
    [one] = alice.do(held.queue)
    assert (one.label, one.purpose, one.holds) == ("billing", "invoice 7", 0)
    assert isinstance(one.pid, int)
    alice.do(held.release)
    assert waiting.result(BOUND) is True


def test_the_dead_are_left_out_and_waiters_of_redisson_are_not(
    alice: Any, lock: Any, stage: Stage
) -> None:
    stand(stage, DEAD, -1)
    stand(stage, JAVA, 60)
    stage.server.inspect.rpush(QUEUE, b"without a time:1")
    [java] = alice.do(lock.queue)
    assert java.owner == JAVA.decode()
    assert java.label is None
    assert 30 < java.ttl <= 60


def test_a_queue_of_another_type_is_an_error(alice: Any, lock: Any, stage: Stage) -> None:
    stage.server.inspect.set(QUEUE, "text")
    for call in (lock.queue, lock.position):
        with pytest.raises(holdfast.ServerError, match="WRONGTYPE"):
            alice.do(call)


@pytest.mark.servers("real")
@pytest.mark.parametrize("protocol", [2, 3])
def test_the_queue_is_the_same_in_each_protocol(
    alice: Any, bob: Any, stage: Stage, protocol: int
) -> None:
    lock = stage.lock(stage.client(protocol=protocol), queue_timeout=60)
    alice.do(lock.acquire)
    waiting = stage.wait(bob, theirs := stage.lock(queue_timeout=60))
    [one] = alice.do(lock.queue)
    assert one.owner.startswith(theirs._client.id)
    assert 30 < one.ttl <= 60
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    bob.do(theirs.release)
