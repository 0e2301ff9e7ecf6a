"""What Redisson was recorded to do with semaphores and latches, holdfast does."""

from __future__ import annotations

from concurrent.futures import wait
from typing import Any

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND
from tests.wire.counter_calls import CounterCalls
from tests.wire.differences import ours
from tests.wire.recordings import VERSIONS, Key, Scenario, Step, load
from tests.wire.replay import Replay

pytestmark = pytest.mark.servers("real")

REQUEST = "redisson_request:"
"""Answers to requests are kept under keys of our own, for a while; Redisson has none."""

TAKES_TIME = {
    ("semaphore", "waiters"),
    ("semaphore", "two-waiters-one-message"),
    ("count_down_latch", "basic"),
}


def scenarios() -> list[Any]:
    return [
        pytest.param(
            kind,
            scenario,
            id=f"{version}-{kind}-{name}",
            marks=[pytest.mark.realtime] if (kind, name) in TAKES_TIME else [],
        )
        for version in VERSIONS
        for kind in ("semaphore", "count_down_latch")
        for name, scenario in load(version, kind).items()
    ]


class CounterReplay(Replay):
    """Here one message may wake several."""

    def _see_who_woke(self, steps: tuple[Step, ...]) -> None:
        part = str(steps[-1].by)
        if not steps[0].waits and part in self._waiting:
            wait([self._waiting[part]], timeout=BOUND)

    def _key(self, name: bytes) -> Key:
        key = super()._key(name)
        if name.startswith(REQUEST.encode()):
            assert 0 < key.ttl <= 20_000
        return key

    def _has_keys(self, expected: dict[str, Key]) -> bool:
        names = self._server.keys()
        keys = {name.decode(): self._key(name) for name in names}
        there = {name: key for name, key in keys.items() if not name.startswith(REQUEST)}
        assert there == expected, f"on the server is {there}, not {expected}"
        return True


@pytest.mark.parametrize(("kind", "scenario"), scenarios())
def test_holdfast_does_what_redisson_did(
    kind: str, scenario: Scenario, server: Server, make_client: MakeClient, make_actor: MakeActor
) -> None:
    clients = {part: make_client(lease=lease) for part, lease in scenario.leases.items()}
    replay = CounterReplay(server, clients, lambda _: make_actor())
    replay.calls = CounterCalls(kind)
    replay.run(ours(scenario, kind))
    replay.close()
