"""Waiters for permits, after the server has lost all data: they set up what is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, SOON, Stopwatch, eventually

pytestmark = [pytest.mark.servers("real"), pytest.mark.realtime]

NAME = "myPermits"
CHANNEL = "redisson_sc:{myPermits}"
LONG = 3600.0
"""A lease that no test lives to see the end of."""

Make = Callable[[Any], Any]


def _semaphore(client: Any) -> Any:
    return client.semaphore(NAME, permits=1)


def _permit_semaphore(client: Any) -> Any:
    return client.permit_semaphore(NAME, permits=1)


def _slots(client: Any) -> Any:
    return client.slots(NAME, 1)


KINDS = {"semaphore": _semaphore, "permit_semaphore": _permit_semaphore, "slots": _slots}


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    """Make what has one permit, of a client."""
    return KINDS[request.param]


def _wait(waiter: Any, semaphore: Any, server: Server) -> Any:
    waiting = waiter.begin(semaphore.acquire)
    eventually(lambda: server.subscribers(CHANNEL) > 0)
    assert not waiting.done()
    return waiting


def test_a_waiter_of_another_client_is_granted_one(
    alice: Any, bob: Any, make: Make, server: Server, make_client: MakeClient
) -> None:
    """restart-without-data.

    Within five seconds, though the lease that it knows of lasts for an hour.
    """
    alice.do(make(make_client(lease=LONG)).acquire)
    waiting = _wait(bob, make(make_client(lease=LONG)), server)
    server.flush()
    assert waiting.result(BOUND)


def test_a_waiter_that_is_not_the_first_is_granted_one(
    make_actor: MakeActor, bob: Any, make: Make, server: Server, make_client: MakeClient
) -> None:
    """restart-without-data: the one ahead of it gave up before the data were lost."""
    alice, carol = make_actor(), make_actor()
    alice.do(make(make_client(lease=LONG)).acquire)
    theirs = make(make_client(lease=LONG))
    first = carol.begin(theirs.acquire, timeout=1.0)
    eventually(lambda: server.subscribers(CHANNEL) > 0)
    waiting = bob.begin(theirs.acquire)
    assert not first.result(BOUND)
    assert not waiting.done()
    server.flush()
    assert waiting.result(BOUND)


@pytest.mark.parametrize("make", [_permit_semaphore, _slots])
def test_a_waiter_tries_at_once_where_its_client_has_seen_the_loss(
    alice: Any, bob: Any, make: Make, server: Server, make_client: MakeClient
) -> None:
    """restart-without-data: the server says that the permit of the other owner is gone."""
    client = make_client(lease=LONG)
    held = alice.do(make(client).acquire)
    eventually(lambda: server.inspect.info("stats")["tracking_total_keys"] > 0)
    waiting = _wait(bob, make(client), server)
    watch = Stopwatch()
    server.flush()
    assert waiting.result(BOUND)
    assert watch.seconds < SOON
    assert held
