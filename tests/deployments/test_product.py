"""The calls of several exchanges where another server has the keys from one exchange to the next.

Cells as those of tests/faults/test_product.py: a call, what happens, and the exchange before which
it does. What the call holds by then has moved with the keys, so it is granted, and its owner alone
has it: a rival gets the same only after its release.

A plain run takes a sample, `HOLDFAST_TEST_PRODUCT=all` all cells.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.calls import NAME, Call, calls
from tests.faults.test_product import Before, Stage, give_up, is_granted, tried
from tests.support.actors import Flavour
from tests.support.clusters import Cluster
from tests.support.managed import Managed
from tests.support.owners import MakeClient
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

#: Cells of a plain run, of each flavour and each of the two.
SAMPLE = 2
#: What of a name has a slot: the lock of what runs once has another name.
NAMES = (NAME, f"{NAME}:holdfast_once")


@dataclass(frozen=True)
class Cell:
    call: Call
    step: int

    def __repr__(self) -> str:
        return f"{self.call}-{self.step}"


def cells() -> list[Cell]:
    """A try has no time for it, and one that watches holds nothing."""
    every = [
        Cell(call, step)
        for call in calls()
        for step in range(2, call.of.steps + 1)
        if call.way != "try" and not call.name.startswith("watch")
    ]
    if os.environ.get("HOLDFAST_TEST_PRODUCT") == "all":
        return every
    return random.Random(11).sample(every, SAMPLE)


@dataclass(frozen=True)
class Place:
    """Servers, and how the keys get from one to another."""

    url: str
    change: Callable[[], None]


@pytest.fixture(params=["failover", "slot move"])
def place(request: pytest.FixtureRequest, server_kind: str) -> Iterator[Place]:
    """hidden-failover, moved-slot."""
    if request.param == "slot move":
        cluster = request.getfixturevalue("cluster")
        yield Place(cluster.url, lambda: move(cluster))
        return
    with Managed(server_kind) as managed:
        yield Place(managed.url, managed.swap)


def move(cluster: Cluster) -> None:
    """Move the slots of the names to other primaries."""
    for name in NAMES:
        source, target = cluster.begin_migration(name)
        cluster.migrate_keys(source, target, name)
        cluster.end_migration(source, target, name)


@pytest.mark.parametrize("cell", cells(), ids=repr)
def test_a_call_goes_on_where_its_keys_are(
    cell: Cell,
    flavour: Flavour,
    place: Place,
    make_client: MakeClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """hidden-failover, moved-slot."""
    stage = Stage(flavour, None, None, make_client(place.url))
    go_on(cell, stage, monkeypatch, place.change)
    free_for_a_rival(cell, stage, make_client(place.url))


def go_on(
    cell: Cell, stage: Stage, monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None]
) -> None:
    """Make the call; it is granted, and what happens has happened within it."""
    stage.actor.do(stage.client.ping)
    stage.thing = cell.call.make(stage.client, BOUND)
    with monkeypatch.context() as patch:
        before = Before(patch, cell.step, happen)
        begun = stage.actor.begin(cell.call.begin(stage.flavour, stage.thing, BOUND))
        stage.granted = begun.result(3 * BOUND)
    assert is_granted(stage.granted)
    assert before.happened


def free_for_a_rival(cell: Cell, stage: Stage, rival: Any) -> None:
    """Another client is granted the same once the caller has given it up."""
    if cell.call.name == "with":
        leave = getattr(stage.thing, "__aexit__", None) or stage.thing.__exit__
        stage.actor.do(leave, None, None, None)
    else:
        give_up(stage)
    thing, again = cell.call.of.again(rival)
    actor = stage.flavour.actor()
    eventually(lambda: is_granted(tried(actor, again)))
    if hasattr(thing, "resign"):
        actor.do(thing.resign)
