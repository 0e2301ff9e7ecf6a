"""What Redisson was recorded to do, holdfast does: results, keys, leases, messages, waiters."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.actors import Flavour, ThreadActor
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.wire.differences import DIFFERENCES, THE_RECORDER_WAS_SLOW, Either, ours
from tests.wire.lua.steps import ROOT
from tests.wire.recordings import DATA, DEPLOYMENTS, FILES, Scenario, load
from tests.wire.replay import Replay

RECORDINGS = load()
PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
CHOSEN = PAGE.split("\n## Differences from Redisson\n")[1]


class MainActor(ThreadActor):
    """An actor that is the main thread, which alone gets a Ctrl-C; it works while in `serve`."""

    def __init__(self) -> None:
        super().__init__()
        super().end()
        self.thread = threading.main_thread()

    def serve(self) -> None:
        """Carry out its orders, until `end`."""
        self._work()

    def end(self) -> None:
        self._jobs.put(None)

    def cancel(self) -> None:
        """Press Ctrl-C."""
        assert self.thread.ident is not None
        signal.pthread_kill(self.thread.ident, signal.SIGINT)


def marks(scenario: Scenario) -> list[pytest.MarkDecorator]:
    """What takes its time and is recorded of several releases is slow but for the newest."""
    if not any(step.takes_time for step in scenario.steps):
        return []
    newest = max(
        (s.version for s in RECORDINGS if (s.kind, s.name) == (scenario.kind, scenario.name)),
        key=lambda version: [int(number) for number in version.split(".")],
    )
    older = [] if scenario.version == newest else [pytest.mark.slow]
    return [pytest.mark.realtime, pytest.mark.costly, *older]


def label(scenario: Scenario) -> str:
    return f"{scenario.version}-{scenario.kind}-{scenario.name}"


def scenarios(kinds: tuple[str, ...]) -> list[Any]:
    """Those of files of these kinds, as parameters of a test."""
    return [
        pytest.param(
            scenario,
            id=label(scenario),
            marks=marks(scenario),
        )
        for scenario in RECORDINGS
        if scenario.kind in kinds
    ]


@pytest.mark.servers("real")
@pytest.mark.parametrize("scenario", scenarios(FILES))
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
        with Replay(
            server, clients, lambda part: main if part in interrupted else make_actor()
        ) as replay:
            with_main_thread_as(main, lambda: replay.run(steps))
    else:
        with Replay(server, clients, lambda _: make_actor()) as replay:
            replay.run(steps)


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


def test_every_recording_is_replayed() -> None:
    assert {path.stem for path in DATA.glob("redisson-*/*.json")} == {*FILES, *DEPLOYMENTS}
    assert {scenario.kind for scenario in RECORDINGS} == {*FILES, *DEPLOYMENTS}


def is_certain(value: object) -> bool:
    return not isinstance(value, Either)


def test_each_difference_is_one() -> None:
    for difference in DIFFERENCES:
        theirs = [scenario for scenario in RECORDINGS if difference.is_of(scenario)]
        assert len(theirs) == len(difference.versions), difference
        for step in (scenario.steps[index] for scenario in theirs for index in difference.steps):
            changed = difference.changed(step).items()
            same = [f for f, v in changed if is_certain(v) and v == getattr(step, f)]
            assert same == [], f"{difference}: at {step} this is as recorded"


def test_the_page_gives_the_reason_of_each_difference() -> None:
    rows = Counter(line.split(" | ")[0] for line in CHOSEN.splitlines() if line.startswith("| "))
    assert [row for row, times in rows.items() if times > 1 and row != "|"] == []
    reasons = {f"| {difference.why}" for difference in DIFFERENCES}
    assert reasons - rows.keys() == {f"| {THE_RECORDER_WAS_SLOW}"}
