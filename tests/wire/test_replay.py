"""What Redisson was recorded to do, holdfast does: results, keys, leases, messages, waiters."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.actors import Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.wire.differences import DIFFERENCES, ours
from tests.wire.recordings import VERSIONS, Scenario, load
from tests.wire.replay import MainActor, Replay

pytestmark = pytest.mark.servers("real")

KINDS = ("lock", "multi")
RECORDINGS = {
    (version, name): scenario
    for version in VERSIONS
    for kind in KINDS
    for name, scenario in load(version, kind).items()
}
TAKES_TIME = {"watchdog", "watchdog-many", "expiry", "wait-times-out", "multi-one-taken"}


def scenarios() -> list[Any]:
    return [
        pytest.param(
            scenario,
            id=f"{version}-{name}",
            marks=[pytest.mark.realtime] if name in TAKES_TIME else [],
        )
        for (version, name), scenario in RECORDINGS.items()
    ]


@pytest.mark.parametrize("scenario", scenarios())
def test_holdfast_does_what_redisson_did(
    scenario: Scenario,
    flavour: Flavour,
    server: Server,
    make_client: MakeClient,
    make_actor: MakeActor,
) -> None:
    clients = {part: make_client(lease=lease) for part, lease in scenario.leases.items()}
    steps = ours(scenario)
    interrupted = {step.by for step in steps if step.op == "interrupt"}
    if interrupted and not flavour.asyncio:
        main = MainActor()
        replay = Replay(server, clients, lambda part: main if part in interrupted else make_actor())
        with_main_thread_as(main, lambda: replay.run(steps))
    else:
        replay = Replay(server, clients, lambda _: make_actor())
        replay.run(steps)
    replay.close()


def with_main_thread_as(actor: MainActor, run: Callable[[], None]) -> None:
    """Run something in another thread, while the main thread is an actor of it."""

    def run_and_end() -> None:
        try:
            run()
        finally:
            actor.end()

    with ThreadPoolExecutor(1) as others:
        ended = others.submit(run_and_end)
        actor.serve()
        ended.result()


@pytest.mark.parametrize("version", VERSIONS)
def test_each_difference_is_one(version: str) -> None:
    for difference in DIFFERENCES:
        steps = RECORDINGS[version, difference.scenario].steps
        for index in difference.steps:
            assert difference.apply(steps[index]) != steps[index], difference
