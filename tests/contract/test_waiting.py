"""Who waits costs nothing, leaves nothing behind, and does not shout when a lock is free."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.contract.conftest import Stage
from tests.support.actors import PAUSE
from tests.support.halting import others_sleep
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, stays

LOOKS_AGAIN = 0.125
"""Seconds after which, at the earliest, a waiter that polls looks again by the clock."""


def test_after_a_grant_no_subscription_is_left(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire, lease=3600)
    waiting = stage.wait(bob, rival)
    alice.do(lock.release)
    assert waiting.result(BOUND)
    bob.do(rival.release)
    eventually(lambda: stage.subscribers() == 0)
    assert stage.all_keys() == set()


@pytest.mark.realtime
def test_who_gives_up_leaves_nothing(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    waiting = stage.wait(bob, rival, timeout=1)
    assert waiting.result(BOUND) is False
    eventually(lambda: stage.subscribers() == 0)
    alice.do(lock.release)
    assert stage.all_keys() == set()
    assert bob.do(rival.acquire, blocking=False)


def test_a_client_has_one_subscription_for_all_its_waiters(
    alice: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    waiting = [stage.wait(stage.actor(), rival) for _ in range(5)]
    assert stage.subscribers() == stage.kind.subscriptions(1, 5)
    assert not any(each.done() for each in waiting)
    stage.actor().do(lock.force_release)
    eventually(lambda: sum(each.done() for each in waiting) == 1)
    eventually(lambda: stage.subscribers() == stage.kind.subscriptions(1, 4))


def test_waiters_of_many_names(stage: Stage) -> None:
    holder, names = stage.actor(), [f"lock {number}" for number in range(20)]
    locks = [stage.lock(name=name) for name in names]
    for lock in locks:
        holder.do(lock.acquire, lease=3600)
    waiting = [stage.wait(stage.actor(), stage.rival(name=name)) for name in names]
    for lock in reversed(locks):
        holder.do(lock.release)
    assert all(each.result(BOUND) for each in waiting)
    eventually(lambda: sum(stage.subscribers(name) for name in names) == 0)


def test_a_try_does_not_subscribe(
    alice: Any, bob: Any, quiet_lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(quiet_lock.acquire)
    assert not bob.do(rival.acquire, blocking=False)  # from now on the server knows the script
    if stage.server.real:
        with stage.server.recording() as recording:
            assert not bob.do(rival.acquire, blocking=False)
            assert 1 <= len(recording.commands) <= len(stage.keys_of())
    assert not bob.do_briefly(rival.acquire, timeout=0)
    assert stage.subscribers() == 0


@pytest.mark.costly
@pytest.mark.servers("real")
@pytest.mark.realtime
def test_nothing_is_sent_while_nothing_changes(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire, lease=3600)
    clients = [stage.client() for _ in range(3)]
    waiting = [stage.wait(stage.actor(), stage.rival(clients[n % 3])) for n in range(9)]
    eventually(lambda: stage.subscribers() == stage.kind.subscriptions(3, 9))
    with stage.server.recording() as recording:
        stays(lambda: not any(each.done() for each in waiting), during=0.2)
        recording.clear()
        stays(lambda: not any(each.done() for each in waiting), during=0.6)
        assert recording.commands == []


@pytest.mark.servers("real")
@pytest.mark.realtime
def test_an_idle_client_sends_nothing(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    alice.do(lock.release)
    with stage.server.recording() as recording:
        stays(lambda: stage.all_keys() == set(), during=0.5)
        assert recording.commands == []


@pytest.mark.servers("real")
@pytest.mark.parametrize("clients", [1, 4])
def test_commands_per_acquisition_do_not_grow_with_the_waiters(stage: Stage, clients: int) -> None:
    """many-waiters."""
    rounds, waiters = 5, 24
    makers = [stage.client() for _ in range(clients)]

    def take_turns(lock: Any) -> Generator[Any, Any, None]:
        for _ in range(rounds):
            assert (yield lock.acquire(timeout=BOUND))
            yield PAUSE
            yield lock.release()

    watch = Stopwatch()
    with stage.server.recording() as recording:
        running = [
            stage.actor().begin(take_turns, stage.lock(makers[n % clients])) for n in range(waiters)
        ]
        for each in running:
            each.result(3 * BOUND)
        acquisitions = rounds * waiters
        per_acquisition = len(recording.commands) / acquisitions
    most = stage.kind.commands_per_acquisition(clients)
    if stage.kind.polls:
        most += waiters * watch.seconds / LOOKS_AGAIN / acquisitions
    most *= len(stage.keys_of())
    assert per_acquisition <= most, f"{per_acquisition:.1f} commands per acquisition"


@pytest.mark.servers("real")
def test_commands_for_short_holds_do_not_grow_with_the_clients(
    make_client: MakeClient, make_actor: MakeActor, server: Server
) -> None:
    """many-waiters: all but one of the attempts that follow a message would be in vain."""
    rounds, clients = 40, 16

    def take_turns(lock: Any) -> Generator[Any, Any, None]:
        for _ in range(rounds):
            assert (yield lock.acquire(timeout=BOUND))
            yield lock.release()

    locks = [make_client(server.url).lock("myLock") for _ in range(clients)]
    before = server.scripts_run() or 0
    running = [make_actor().begin(take_turns, lock) for lock in locks]
    for each in running:
        each.result(3 * BOUND)
    per_acquisition = ((server.scripts_run() or 0) - before) / (rounds * clients)
    assert per_acquisition <= clients / 2, f"{per_acquisition:.1f} scripts per acquisition"


@pytest.mark.servers("real")
def test_one_message_makes_one_waiter_try(
    alice: Any, quiet_lock: Any, rival: Any, stage: Stage
) -> None:
    """many-waiters."""
    alice.do(quiet_lock.acquire, lease=3600)
    waiting = [stage.wait(stage.actor(), rival) for _ in range(10)]
    eventually(lambda: stage.server.inspect.ping() and others_sleep())  # they have asked once more
    with stage.server.recording() as recording:
        stage.server.inspect.publish(stage.channels()[0], "0")
        eventually(lambda: len(recording.commands) >= 1)
        assert len(recording.commands) == 1
    assert not any(each.done() for each in waiting)


def test_a_wake_up_without_reason_is_survived(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    """lost-message."""
    alice.do(lock.acquire)
    before = stage.holds()
    waiting = stage.wait(bob, rival)
    for payload in ("0", "1", "-1", "", "not a number", b"\x00\xff"):
        stage.server.inspect.publish(stage.channels()[0], payload)
    assert stage.holds() == before
    assert not waiting.done()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
