"""Signals at any moment, a lost lock, and the death of run, of the command and of the server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import holdfast
from holdfast_tools.run import KINDS
from tests.support.renewals import see_longer
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.run.conftest import (
    BOUND,
    COMMAND,
    Marks,
    Running,
    Start,
    alive,
    await_death,
    children_of,
    environment,
)

SIGNALS = [
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
]


def started(marks: Marks, then: str = "exec sleep 60") -> tuple[str, ...]:
    """A command that notes its pid as the mark `pid`."""
    return "--", "sh", "-c", f"echo $$ > {marks.path('pid')}; {then}"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_the_wait_ends_it_and_leaves_nothing(
    start: Start, client: holdfast.Client, server: Server, marks: Marks, number: int
) -> None:
    with client.fair_lock("myLock"):
        running = start("myLock", "--kind", "fair", *started(marks))
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{myLock}") == 1)
        running.signal(number)
        status = -number if number == signal.SIGINT else 128 + number
        assert running.end() == (status, "", "")
        assert server.keys() == {b"myLock"}
    assert not marks.exists("pid")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_reaches_the_command(start: Start, marks: Marks, number: int) -> None:
    caught = f"trap 'echo caught; exit 9' {number}; echo $$ > {marks.path('pid')}; "
    running = start("myLock", "--", "sh", "-c", caught + "while :; do sleep 0.05; done")
    marks.wait("pid")
    running.signal(number)
    status, out, errors = running.end()
    assert (status, out) == (9, "caught\n")
    assert "holdfast" not in errors  # the shell may tell how its sleep has ended


def test_the_command_is_in_a_separate_process_group(start: Start, marks: Marks) -> None:
    running = start("myLock", *started(marks))
    pid = int(marks.wait("pid"))
    assert os.getpgid(pid) == pid != os.getpgid(running.process.pid)
    running.signal(signal.SIGTERM)


def test_a_lost_lock_ends_the_whole_group(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    child = f"sleep 60 & echo $! > {marks.path('child')}; wait"
    running = start("myLock", "--lease", "3", *started(marks, child))
    pid, child_pid = int(marks.wait("pid")), int(marks.wait("child"))
    client.lock("myLock").force_release()
    status, _, errors = running.end()
    assert status == 74
    assert "'myLock' was lost" in errors
    assert errors.count("\n") == 1
    assert not alive(pid)
    await_death(child_pid)


def test_a_command_that_ignores_the_loss_is_killed(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    stubborn = "while :; do sleep 0.05; done"
    words = ["myLock", "--lease", "3", "--grace", "0.5", "--lost-status", "99"]
    running = start(
        *words, "--", "sh", "-c", f"trap '' TERM; echo $$ > {marks.path('pid')}; {stubborn}"
    )
    pid = int(marks.wait("pid"))
    client.lock("myLock").force_release()
    assert running.status() == 99
    assert not alive(pid)


def test_a_lost_permit_ends_the_command(
    start: Start, client: holdfast.Client, server: Server, marks: Marks
) -> None:
    running = start("permits", "--kind", "semaphore", "--lease", "3", *started(marks))
    marks.wait("pid")
    server.flush()
    assert running.status() == 74


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", ["lock", "semaphore"])
def test_a_lease_ends_by_the_local_clock(
    start: Start, private_server: Server, marks: Marks, kind: str
) -> None:
    """The server that stands still says nothing of it."""
    words = ["myLock", "--lease", "3", "--kind", kind]
    running = start(*words, *started(marks), url=private_server.url)
    pid = int(marks.wait("pid"))
    private_server.pause()
    await_death(pid)
    assert running.status() == 74


def test_a_permit_is_renewed(start: Start, server: Server, marks: Marks) -> None:
    running = start("permits", "--kind", "semaphore", "--lease", "2", *started(marks, "sleep 3"))
    assert running.status() == 0


def test_a_killed_run_takes_the_command_with_it(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    running = start("myLock", "--lease", "3", *started(marks))
    pid = int(marks.wait("pid"))
    running.signal(signal.SIGKILL)
    await_death(pid)
    assert client.lock("myLock").acquire(timeout=BOUND)
    client.lock("myLock").release()


def test_a_killed_run_that_waits_leaves_no_process(
    start: Start, client: holdfast.Client, server: Server
) -> None:
    with client.fair_lock("myLock"):
        running = start("myLock", "--kind", "fair", "--", "sleep", "60")
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{myLock}") == 1)
        [guardian] = children_of(running.process.pid)
        [launcher] = children_of(guardian)
        running.signal(signal.SIGKILL)
        await_death(guardian)
        await_death(launcher)


def test_the_end_of_the_command_waits_for_no_output(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    read, write = os.pipe()
    stubborn = f"trap '' TERM; echo $$ > {marks.path('pid')}; while :; do sleep 0.05; done"
    words = ["myLock", "--verbose", "--lease", "3", "--grace", "0.5"]
    running = start(*words, "--", "sh", "-c", stubborn, stderr=write)
    pid = int(marks.wait("pid"))
    fill(write)
    client.lock("myLock").force_release()
    await_death(pid)
    assert running.process.wait(BOUND) == 74
    os.close(read)
    os.close(write)


def fill(pipe: int) -> None:
    """Write into a pipe until it is full; those who have it open block at their next line."""
    mine = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(mine, b"x" * 512)
    os.close(mine)


LOSES_WHAT_IT_WAS_GRANTED = """
import asyncio, sys, holdfast
from holdfast_tools.__main__ import main
from holdfast_tools.run import running

