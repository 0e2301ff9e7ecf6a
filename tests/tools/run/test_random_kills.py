"""200 random kills: flock(1) is the judge of whether two owners have worked at the same time.

Each command takes the judge's file, by a descriptor that its descendants inherit beside the one of
`run`. It must be free: else a descendant of an earlier owner works on. (Of a process that ends, the
kernel may close the judge's file just after the pipe of `run`.)
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress

import pytest

import holdfast
from holdfast.integration import guard_obstacle
from tests.support.waiting import eventually, let_pass
from tests.tools.run.conftest import BOUND, Marks, Running, Start, children_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(guard_obstacle()), reason="no guard can run here"),
    pytest.mark.skipif(shutil.which("flock") is None, reason="no flock(1) to judge"),
]

KILLS, LANES = 50, 4
COMMAND = """
exec 9>> {judge}
flock -w 0.2 9 || echo {number} >> {second}
(trap '' TERM; sleep 1.{a}) &
echo $! > {worker}
setsid sh -c 'sleep 0.{b}; sleep 0.5' &
echo $$ > {pid}
sleep 0.{c}
"""


class Round:
    """One run, which is to be killed."""

    def __init__(self, start: Start, marks: Marks, number: int, chance: random.Random) -> None:
        self._marks = marks
        self._number = number
        marked = {name: marks.path(f"{name}{number}") for name in ("pid", "worker")}
        shared = {name: marks.path(name) for name in ("judge", "second")}
        lasts = {name: chance.randrange(10, 99) for name in "abc"}
        script = COMMAND.format(number=number, **marked, **shared, **lasts)
        words = ["myLock", "--lease", "20", "--grace", "0.2", "--", "sh", "-c", script]
        self.running: Running = start(*words, stdout=None, stderr=None)

    def is_in(self) -> bool:
        return self._marks.exists(f"pid{self._number}")

    def is_over(self) -> bool:
        return self.running.process.poll() is not None

    def pids(self, *names: str) -> list[int]:
        """Those of the processes that there are."""
        front = self.running.process.pid
        found = []
        for name in names:
            with suppress(OSError, ValueError):
                if name == "front":
                    found.append(front)
                elif name == "guardian":
                    found.extend(children_of(front))
                else:
                    found.append(int(self._marks.wait(f"{name}{self._number}")))
        return found


VICTIMS = [
    ("front",),
    ("guardian",),
    ("guardian", "front"),
    ("guardian", "front"),
    ("pid",),
    ("worker",),
    ("guardian", "pid"),
    ("guardian", "front", "pid"),
]


def kill(pids: list[int], chance: random.Random) -> None:
    """In a random order, so that each may see the death of another one, or not."""
    chance.shuffle(pids)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("lane", range(LANES))
def test_no_second_owner_works_beside_a_descendant_of_the_first(
    start: Start, client: holdfast.Client, marks: Marks, lane: int
) -> None:
    seed = random.randrange(1 << 32)
    print(f"lane {lane}, seed {seed}")
    chance = random.Random(seed)
    current = Round(start, marks, 0, chance)
    for number in range(1, KILLS + 1):
        following = Round(start, marks, number, chance)
        victims = chance.choice(VICTIMS)
        if "pid" in victims or "worker" in victims or chance.random() < 0.8:
            await_it(lambda: current.is_in() or current.is_over())  # noqa: B023
        let_pass(chance.random() * 0.3)
        if not current.is_over():
            kill(current.pids(*victims), chance)
        await_it(current.is_over)
        assert not marks.exists("second"), f"{victims} of round {number - 1}"
        current = following
    await_it(current.is_over)
    assert not marks.exists("second")
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()


def await_it(condition: Callable[[], bool]) -> None:
    eventually(condition, within=BOUND)
