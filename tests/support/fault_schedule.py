"""Sequences of faults that are drawn from a seed: the same seed, the same sequence.

with FaultProxy(server.port, seed) as proxy:
    faults = draw(seed, 20)
    print(faults[0])                       # black_hole('subscriptions') for 0.21 s, then 0.1 s
    done = threading.Event()
    inject(proxy, faults, done)            # returns when all are over, or `done` is set
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.proxy import COMMANDS, SUBSCRIPTIONS, FaultProxy

_SORTS = (None, COMMANDS, SUBSCRIPTIONS)


@dataclass(frozen=True)
class Fault:
    """A method of `FaultProxy`, for how long it lasts, and how long peace follows; seconds."""

    name: str
    arguments: tuple[Any, ...]
    lasts: float
    calm: float

    def __str__(self) -> str:
        arguments = ", ".join(map(repr, self.arguments))
        return f"{self.name}({arguments}) for {self.lasts:.3f} s, then {self.calm:.3f} s of peace"


FAULTS: dict[str, Callable[[random.Random], tuple[Any, ...]]] = {
    "cut": lambda _: (),
    "half_close": lambda _: (),
    "refuse": lambda _: (),
    "stall": lambda _: (),
    "black_hole": lambda draw: (draw.choice(_SORTS),),
    "deafen": lambda draw: (draw.choice(_SORTS),),
    "delay": lambda draw: (round(draw.uniform(0, 0.02), 4), round(draw.uniform(0, 0.02), 4)),
    "slices": lambda draw: (draw.randint(1, 16),),
    "lose_reply": lambda _: (),
    "truncate_reply": lambda draw: (draw.randint(1, 3),),
}
"""The faults that can be drawn, and their arguments. Each leaves the network as `heal` finds it."""


def draw(
    seed: int,
    count: int,
    *,
    longest: float = 0.5,
    calm: float = 0.2,
    names: Sequence[str] = tuple(FAULTS),
) -> list[Fault]:
    """`count` faults out of `names`, none of which lasts longer than `longest`."""
    random_ = random.Random(seed)
    faults = []
    for _ in range(count):
        name = random_.choice(names)
        arguments = FAULTS[name](random_)
        lasts, peace = random_.uniform(0, longest), random_.uniform(0, calm)
        faults.append(Fault(name, arguments, lasts, peace))
    return faults


def inject(proxy: FaultProxy, faults: Iterable[Fault], done: threading.Event) -> None:
    """Let the faults happen, one after the other, until `done`; the network is healed after it."""
    for fault in faults:
        if done.is_set():
            break
        getattr(proxy, fault.name)(*fault.arguments)
        done.wait(fault.lasts)
        proxy.heal()
        done.wait(fault.calm)
