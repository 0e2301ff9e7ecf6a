"""The promises of the fair lock: the order, and the places in the queue."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.contract.kinds import KINDS, Kind, prefixed
from tests.support.actors import PAUSE, TaskActor
from tests.support.halting import others_sleep
from tests.support.waiting import BOUND, Stopwatch, eventually, stays, turns

QUEUE = prefixed(b"redisson_lock_queue", NAME)
TIMEOUTS = prefixed(b"redisson_lock_timeout", NAME)
CHANNEL = prefixed(b"redisson_lock__channel", NAME)

# Waiters at the end of the queue: one of holdfast, and one of Redisson.
DEAD = b"c0ffee00-0000-8000-8000-00000000000a:1"
JAVA = b"0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37"

PATIENCE = 0.3
"""The queue timeout of waiters whose time passes in a test: they ask every 0.1 s."""
LASTING = 3.0
"""The same of those who are to keep their places: on a busy machine they may ask late."""


@pytest.fixture
def kind() -> Kind:
    (kind,) = (kind for kind in KINDS if kind.name == "fair_lock")
    return kind


def line(stage: Stage) -> list[bytes]:
    """Those who wait, in order."""
    return list(stage.server.inspect.lrange(QUEUE, 0, -1))


def alive(stage: Stage, owner: bytes) -> float:
    """How many seconds the place of a waiter lasts; negative when it is over or not there."""
    seconds, micros = stage.server.inspect.time()
    score = stage.server.inspect.zscore(TIMEOUTS, owner) or 0.0
    return float(score) / 1000 - seconds - micros / 1e6


def stand(stage: Stage, owner: bytes, seconds: float) -> None:
    """Put somebody at the end of the line, to count as alive for so long."""
    stage.server.inspect.rpush(QUEUE, owner)
    until = int((time.time() + seconds) * 1000)  # the server's clock is ours
    stage.server.inspect.zadd(TIMEOUTS, {owner: until})


def wait_behind(stage: Stage, actor: Any, lock: Any) -> Future[Any]:
    """Let `actor` wait behind somebody who does not listen; returns when it does."""
    listening = stage.subscribers() + 1
    waiting: Future[Any] = actor.begin(lock.acquire)
    eventually(lambda: stage.subscribers() == listening)
    return waiting


def no_client_waits(stage: Stage) -> bool:
    """Neither a place nor a subscription is left."""
    return stage.all_keys() <= {NAME.encode()} and stage.subscribers() == 0


# ---- the order


def test_it_is_granted_in_the_order_of_asking(alice: Any, stage: Stage) -> None:
    """Over all waiters of several clients, however they are mixed."""
    clients = [stage.client() for _ in range(3)]
    locks = [stage.lock(clients[number % 3]) for number in range(12)]
    order: list[int] = []

    def take_and_give(number: int) -> Generator[Any, Any, None]:
        assert (yield locks[number].acquire())
        order.append(number)
        yield locks[number].release()

    alice.do(locks[0].acquire)
    running: list[Future[Any]] = []
    for number in range(12):
        running.append(stage.actor().begin(take_and_give, number))
        eventually(lambda: len(line(stage)) == len(running))
    alice.do(locks[0].release)
    for each in running:
        each.result(BOUND)
    assert order == list(range(12))
    eventually(lambda: no_client_waits(stage))


def test_who_comes_back_stands_behind_all_others(alice: Any, bob: Any, stage: Stage) -> None:
    mine, theirs = stage.lock(stage.client()), stage.lock(stage.client())
    alice.do(mine.acquire)
    first = stage.wait(bob, theirs)
    alice.do(mine.release)
    again = alice.begin(mine.acquire)
    assert first.result(BOUND) is True
    eventually(lambda: len(line(stage)) == 1)
    assert not again.done()
    bob.do(theirs.release)
    assert again.result(BOUND) is True


@pytest.mark.parametrize("how", [{"blocking": False}, {"timeout": 0}], ids=str)
def test_a_try_does_not_overtake_and_takes_no_place(
    alice: Any, lock: Any, stage: Stage, how: dict[str, Any]
) -> None:
    stand(stage, DEAD, 60)
    assert alice.do(lock.acquire, **how) is False
    assert line(stage) == [DEAD]
    assert stage.holds() == {}


def test_redissons_waiter_has_its_turn(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    stand(stage, JAVA, 300)
    waiting = wait_behind(stage, bob, lock)
    with stage.server.listening(CHANNEL + b":" + JAVA) as messages:
        alice.do(lock.release)
        assert messages.received() == [b"0"]
    assert not waiting.done()
    # What Redisson does when it gets the lock, and when it releases it.
    inspect = stage.server.inspect
    inspect.lpop(QUEUE)
    inspect.zrem(TIMEOUTS, JAVA)
    (mine,) = line(stage)
    inspect.zincrby(TIMEOUTS, -300_000, mine)
    assert alive(stage, mine) > 0, "Redisson would drop this living waiter"
    inspect.publish(CHANNEL + b":" + mine, "0")
    assert waiting.result(BOUND) is True


# ---- leaving the line


@pytest.mark.costly
@pytest.mark.realtime
def test_who_gives_up_leaves_the_line_to_the_others(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    first = stage.wait(stage.actor(), lock)
    brief = stage.wait(stage.actor(), lock, timeout=3)
    last = stage.wait(stage.actor(), stage.lock(stage.client()))
    (before, _, behind) = line(stage)
    assert brief.result(BOUND) is False
    eventually(lambda: line(stage) == [before, behind])
    assert not first.done()
    assert not last.done()


@pytest.mark.flavours("asyncio", "trio")
def test_a_cancelled_wait_leaves_the_line(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    bob: TaskActor = stage.actor()
    waiting = stage.wait(bob, lock)
    bob.cancel()
    eventually(waiting.done)
    eventually(lambda: no_client_waits(stage))
    alice.do(lock.release)


@pytest.mark.flavours("asyncio")
def test_a_wait_cancelled_at_any_moment_leaves_the_line(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    async def cancel_after(steps: int) -> None:
        waiting = asyncio.ensure_future(lock.acquire())
        await turns(steps)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting

    alice.do(lock.acquire)
    for steps in range(0, 200, 5):
        bob.do(cancel_after, steps)
    eventually(lambda: no_client_waits(stage))


def test_after_all_waiters_the_queue_is_empty(stage: Stage) -> None:
    inside: list[int] = []

    def come_and_go(number: int, lock: Any) -> Generator[Any, Any, None]:
        dice = random.Random(number)
        for _ in range(15):
            try:
                got = yield lock.acquire(timeout=dice.choice([0, 0.001, 0.004, 0.02, BOUND]))
            except holdfast.ConnectionError:
                continue  # a busy machine's server has not answered within a millisecond
            if got:
                inside.append(number)
                yield PAUSE
                assert inside == [number]
                inside.clear()
                yield lock.release()

    clients = [stage.client() for _ in range(3)]
    running = [
        stage.actor().begin(come_and_go, number, stage.lock(clients[number % 3]))
        for number in range(9)
    ]
    for each in running:
        each.result(3 * BOUND)
    eventually(lambda: stage.all_keys() == set() and stage.subscribers() == 0)


@pytest.mark.costly
def test_who_gives_up_when_it_is_its_turn_tells_the_next(
    alice: Any, lock: Any, stage: Stage
) -> None:
    """The first in the queue of a free lock leaves: no other message would wake the second."""
    alice.do(lock.acquire, lease=3600)
    first = stage.actor().begin(lock.acquire, timeout=2)
    eventually(lambda: len(line(stage)) == 1)
    second = stage.wait(stage.actor(), lock)
    eventually(lambda: stage.server.inspect.ping() and others_sleep())  # they have asked once more
    stage.take_away()
    assert first.result(BOUND) is False
    assert second.result(BOUND) is True


def test_a_lock_that_is_held_by_force_is_taken_by_the_next_only(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    first, second = stage.wait(bob, lock), stage.wait(stage.actor(), lock)
    stage.actor().do(lock.force_release)
    assert first.result(BOUND) is True
    assert len(line(stage)) == 1
    assert not second.done()


# ---- the dead and the living


def test_a_place_lasts_for_the_clients_lease(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(lease=20))
    alice.do(lock.acquire)
    stage.wait(bob, lock)
    (waiter,) = line(stage)
    assert 15 < alive(stage, waiter) <= 20


@pytest.mark.parametrize(("given", "lasts"), [(7, 7), (0.5, 0.5), (0.001, 0.1)])
def test_a_place_lasts_for_the_queue_timeout(
    alice: Any, bob: Any, stage: Stage, given: float, lasts: float
) -> None:
    lock = stage.lock(queue_timeout=given)
    alice.do(lock.acquire)
    stage.wait(bob, lock)
    (waiter,) = line(stage)
    eventually(lambda: lasts / 2 < alive(stage, waiter) <= lasts)


@pytest.mark.costly
@pytest.mark.realtime
def test_the_living_keep_their_places_however_long_they_wait(alice: Any, stage: Stage) -> None:
    lock = stage.lock(queue_timeout=LASTING)
    alice.do(lock.acquire)
    waiting = [stage.wait(stage.actor(), lock) for _ in range(3)]
    there = line(stage)
    stays(
        lambda: line(stage) == there and all(alive(stage, waiter) > 0 for waiter in there),
        during=1.2 * LASTING,
    )
    assert not any(each.done() for each in waiting)


@pytest.mark.costly
@pytest.mark.realtime
def test_a_key_without_expiry_does_not_stop_the_signs_of_life(
    alice: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    stage.server.inspect.persist(NAME)
    patient = stage.lock(queue_timeout=LASTING)
    stage.wait(stage.actor(), patient)
    there = line(stage)
    stays(lambda: alive(stage, there[0]) > 0, during=1.2 * LASTING)


@pytest.mark.costly
@pytest.mark.realtime
@pytest.mark.parametrize("dead", [1, 3])
def test_the_dead_are_passed_over_when_their_time_is_up(
    alice: Any, stage: Stage, dead: int
) -> None:
    """The lock is free: without a message, each waiter finds out by its own timer."""
    watch = Stopwatch()
    for number in range(dead):
        stand(stage, DEAD + b"%d" % number, 1)
    assert alice.do(stage.lock().acquire) is True
    assert watch.seconds > 0.9


@pytest.mark.costly
@pytest.mark.realtime
@pytest.mark.servers("real")
def test_no_waiter_is_busy_while_the_first_is_dead(stage: Stage) -> None:
    """The same with Redisson since 3.32 was 12 555 scripts in four seconds, from one waiter."""
    stand(stage, DEAD, 2)
    locks = [stage.lock(stage.client()) for _ in range(4)]
    with stage.server.recording() as recording:
        waiting = [wait_behind(stage, stage.actor(), lock) for lock in locks]
        assert waiting[0].result(BOUND) is True
        scripts = recording.count()["EVALSHA"] + recording.count()["EVAL"]
    # Each asks for a place and once more when it listens; and EVALSHA may have to become EVAL. The
    # first asks when the dead one's time is over.
    assert scripts <= 3 * len(locks) + 2


@pytest.mark.costly
@pytest.mark.realtime
@pytest.mark.servers("real")
def test_when_a_lease_runs_out_only_the_first_in_line_asks(lock: Any, stage: Stage) -> None:
    stage.server.inspect.hset(NAME, JAVA, 1)
    stage.server.inspect.pexpire(NAME, 4000)
    clients = [stage.client() for _ in range(5)]
    waiting = [stage.wait(stage.actor(), stage.lock(client)) for client in clients]
    with stage.server.recording() as recording:
        stays(lambda: not waiting[0].done(), during=0.2)
        recording.clear()
        assert waiting[0].result(BOUND) is True
        assert recording.count()["EVALSHA"] <= 2
    assert not any(each.done() for each in waiting[1:])


@pytest.mark.costly
@pytest.mark.realtime
@pytest.mark.servers("real")
def test_a_waiter_costs_three_commands_for_each_queue_timeout(alice: Any, stage: Stage) -> None:
    lock = stage.lock(queue_timeout=PATIENCE)
    alice.do(lock.acquire)
    waiting = stage.wait(stage.actor(), lock)
    watch = Stopwatch()
    with stage.server.recording() as recording:
        stays(lambda: not waiting.done(), during=4 * PATIENCE)
        assert len(recording.commands) <= 3 * watch.seconds / PATIENCE + 2
        eventually(lambda: len(recording.commands) >= 6)


def test_who_was_dropped_while_it_lived_stands_in_line_again(
    alice: Any, bob: Any, stage: Stage
) -> None:
    """As after a pause of its process, or when the server has lost its keys."""
    lock = stage.lock(queue_timeout=PATIENCE)
    alice.do(lock.acquire)
    waiting = stage.wait(bob, lock)
    stage.server.inspect.delete(QUEUE, TIMEOUTS)
    eventually(lambda: len(line(stage)) == 1)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


@pytest.mark.servers("real")
def test_a_waiter_survives_the_loss_of_its_connections(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    """It subscribes anew and asks again; its place is the one it had."""
    alice.do(lock.acquire)
    first = stage.wait(bob, lock)
    second = stage.wait(stage.actor(), lock)
    there = line(stage)
    stage.server.kill_connections("pubsub")
    stage.server.kill_connections("normal")
    eventually(lambda: stage.subscribers() == 2)
    assert line(stage) == there
    alice.do(lock.release)
    assert first.result(BOUND) is True
    assert not second.done()


# ---- its cost


@pytest.mark.servers("real")
def test_an_uncontended_pair_reads_the_line_twice(alice: Any, lock: Any, stage: Stage) -> None:
    """That is all it costs more than the plain lock."""
    alice.do(lock.acquire)
    alice.do(lock.release)
    with stage.server.recording() as recording:
        alice.do(lock.acquire)
        alice.do(lock.release)
        names = [sent.name.lower() for sent in recording.scripted]
    assert names == ["pttl", "lindex", "hset", "pexpire", "hdel", "lindex"]
