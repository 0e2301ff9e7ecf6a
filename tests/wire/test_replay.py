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
from tests.wire.recordings import KINDS, VERSIONS, Scenario, load
from tests.wire.replay import MainActor, Replay

pytestmark = pytest.mark.servers("real")

RECORDINGS = [s for kind in KINDS for v in VERSIONS for s in load(v, kind).values()]
TAKES_TIME = {
    *("watchdog", "watchdog-many", "expiry", "wait-times-out"),
    *("waiting-readers", "reader-expires", "reader-expires-2"),
}


def scenarios() -> list[Any]:
    return [
        pytest.param(
            scenario,
            id=f"{scenario.version}-{scenario.kind}-{scenario.name}",
            marks=[pytest.mark.realtime] if scenario.name in TAKES_TIME else [],
        )
        for scenario in RECORDINGS
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


def test_each_difference_is_one() -> None:
    for difference in DIFFERENCES:
        theirs = [scenario for scenario in RECORDINGS if difference.is_of(scenario)]
        assert len(theirs) == len(difference.versions)
        for scenario in theirs:
            for index in difference.steps:
                step = scenario.steps[index]
                assert difference.apply(step) != step, (difference, index)