class Late(running._Run):
    async def _under(self, held):
        with holdfast.Client(sys.argv[2]) as other:
            other.lock("myLock").force_release()
        while not held.is_lost():
            await asyncio.sleep(0.01)
        return await super()._under(held)

running._Run = Late
sys.exit(main(sys.argv[1:]))
"""


def test_a_lock_that_is_lost_before_the_start_starts_nothing(server: Server, marks: Marks) -> None:
    command = ["run", "myLock", "--lease", "3", "--", "touch", marks.path("ran")]
    result = subprocess.run(
        [sys.executable, "-c", LOSES_WHAT_IT_WAS_GRANTED, "--url", server.url, *command],
        env=environment(),
        capture_output=True,
        check=False,
        text=True,
    )
    assert (result.returncode, marks.exists("ran")) == (74, False)
    assert "'myLock' was lost before the command was started" in result.stderr


@pytest.mark.servers("real")
def test_a_server_that_dies_costs_the_lock(private_server: Server, marks: Marks) -> None:
    running = Running(private_server.url, "myLock", "--lease", "3", *started(marks))
    marks.wait("pid")
    private_server.stop()
    assert running.status() == 74


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", [Server.stop, Server.pause])
def test_without_a_server_at_the_end_the_commands_status_stands(
    private_server: Server, marks: Marks, fault: Callable[[Server], None], kind: str
) -> None:
    """One that stands still has as long as `command_timeout`: the lease is 300 s here."""
    url = f"{private_server.url}?command_timeout=1"
    words = ["myLock", "--kind", kind, "--lease", "300", *started(marks, "read x; exit 4")]
    running = Running(url, *words, stdin=subprocess.PIPE)
    marks.wait("pid")
    fault(private_server)
    status, _, errors = running.end()
    assert status == 4
    assert errors.startswith("holdfast: not released, it expires with its lease: ")
    assert "in the background" not in errors  # which ends with this process
    assert errors.count("\n") == 1


LONG = "?command_timeout=300"
"""Longer than a test waits."""


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_with_a_time_ends_while_the_server_stands_still(
    private_server: Server, kind: str
) -> None:
    private_server.pause()
    words = ["myLock", "--kind", kind, "--wait", "0.5", "--", "true"]
    status, _, errors = Running(private_server.url + LONG, *words).end()
    assert (status, errors.count("\n")) == (69, 1)
    assert "no answer within 0.5 s" in errors


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_ends_the_wait_for_a_server_that_stands_still(
    private_server: Server, kind: str
) -> None:
    private_server.pause()
    words = ["myLock", "--verbose", "--kind", kind, "--", "true"]
    running = Running(private_server.url + LONG, *words)
    assert running.process.stderr is not None
    assert "waiting" in running.process.stderr.readline()
    running.signal(signal.SIGTERM)
    assert running.status() == 143


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_ends_the_release_at_a_server_that_stands_still(
    private_server: Server, marks: Marks, kind: str
) -> None:
    words = ["myLock", "--verbose", "--kind", kind, *started(marks, "read x; exit 4")]
    running = Running(private_server.url + LONG, *words, stdin=subprocess.PIPE)
    marks.wait("pid")
    private_server.pause()
    running.process.stdin.close()  # type: ignore[union-attr]
    running.process.stdin = None
    assert running.process.stderr is not None
    while "releasing" not in running.process.stderr.readline():
        pass
    running.signal(signal.SIGTERM)
    status, _, errors = running.end()
    assert status == 4
    assert errors == "holdfast: not released, it expires with its lease: a signal came first\n"


@pytest.fixture
def of_another_user(start: Start) -> Iterator[tuple[Running, int]]:
    """A run, and its command, which it cannot signal: a setuid program is such a command."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("a setuid program needs root, and setpriv, to be made")
    ordinary = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    reached = subprocess.run([*ordinary, sys.executable, "-c", "import holdfast"], check=False)
    if reached.returncode:
        pytest.skip("another user cannot run this Python")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        marks = Marks(Path(folder))
        program = shutil.copy(str(shutil.which("setpriv")), folder)
        Path(program).chmod(0o4755)  # as sudo: what it runs has no user in common with this one
        words = ["myLock", "--lease", "3", "--grace", "0.2"]
        script = f"echo $$ > {marks.path('pid')}; exec {program} --reuid 0 sleep 300"
        running = start(*words, "--", "sh", "-c", script, prefix=ordinary)
        pid = int(marks.wait("pid"))
        eventually(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
        yield running, pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_run_keeps_the_lock_for_a_command_of_another_user(
    of_another_user: tuple[Running, int], client: holdfast.Client
) -> None:
    running, pid = of_another_user
    running.signal(signal.SIGKILL)
    lock = client.lock("myLock")
    see_longer(lambda: lock.ttl() or 0.0, 4)  # each second: that is longer than the grace
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)
    assert lock.acquire(timeout=BOUND)
    lock.release()


def test_a_command_of_another_user_is_reported_and_left(
    of_another_user: tuple[Running, int], client: holdfast.Client
) -> None:
    running, pid = of_another_user
    client.lock("myLock").force_release()
    status = running.process.wait(BOUND)
    os.kill(pid, signal.SIGKILL)
    errors = running.end()[2]
    assert status == 74
    told, lost = errors.splitlines()
    assert "runs as another user" in told
    assert "'myLock' was lost" in lost


def test_as_process_one_it_reaps_and_ends(server: Server, marks: Marks) -> None:
    unshare = shutil.which("unshare")
    prefix = [str(unshare), "--pid", "--fork", "--mount-proc", "--kill-child"]
    if (
        not unshare
        or subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("unshare --pid is not permitted here")
    orphan = f"(sleep 0.1 & echo $! > {marks.path('orphan')}); sleep 0.5; ps -o pid=,stat=; exit 6"
    command = [*COMMAND, "--url", server.url, "run", "myLock", "--", "sh", "-c", orphan]
    result = subprocess.run(
        [*prefix, *command], env=environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == 6, result.stderr
    assert " Z" not in result.stdout
