"""The replay itself: what is not as recorded, it notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.wire.differences import ours
from tests.wire.placeholders import Placeholders
from tests.wire.recordings import Error, Key, Scenario, Step, load
from tests.wire.replay import Replay

FIRST = {scenario.kind: scenario for scenario in reversed(load())}
"""The first scenario of each kind."""

Spoil = Callable[[Step], Step]
SPOILS: dict[str, Spoil] = {
    "another result": lambda step: replace(step, result=Error("other")),
    "another message": lambda step: replace(step, published=(("redisson_x", "0"),)),
}


@pytest.mark.servers("real")
@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("scenario", FIRST.values(), ids=list(FIRST))
def test_a_step_that_differs_is_found(
    scenario: Scenario, spoil: str, server: Server, make_client: MakeClient, make_actor: MakeActor
) -> None:
    steps = list(ours(scenario))
    last = len(steps) - 1
    steps[last] = SPOILS[spoil](steps[last])
    differs = pytest.raises(AssertionError, match=rf"^step {last} differs: Step\(by='[AB]:t\d+'")
    clients = {part: make_client(lease=lease) for part, lease in scenario.leases.items()}
    with Replay(server, clients, lambda _: make_actor()) as replay, differs:
        replay.run(tuple(steps))


def test_an_owner_is_another_one_than_any_else() -> None:
    placeholders = Placeholders()
    placeholders["A:t1"], placeholders["A:t2"] = "a:1", "a:2"
    recorded = {"demo": Key("hash", {"<A>:<t1>:write": "1", "mode": "write"}, None)}
    assert placeholders.expect(recorded, {})["demo"].value == {"a:1:write": "1", "mode": "write"}
    channel = "redisson_lock__channel:{demo}:<A>:<t2>"
    assert placeholders.expect({channel: 1}, {}) == {"redisson_lock__channel:{demo}:a:2": 1}


def permits(*names: str) -> dict[str, Any]:
    return {"{demo}:timeout": Key("zset", dict.fromkeys(names, 500.0), None)}


def test_a_permit_is_learned_once() -> None:
    placeholders, one, two = Placeholders(), "1" * 32, "2" * 32
    assert placeholders.expect("<id1>", one) == one
    assert placeholders.expect("<id1>", two) == one
    assert placeholders.expect("<id2>", one) == "<id2>"
    assert placeholders.expect("<id2>", "no permit") == "<id2>"
    there = permits(two, one)
    assert placeholders.expect(permits("<id1>", "<id2>"), there) == there


def test_of_two_new_permits_none_is_learned() -> None:
    placeholders = Placeholders()
    there = permits("1" * 32, "2" * 32)
    assert placeholders.expect(permits("<id1>", "<id2>"), there) != there


def test_a_token_is_greater_than_all_before_it() -> None:
    placeholders = Placeholders()
    assert placeholders.expect("<token1>", "1000") == "1000"
    assert placeholders.expect("<token2>", "1000") == "<token2>"
    assert placeholders.expect("<token2>", "999") == "<token2>"
    assert placeholders.expect("<token2>", "1001") == "1001"
    assert placeholders.expect("<token1>", "1001") == "1000"
