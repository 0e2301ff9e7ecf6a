"""What Redisson leaves on a server is seen as what it is."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.tools.inspect.keys import CLIENTS, expected, permit, put
from tests.wire.recordings import VERSIONS, load

pytestmark = pytest.mark.servers("redis")

SEEN = {"lock", "fair", "fenced", "spin", "rw", "multi", "permit"}


@pytest.fixture
def client(server: Server) -> Any:
    with holdfast.Client(server.url) as client:
        yield client


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_state_lists_its_owners(
    server: Server, client: holdfast.Client, version: str
) -> None:
    steps = [
        step
        for scenario in load()
        if scenario.version == version and scenario.kind in SEEN
        for step in scenario.steps
    ]
    with server.connect() as connection:
        for step in steps:
            server.flush()
            for name, key in step.keys.items():
                put(connection, name, key)
            listed = {
                info.name: (info.kind, sorted((o.id, o.holds, o.mode or "") for o in info.owners))
                for info in inspect.locks(client)
            }
            assert listed == expected(step.keys), (step, listed)


def test_a_fair_lock_of_redisson_shows_its_queue_in_order(
    server: Server, client: holdfast.Client
) -> None:
    [step] = [
        step
        for scenario in load()
        if (scenario.version, scenario.kind, scenario.name) == ("4.7.0", "fair", "queue")
        for step in scenario.steps[3:4]
    ]
    with server.connect() as connection:
        for name, key in step.keys.items():
            put(connection, name, key)
    found = inspect.lock(client, "demo")
    assert found is not None
    assert found.kind == "fair_lock"
    assert found.waiters == 3
    assert found.queue is not None
    a, b = CLIENTS["<A>"], CLIENTS["<B>"]
    assert [queued.id for queued in found.queue] == [f"{b}:1", f"{a}:2", f"{b}:2"]
    timeouts = [queued.timeout for queued in found.queue]
    assert timeouts == [pytest.approx(at, abs=20) for at in (328.5, 628.5, 688.5)]
    assert found.channels[0] == f"redisson_lock__channel:{{demo}}:{b}:1"


def test_a_permit_that_never_expires_has_no_time_left(
    server: Server, client: holdfast.Client
) -> None:
    with server.connect() as connection:
        connection.set("demo", "1")
        connection.zadd("{demo}:timeout", {permit("<id2>"): 922337203685477})
    [info] = inspect.locks(client)
    assert (info.kind, info.ttl, len(info.owners)) == ("permit_semaphore", None, 1)
