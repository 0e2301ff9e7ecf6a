"""What Redisson was recorded to do with permits, holdfast does: results, keys, leases, messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.wire.differences import PERMIT_DIFFERENCES, ours
from tests.wire.permits import PermitReplay
from tests.wire.recordings import VERSIONS, Scenario, load

pytestmark = pytest.mark.servers("real")

RECORDINGS = {
    (version, name): scenario
    for version in VERSIONS
    for name, scenario in load(version, "permit").items()
}
TAKES_TIME = {"expiry", "expiry-counted", "waiters"}


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
    scenario: Scenario, server: Server, make_client: MakeClient, make_actor: MakeActor
) -> None:
    clients = {part: make_client(lease=lease) for part, lease in scenario.leases.items()}
    replay = PermitReplay(server, clients, lambda _: make_actor())
    replay.run(ours(scenario, PERMIT_DIFFERENCES))
    replay.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_each_difference_is_one(version: str) -> None:
    for difference in PERMIT_DIFFERENCES:
        steps = RECORDINGS[version, difference.scenario].steps
        for index in difference.steps:
            assert difference.apply(steps[index]) != steps[index], difference
