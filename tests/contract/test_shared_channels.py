"""Semaphores whose names, as `n` and `{n}`, share a channel: whose waiters a message wakes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.halting import others_sleep
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, SOON, Stopwatch, eventually, stays


@pytest.mark.realtime
def test_of_two_names_that_share_a_channel_a_release_wakes_the_right_waiter(
    alice: Any, make_actor: MakeActor, make_client: MakeClient
) -> None:
    client, other = make_client(), make_client()
    semaphores = [client.semaphore(name) for name in ("n", "{n}")]
    for semaphore in semaphores:
        alice.do(semaphore.try_set_permits, 0)
    waiting = []
    for semaphore in semaphores:
        waiting.append(make_actor().begin(semaphore.acquire))
        eventually(others_sleep)
    watch = Stopwatch()
    alice.do(other.semaphore("{n}").release)
    assert waiting[1].result(BOUND)
    assert watch.seconds < SOON
    alice.do(other.semaphore("n").release)
    assert waiting[0].result(BOUND)


@pytest.mark.realtime
@pytest.mark.servers("real")
@pytest.mark.parametrize("name", ["s", "{s}"])
def test_permits_that_are_too_few_make_no_waiter_try_again(
    alice: Any, bob: Any, make_client: MakeClient, server: Server, name: str
) -> None:
    semaphore = make_client().permit_semaphore(name)
    alice.do(semaphore.try_set_permits, 2)
    waiting = bob.begin(semaphore.acquire_many, 3)
    eventually(lambda: server.subscribers("redisson_sc:{s}") == 1)
    with server.recording() as recording:
        stays(lambda: not waiting.done(), during=0.2)
        assert recording.count()["EVALSHA"] <= 2
    alice.do(semaphore.add_permits, 1)
    assert len(waiting.result(BOUND)) == 3
