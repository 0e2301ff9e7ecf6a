"""The faults of a run, drawn from its seed and from nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.fault_schedule import FAULTS as NETWORK_FAULTS
from tests.support.fault_schedule import Fault

Draw = Callable[[random.Random], tuple[tuple[Any, ...], float]]
"""Draws a fault's arguments, and how long it lasts."""
Group = Mapping[str, Draw]

LONGEST_STALL = 0.5
_LONGEST_CALM = 0.8
_CALM_AFTER = {"refuse_writes": 3.5, "fill_memory": 3.5}
"""A release that is forgotten then keeps its lock for a lease: so long, nothing excuses a sleep."""
_OVERLAPS = 0.3
"""How many faults are joined by a second one before they end."""


@dataclass(frozen=True)
class Step:
    """Faults that overlap, in the order in which they begin and end, and the calm after them."""

    faults: tuple[Fault, ...]

    @property
    def calm(self) -> float:
        return self.faults[-1].calm

    def __str__(self) -> str:
        return "; during it ".join(map(str, self.faults))


def lasting(shortest: float, longest: float, *choices: Any) -> Draw:
    """A fault whose argument is one of `choices`, if there are any."""

    def draw(source: random.Random) -> tuple[tuple[Any, ...], float]:
        return (source.choice(choices),) if choices else (), source.uniform(shortest, longest)

    return draw


def _of_network(arguments: Callable[[random.Random], tuple[Any, ...]]) -> Draw:
    return lambda source: (arguments(source), source.uniform(0, LONGEST_STALL))


NETWORK: Group = {name: _of_network(arguments) for name, arguments in NETWORK_FAULTS.items()}
WORKERS: Group = {
    "kill_worker": lambda source: ((source.random(),), 0.0),
    "stop_worker": lambda source: ((source.random(),), source.uniform(0.05, 4.5)),
    "interrupt_worker": lambda source: ((source.random(), source.randint(1, 30)), 0.0),
    "limit_worker": lambda source: ((source.random(), source.randint(0, 8)), source.uniform(0, 1)),
}
"""The first argument chooses one of the workers that there are then; the second is a count: of
signals, or of the descriptors that it may still open."""
KILLS: Group = {"kill_worker": WORKERS["kill_worker"]}


def draw(seed: int, seconds: float, groups: list[Group]) -> list[Step]:
    """Faults for a number of seconds, as many from each group, in any order.

    A second fault joins one only where either is of the network or of a worker: a server that is
    being replaced is not broken in another way at the same time.
    """
    source = random.Random(seed)
    steps, total = list[Step](), 0.0
    while total < seconds:
        group = source.choice(groups)
        faults = [_draw_from(group, source)]
        others = [g for g in groups if g is not group and (_joins(g) or _joins(group))]
        if others and source.random() < _OVERLAPS:
            faults.append(_draw_from(source.choice(others), source))
        steps.append(Step(tuple(faults)))
        total += sum(fault.lasts for fault in faults) + steps[-1].calm
    return steps


def _draw_from(group: Group, source: random.Random) -> Fault:
    name = source.choice(sorted(group))
    arguments, lasts = group[name](source)
    calm = _CALM_AFTER.get(name) or source.uniform(0, _LONGEST_CALM)
    return Fault(name, arguments, lasts, calm)


def _joins(group: Group) -> bool:
    return group in (WORKERS, KILLS, NETWORK)
