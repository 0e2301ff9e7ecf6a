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
from tests.tools.run.conftest import (
    BOUND,
    Marks,
    Running,
    Start,
    alive,
    await_death,
    children_of,
    environment,
)

pytestmark = pytest.mark.skipif(
    bool(guard_obstacle()), reason="no guard can run here, which keeps the lock"
)

PAGE = Path(__file__).parents[3] / "docs" / "run.md"
ROWS = {
    "the first process (the one that was started)": (
        "test_descendants.py::test_a_killed_run_keeps_the_lock_until_all_have_ended"
    ),
    "the second process, which holds the lock": (
        "test_killed.py::test_the_lock_stays_while_a_descendant_works"
    ),
    "both, one soon after the other": (
        "test_killed.py::test_the_lock_stays_while_a_descendant_works"
    ),
    "the command": "test_killed.py::test_a_killed_command_leaves_the_lock_to_its_descendants",
    "a descendant": "test_killed.py::test_a_killed_descendant_changes_nothing",
    "all of them, but not the guard": "test_killed.py::test_the_guard_alone_releases_at_once",
    "the guard alone": "test_killed.py::test_a_killed_guard_changes_nothing",
    "a machine, or a container with all processes": (
        "test_killed.py::test_without_a_guard_the_lock_is_left_to_its_lease"
    ),
}
"""By the first cell of a row of the page's table: the test that shows it."""

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


def guard_of(running: Running) -> int:
    """The guard of a run whose command has started."""
    [guardian] = children_of(running.process.pid)
    children = Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()
    names = {int(child): Path(f"/proc/{child}/comm").read_text() for child in children}
    [guard] = [child for child, name in names.items() if name.startswith("holdfast-guard")]
    return guard


def is_renewed(server: Server, seconds: float) -> None:
    """Wait until the hold lasts longer than that from now on, which is more than its lease."""
    until = time.time() + seconds
    eventually(lambda: expiry(server, "lock") > until, what="the hold is renewed")


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


def test_each_row_of_the_page_has_a_test() -> None:
    _, _, rest = PAGE.read_text().partition("| who is killed |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == list(ROWS)
    for test in ROWS.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (Path(__file__).parent / file).read_text()


def test_a_killed_command_leaves_the_lock_to_its_descendants(
    start: Start, server: Server, client: holdfast.Client, marks: Marks
) -> None:
    _, _, _, work = script(marks)
    both = f"({work}) & echo $$ > {marks.path('pid')}; wait"
    running = start("myLock", "--lease", "3", "--", "sh", "-c", both)
    marks.wait("child")
    os.kill(int(marks.wait("pid")), signal.SIGKILL)
    is_renewed(server, 4)
    assert not marks.exists("out")
    (marks.folder / "go").touch()
    assert running.status() == 137
    assert marks.exists("out")
    assert not client.lock("myLock").locked()


def test_a_killed_descendant_changes_nothing(start: Start, server: Server, marks: Marks) -> None:
    _, _, _, work = script(marks)
    both = f"sleep 300 & echo $! > {marks.path('pid')}; {work}"
    running = start("myLock", "--lease", "3", "--", "sh", "-c", both)
    marks.wait("child")
    os.kill(int(marks.wait("pid")), signal.SIGKILL)
    is_renewed(server, 4)
    (marks.folder / "go").touch()
    assert running.status() == 0
    assert marks.exists("out")


def test_the_guard_alone_releases_at_once(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    """At once: long before the end of the lease."""
    running = start("myLock", "--lease", "300", *script(marks, "setsid"))
    child = int(marks.wait("child"))
    kill_both(running)
    os.kill(child, signal.SIGKILL)
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()


def test_without_descendants_the_guard_releases_at_once(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    words = ["myLock", "--lease", "300", "--no-descendants"]
    running = start(*words, *script(marks, "setsid"))
    child = int(marks.wait("child"))
    kill_both(running)
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()
    assert alive(child)


def test_a_killed_guard_changes_nothing(
    start: Start, server: Server, client: holdfast.Client, marks: Marks
) -> None:
    running = start("myLock", "--lease", "3", *script(marks))
    marks.wait("child")
    os.kill(guard_of(running), signal.SIGKILL)
    is_renewed(server, 4)
    (marks.folder / "go").touch()
    assert running.status() == 0
    assert not client.lock("myLock").locked()


@pytest.mark.parametrize("why", ["killed", "switched off", "at least"])
def test_without_a_guard_the_lock_is_left_to_its_lease(
    start: Start, server: Server, client: holdfast.Client, marks: Marks, why: str
) -> None:
    more = {"env": {**environment(), "HOLDFAST_GUARD": "0"}} if why == "switched off" else {}
    minimum = ["--at-least", "3"] if why == "at least" else []
    words = ["myLock", "--lease", "4", *minimum, *script(marks, "setsid")]
    running = start(*words, **more)
    child = int(marks.wait("child"))
    if why == "killed":
        os.kill(guard_of(running), signal.SIGKILL)
    kill_both(running)
    running.process.wait(BOUND)
    until = expiry(server, "lock")
    assert until > time.time()
    assert client.lock("myLock").acquire(timeout=BOUND)
    assert time.time() > until - 0.1
    client.lock("myLock").release()
    assert alive(child)
