"""Killed supervisors: no second owner while a process has the descriptor that `run` gave it."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import holdfast
from holdfast.integration import guard_obstacle
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.run.conftest import BOUND, Marks, Running, Start, await_death, children_of

pytestmark = pytest.mark.skipif(
    bool(guard_obstacle()), reason="no guard can run here, which keeps the lock"
)

WORK = "echo $$ > {child}; until [ -e {go} ]; do sleep 0.05; done; echo x > {out}"

Kill = Callable[[Running], None]


def kill_both(running: Running) -> None:
    [guardian] = children_of(running.process.pid)
    running.signal(signal.SIGSTOP)  # else it would see the death of the other one
    os.kill(guardian, signal.SIGKILL)
    running.signal(signal.SIGKILL)


def kill_guardian(running: Running) -> None:
    [guardian] = children_of(running.process.pid)
    os.kill(guardian, signal.SIGKILL)


@dataclass(frozen=True)
class Case:
    """Which processes are killed, how the worker was started, and the kind of the lock."""

    kill: Kill
    before: str
    kind: str


@pytest.fixture
def case(kill: Kill, before: str, kind: str) -> Case:
    return Case(kill, before, kind)


@pytest.fixture
def marks(tmp_path: Path) -> Iterator[Marks]:
    yield Marks(tmp_path)
    (tmp_path / "go").touch()  # nothing kills the workers


def script(marks: Marks, before: str = "") -> tuple[str, ...]:
    """A command that waits for a worker, which says when it has begun and ends by the mark `go`."""
    names = {name: marks.path(name) for name in ("child", "go", "out")}
    return "--", "sh", "-c", f"{before} sh -c '{WORK.format(**names)}'; echo"


def expiry(server: Server, kind: str) -> float:
    """When the hold ends without a renewal."""
    if kind == "lock":
        left = int(server.inspect.pttl("myLock"))
        return time.time() + left / 1000 if left > 0 else 0.0
    permits = server.inspect.zrange("{myLock}:timeout", 0, -1, withscores=True)
    return max((score / 1000 for _, score in permits), default=0.0)


@pytest.mark.parametrize(
    ("kill", "before"), [(kill_both, ""), (kill_both, "setsid"), (kill_guardian, "setsid")]
)
@pytest.mark.parametrize("kind", ["lock", "semaphore"])
def test_the_lock_stays_while_a_descendant_works(
    start: Start, server: Server, marks: Marks, case: Case
) -> None:
    running = start("myLock", "--kind", case.kind, "--lease", "3", *script(marks, case.before))
    child = int(marks.wait("child"))
    case.kill(running)
    until = time.time() + 6
    eventually(lambda: expiry(server, case.kind) > until, what="the hold is renewed")
    assert not marks.exists("out")
    (marks.folder / "go").touch()
    await_death(child)
    assert start("myLock", "--kind", case.kind, "--wait", "1", "--", "true").status() == 0


def test_a_daemon_that_has_closed_the_descriptor_keeps_nothing(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash to close a descriptor by the name of a variable")
    daemon = f"bash -c 'exec {{HOLDFAST_FD}}>&-; echo $$ > {marks.path('child')}; exec sleep 300'"
    running = start("myLock", "--", "sh", "-c", f"setsid {daemon}; echo")
    child = int(marks.wait("child"))
    kill_both(running)
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()
    os.kill(child, signal.SIGKILL)
