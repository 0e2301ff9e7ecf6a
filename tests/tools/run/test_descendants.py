"""The lock is held until the command and all that it has started have ended, as with flock(1)."""

from __future__ import annotations

import os
import signal
import subprocess

import holdfast
from tests.support.renewals import see_longer
from tests.support.waiting import eventually
from tests.tools.run.conftest import BOUND, Marks, Start, alive, await_death, children_of


def script(marks: Marks, text: str) -> tuple[str, ...]:
    """A shell script for the command; ``{name}`` is the path of a mark."""
    names = ("pid", "child", "term", "go", "closed")
    return "--", "sh", "-c", text.format(**{name: marks.path(name) for name in names})


def test_what_the_command_leaves_running_keeps_the_lock(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    running = start(
        "myLock", "--lease", "3", *script(marks, "sleep 300 & echo $! > {child}; exit 3")
    )
    child = int(marks.wait("child"))
    renewed = client.lock("myLock")
    eventually(lambda: len(children_of(children_of(running.process.pid)[0])) == 1)
    see_longer(lambda: renewed.ttl() or 0.0, 2)  # after the command's end
    assert running.process.poll() is None
    os.kill(child, signal.SIGKILL)
    assert running.status() == 3
    assert not client.lock("myLock").locked()


def test_without_descendants_only_the_command_counts(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    silent = "sleep 300 > /dev/null 2>&1 & echo $! > {child}; exit 3"
    running = start("myLock", "--no-descendants", *script(marks, silent))
    assert running.status() == 3
    assert not client.lock("myLock").locked()
    child = int(marks.wait("child"))
    assert alive(child)
    os.kill(child, signal.SIGKILL)


def test_a_daemon_that_closes_the_descriptor_does_not_count(start: Start, marks: Marks) -> None:
    daemon = "bash -c 'exec {{HOLDFAST_FD}}>&-; exec setsid sleep 300'"
    silent = daemon + " > /dev/null 2>&1 & echo $! > {child}; exit 4"
    assert start("myLock", *script(marks, silent)).status() == 4
    child = int(marks.wait("child"))
    assert alive(child)
    os.kill(child, signal.SIGKILL)


def test_a_signal_reaches_the_whole_group(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    running = start("myLock", *script(marks, "sleep 300 & echo $! > {child}; sleep 300; true"))
    child = int(marks.wait("child"))
    running.signal(signal.SIGTERM)
    assert running.status() == 143
    assert not alive(child)
    assert not client.lock("myLock").locked()


def test_a_signal_after_the_commands_end_reaches_what_it_left(start: Start, marks: Marks) -> None:
    left = "setsid sleep 300 & echo $! > {child}; exit 5"
    running = start("myLock", *script(marks, left))
    child = int(marks.wait("child"))
    guardian = children_of(running.process.pid)[0]
    eventually(lambda: children_of(guardian) == [child])
    running.signal(signal.SIGTERM)
    assert running.status() == 5
    assert not alive(child)


def test_the_loss_reaches_what_left_the_group(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    left = "setsid sh -c 'echo $$ > {child}; exec sleep 300' & echo $$ > {pid}; wait"
    running = start("myLock", "--lease", "3", *script(marks, left))
    child = int(marks.wait("child"))
    eventually(lambda: os.getsid(child) == child)
    client.lock("myLock").force_release()
    assert running.status() == 74
    assert not alive(int(marks.wait("pid")))
    assert not alive(child)


def test_a_killed_run_keeps_the_lock_until_all_have_ended(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    stubborn = "(trap 'echo x > {term}' TERM; echo x > {child}; until [ -e {go} ]; do sleep 0.05; "
    running = start("myLock", "--lease", "2", *script(marks, stubborn + "done) & exit 0"))
    marks.wait("child")
    running.signal(signal.SIGKILL)
    marks.wait("term")
    owner = client.lock("myLock")
    assert not owner.acquire(timeout=3)
    (marks.folder / "go").touch()
    assert owner.acquire(timeout=BOUND)
    owner.release()


def test_a_killed_run_ends_the_stubborn_after_the_grace(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    stubborn = "trap '' TERM; echo $$ > {pid}; while :; do sleep 0.05; done"
    running = start("myLock", "--grace", "0.5", *script(marks, stubborn))
    pid = int(marks.wait("pid"))
    running.signal(signal.SIGKILL)
    await_death(pid)
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()


def test_a_killed_guardian_takes_the_command_with_it(start: Start, marks: Marks) -> None:
    running = start("myLock", "--lease", "3", *script(marks, "sleep 300 & echo $! > {child}; wait"))
    child = int(marks.wait("child"))
    [guardian] = children_of(running.process.pid)
    os.kill(guardian, signal.SIGKILL)
    status, _, errors = running.end()
    assert status == 137
    assert errors.count("\n") == 1
    await_death(child)


def test_timeout_ends_the_whole_job(start: Start, client: holdfast.Client, marks: Marks) -> None:
    """As ``timeout 2 holdfast run``: the signal comes to run and to its process group."""
    running = start(
        "myLock",
        *script(marks, "sleep 300 & echo $! > {child}; wait"),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    child = int(marks.wait("child"))
    running.signal(signal.SIGTERM)
    os.killpg(running.process.pid, signal.SIGTERM)
    running.status()
    assert not alive(child)
    assert not client.lock("myLock").locked()
