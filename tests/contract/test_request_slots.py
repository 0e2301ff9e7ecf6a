"""What semaphores and latches leave on the server: keys for steps at a time, not for each step."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server

NAME = "mySemaphore"
OWNERS = 4
PAIRS = 500
ENOUGH = 60.0
"""Seconds in which a busy machine carries out all pairs."""


@pytest.mark.servers("real")
def test_keys_are_bounded_by_the_callers_and_expire(
    alice: Any, client: Any, make_actor: MakeActor, server: Server
) -> None:
    semaphore, latch = client.semaphore(NAME), client.count_down_latch("myLatch")
    alice.do(semaphore.try_set_permits, OWNERS)
    alice.do(latch.try_set_count, OWNERS * PAIRS)

    def pairs() -> Generator[Any, Any, None]:
        for _ in range(PAIRS):
            assert (yield semaphore.acquire())
            yield semaphore.release()
            yield latch.count_down()

    for running in [make_actor().begin(pairs) for _ in range(OWNERS)]:
        running.result(ENOUGH)
    assert alice.do(semaphore.available_permits) == OWNERS
    assert alice.do(latch.count) == 0
    left = server.keys() - {NAME.encode()}
    # Of two names; an owner's next step may begin before the slot of its last one is free.
    assert 0 < len(left) <= 2 * 3 * OWNERS
    assert all(0 < server.inspect.pttl(key) <= 20_000 for key in left)


def test_a_program_that_is_started_again_does_not_meet_its_predecessor(
    alice: Any, make_client: MakeClient
) -> None:
    """Two clients with one id, one after another: the second one's steps are no repeats."""
    free = 5
    for _ in range(2):
        client = make_client(id="5921d8b5-5d8d-4a2b-800b-a469f20f66c2")
        semaphore = client.semaphore(NAME)
        alice.do(semaphore.try_set_permits, free)
        assert alice.do(semaphore.acquire, permits=2)
        assert alice.do(semaphore.release) == alice.do(semaphore.release)
        assert alice.do(semaphore.available_permits) == free
        alice.do(client.close)
