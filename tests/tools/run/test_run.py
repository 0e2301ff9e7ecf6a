"""Statuses, options, and what the command inherits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.support.matrix import is_whole
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually, let_pass
from tests.tools.run.conftest import COMMAND, Marks, Start, environment


def test_the_command_runs_while_the_lock_is_held(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    running = start("myLock", "--", "sh", "-c", f"echo x > {marks.path('in')}; exec sleep 60")
    marks.wait("in")
    assert client.lock("myLock").locked()
    running.signal(signal.SIGTERM)
    assert running.end() == (143, "", "")
    assert not client.lock("myLock").locked()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -9 $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["/nonexistent/command"], 127),
        (["no-such-command"], 127),
        (["/etc/passwd"], 126),
        (["/"], 126),
    ],
)
def test_the_status_is_the_commands(
    start: Start, client: holdfast.Client, command: list[str], status: int
) -> None:
    assert start("myLock", "--", *command).status() == status
    assert not client.lock("myLock").locked()


def test_a_command_that_cannot_be_started_costs_one_line(
    start: Start, request: pytest.FixtureRequest
) -> None:
    """Its process ends while the loop closes: each of many runs says the same."""
    for _ in range(20 if is_whole(request.config) else 4):
        status, out, errors = start("myLock", "--", "/nonexistent/command").end()
        line = "holdfast: cannot run '/nonexistent/command': No such file or directory\n"
        assert (status, out, errors) == (127, "", line)


def test_a_busy_lock_has_its_status(start: Start, client: holdfast.Client, marks: Marks) -> None:
    with client.lock("myLock"):
        command = ["--", "touch", marks.path("ran")]
        assert start("myLock", "--wait", "1", *command).end() == (75, "", "")
        assert start("myLock", "--wait", "1", "--busy-status", "1", *command).status() == 1
    assert not marks.exists("ran")


@pytest.mark.parametrize("kind", ["lock", "read", "fair", "semaphore"])
def test_a_run_that_does_not_wait_has_the_status_of_a_busy_lock_where_the_server_is_slow(
    start: Start, client: holdfast.Client, server: Server, kind: str
) -> None:
    """A try has the command timeout."""
    write = client.read_write_lock("myLock").write
    busy = client.permit_semaphore("myLock", permits=1) if kind == "semaphore" else write
    with busy, FaultProxy(server.port) as proxy:
        proxy.delay(0.4)
        running = start("myLock", "--kind", kind, "--wait", "0", "--", "true", url=proxy.url)
        assert running.end() == (75, "", "")


def test_it_waits_for_the_lock(start: Start, client: holdfast.Client, server: Server) -> None:
    with client.fair_lock("myLock"):
        running = start("myLock", "--kind", "fair", "--", "echo", "now")
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{myLock}") == 1)
        assert running.process.poll() is None
    assert running.end() == (0, "now\n", "")


def test_no_server_is_69_with_one_line(start: Start) -> None:
    url = "redis://127.0.0.1:1?command_timeout=0.5"
    status, out, errors = start("myLock", "--", "echo", "x", url=url).end()
    assert (status, out) == (69, "")
    assert errors.startswith("holdfast: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["myLock"],
        ["--", "-x"],
        ["--", "env", "sh", "-c", "true"],
        ["--wait", "0", "--", "true", "--wait", "1"],
        ["myLock", "--wait", "-1", "--", "true"],
        ["myLock", "--wait", "nan", "--", "true"],
        ["myLock", "--wait", "inf", "--", "true"],
        ["myLock", "--lease", "inf", "--", "true"],
        ["myLock", "--lease", "0", "--", "true"],
        ["myLock", "--at-least", "99", "--", "true"],
        ["myLock", "--at-least", "1", "--kind", "read", "--", "true"],
        ["myLock", "--permits", "2", "--", "true"],
        ["myLock", "--kind", "none", "--", "true"],
        ["", "--", "true"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_2_with_one_line(start: Start, server: Server, words: list[str]) -> None:
    status, _, errors = start(*words).end()
    assert (status, errors.count("\n")) == (2, 1)
    assert server.keys() == set()


@pytest.mark.parametrize(
    ("limit", "hint"),
    [("-n 8", "raise `ulimit -n`"), ("-n 14", "raise `ulimit -n`")],
)
def test_a_limit_that_is_reached_is_69_with_its_name(start: Start, limit: str, hint: str) -> None:
    prefix = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"]
    status, out, errors = start("myLock", "--", "echo", "x", prefix=prefix).end()
    assert (status, out, errors.count("\n")) == (69, "", 1)
    assert hint in errors


@pytest.mark.skipif(os.geteuid() != 0, reason="root has to become a user without processes")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_process_that_is_refused_is_69_with_the_limits_name(start: Start, processes: int) -> None:
    user = str(61000 + os.getpid() % 4000)
    prefix = ["bash", "-c", 'limit=$1; shift; ulimit -u $limit; exec "$@"', "sh", str(processes)]
    prefix += ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    reached = subprocess.run([*prefix, sys.executable, "-c", "import holdfast"], check=False)
    if reached.returncode:
        pytest.skip("another user cannot run this Python")
    status, out, errors = start("myLock", "--", "echo", "x", prefix=prefix).end()
    assert (status, out, errors.count("\n")) == (69, "", 1)
    assert "raise `ulimit -u`, or pids.max" in errors


def test_an_interrupt_at_the_start_costs_no_word(
    start: Start, client: holdfast.Client, request: pytest.FixtureRequest
) -> None:
    """From the import of the package on: what the interpreter does before is not ours."""
    with client.lock("myLock"):
        for step in range(20 if is_whole(request.config) else 5):
            running = start("myLock", "--", "true")
            maps = Path(f"/proc/{running.process.pid}/maps")
            eventually(lambda maps=maps: "/_core." in maps.read_text())  # type: ignore[misc]
            let_pass(step * 0.01)
            running.signal(signal.SIGINT)
            assert running.end() == (-signal.SIGINT, "", "")


def test_little_is_imported_before_interrupts_are_handled() -> None:
    """By the console script: each import before that is time in which SIGINT is a traceback."""
    show = "import sys; there = {*sys.modules}; import holdfast_tools.__main__; "
    show += "print(*{*sys.modules} - there)"
    seen = subprocess.run(
        [sys.executable, "-c", show], env=environment(), capture_output=True, check=True
    )
    modules = set(seen.stdout.decode().split())
    assert "holdfast_tools.interrupts" in modules
    assert not modules & {"holdfast", "click", "json", "importlib.metadata", "pathlib", "asyncio"}


@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}])
def test_the_environment_is_as_it_was(start: Start, given: dict[str, str]) -> None:
    """In the C locale the interpreter sets LC_CTYPE for itself."""
    before = {name: text for name, text in environment().items() if not name.startswith("L")}
    running = start("myLock", "--", "env", "-0", env={**before, "LANG": "C", **given})
    after = dict(word.split("=", 1) for word in running.end()[1].split("\0") if word)
    added = {name for name in after if name.startswith("HOLDFAST_")} - before.keys()
    assert added == {"HOLDFAST_LOCK", "HOLDFAST_FD"}
    assert {name: after[name] for name in after.keys() - added} == {**before, "LANG": "C", **given}


def test_name_and_token_are_in_the_environment(start: Start) -> None:
    show = ["sh", "-c", 'echo "$HOLDFAST_LOCK|$HOLDFAST_TOKEN"']
    assert start("a b", "--", *show).end()[1] == "a b|\n"
    name, first = start("fenced", "--kind", "fenced", "--", *show).end()[1].strip().split("|")
    _, second = start("fenced", "--kind", "fenced", "--", *show).end()[1].strip().split("|")
    assert name == "fenced"
    assert 0 < int(first) < int(second)


def test_a_name_with_a_dash_and_bytes_of_no_text(start: Start, server: Server) -> None:
    assert start("--wait", "0", "--", "-x", "--", "printenv", "HOLDFAST_LOCK").end()[1] == "-x\n"
    running = start(b"\xff", "--", "sleep", "60")
    eventually(lambda: server.inspect.exists(b"\xff"))
    running.signal(signal.SIGINT)
    assert running.status() == -signal.SIGINT


@pytest.mark.parametrize("kind", ["lock", "fair", "read", "write", "fenced"])
def test_each_kind_is_held(start: Start, client: holdfast.Client, marks: Marks, kind: str) -> None:
    both = client.read_write_lock("myLock")
    same = {
        "lock": client.lock("myLock"),
        "fair": client.fair_lock("myLock"),
        "read": both.write,
        "write": both.read,
        "fenced": client.fenced_lock("myLock"),
    }[kind]
    wait = f"echo x > {marks.path('in')}; exec sleep 60"
    silent = ("--no-purpose",) if kind == "write" else ()
    running = start("myLock", "--kind", kind, "--label", "cron", *silent, "--", "sh", "-c", wait)
    marks.wait("in")
    assert not same.acquire(blocking=False)
    [holder] = same.holders()
    line = f"sh -c {wait}"[:200]
    assert (holder.label, holder.purpose) == ("cron", None if silent else line)
    running.signal(signal.SIGTERM)
    assert running.status() == 143
    assert same.acquire(blocking=False)
    same.release()


def test_of_a_semaphore_n_run_at_a_time(
    start: Start, client: holdfast.Client, marks: Marks
) -> None:
    def one(name: str) -> tuple[str, ...]:
        return (
            "mySemaphore",
            "--kind",
            "semaphore",
            "--permits",
            "2",
            "--wait",
            "0",
            "--",
            ("sh"),
            "-c",
            f"echo x > {marks.path(name)}; exec sleep 60",
        )

    both = [start(*one("a")), start(*one("b"))]
    marks.wait("a")
    marks.wait("b")
    assert start(*one("c")).status() == 75
    more = ["mySemaphore", "--kind", "semaphore", "--permits", "9", "--wait", "0", "--", "true"]
    status, _, said = start(*more).end()
    assert status == 2
    assert "'mySemaphore' has 2 permits, not 9: use --permits 2, or --resize to set 9" in said
    assert start(*(word for word in more if word not in {"--permits", "9"})).status() == 75
    assert start("mySemaphore", "--resize", *more[1:]).status() == 0
    assert client.permit_semaphore("mySemaphore").permits() == 9
    client.permit_semaphore("mySemaphore").set_permits(2)
    for running in both:
        running.signal(signal.SIGTERM)
        assert running.status() == 143
    assert client.permit_semaphore("mySemaphore").available_permits() == 2


def test_at_least_keeps_the_lock(start: Start, client: holdfast.Client) -> None:
    assert start("myLock", "--at-least", "20", "--", "true").status() == 0
    left = client.lock("myLock").ttl()
    assert left is not None
    assert 0 < left <= 20


def test_open_files_and_streams_pass_through(start: Start) -> None:
    read, write = os.pipe()
    running = start(
        "x", "--", "bash", "-c", f"cat; echo y >&{write}", pass_fds=[write], stdin=subprocess.PIPE
    )
    os.close(write)
    running.process.stdin.write("stdin\n")  # type: ignore[union-attr]
    assert running.end()[:2] == (0, "stdin\n")
    with os.fdopen(read) as file:
        assert file.read() == "y\n"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_ignored_signals_stay_ignored(start: Start, number: int) -> None:
    show = ["sh", "-c", "grep -E '^Sig(Ign|Blk)' /proc/self/status"]

    def ignored(mask: str) -> bool:
        return bool(int(mask, 16) >> (number - 1) & 1)

    plain = start("myLock", "--", *show).end()[1].split()
    nohup = start("myLock", "--", *show, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    blocked, kept = nohup.end()[1].split()[1::2]
    assert not ignored(plain[3])
    assert not ignored(blocked)
    assert ignored(kept)


def test_a_pipeline_has_the_status_of_the_command(server: Server) -> None:
    holdfast_run = " ".join([*COMMAND, "--url", server.url, "run"])
    script = f"set -o pipefail; {holdfast_run} a -- sh -c 'echo x; exit 5' | cat"
    result = subprocess.run(
        ["bash", "-c", script], env=environment(), capture_output=True, check=False, text=True
    )
    assert (result.returncode, result.stdout) == (5, "x\n")


def test_verbose_says_what_happens(start: Start) -> None:
    errors = start("myLock", "--verbose", "--", "true").end()[2]
    assert "waiting for 'myLock'" in errors
    assert "acquired 'myLock'" in errors
    assert "released 'myLock'" in errors
