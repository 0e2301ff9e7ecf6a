"""The faults of a run, drawn from its seed and from nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.fault_schedule import FAULTS as NETWORK_FAULTS
from tests.support.fault_schedule import Fault

Draw = Callable[[random.Random], tuple[tuple[Any, ...], float]]
"""Draws a fault's arguments, and how long it lasts."""
Group = Mapping[str, Draw]

LONGEST_STALL = 0.5
_LONGEST_CALM = 0.8


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
    "stop_worker": lambda source: ((source.random(),), source.uniform(0.05, 3.0)),
}
"""Of the workers that there are then, the argument chooses one."""


def draw(seed: int, seconds: float, groups: list[Group]) -> list[Fault]:
    """Faults for a number of seconds, from each group as many, in any order."""
    source = random.Random(seed)
    faults, total = [], 0.0
    while total < seconds:
        group = source.choice(groups)
        name = source.choice(sorted(group))
        arguments, lasts = group[name](source)
        faults.append(Fault(name, arguments, lasts, source.uniform(0, _LONGEST_CALM)))
        total += faults[-1].lasts + faults[-1].calm
    return faults
