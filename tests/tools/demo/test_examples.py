"""The programs of docs/examples/ do what their first lines say."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.fixtures import StartServer
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually
from tools.lint.tree import ROOT

EXAMPLES = ROOT / "docs" / "examples"

ENOUGH = 60.0
"""Seconds for a program to start and end on a busy machine."""

pytestmark = pytest.mark.servers("real")


class Example:
    """Starts one of the programs, with `server` as the server of HOLDFAST_URL."""

    def __init__(self, server: Server) -> None:
        path = os.pathsep.join(sys.path)
        self._environment = {**os.environ, "HOLDFAST_URL": server.url, "PYTHONPATH": path}

    def start(self, program: str, *arguments: str, options: str = "") -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", str(EXAMPLES / program), *arguments]
        url = self._environment["HOLDFAST_URL"] + options
        environment = {**self._environment, "HOLDFAST_URL": url}
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, text=True, **both)

    def run(self, program: str, *arguments: str) -> tuple[int, str, str]:
        """Its exit code, what it printed, and its standard error."""
        process = self.start(program, *arguments)
        printed, errors = process.communicate(timeout=ENOUGH)
        return process.returncode, printed, errors


@pytest.fixture
def example(server: Server) -> Example:
    return Example(server)


@pytest.fixture
def client(server: Server) -> Any:
    with holdfast.Client(server.url) as client:
        yield client


def test_every_example_is_listed_and_tested() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    tests = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in programs if f"({name})" not in readme} == set()
    assert {name for name in programs if f'"{name}"' not in tests} == set()


def test_a_command_runs_unless_another_machine_runs_it(example: Example, client: Any) -> None:
    assert example.run("run_once.py", "echo", "done") == (0, "done\n", "")
    assert example.run("run_once.py", "false")[0] == 1
    with client.lock("run-once:echo"):
        said = "echo runs on another machine\n"
        assert example.run("run_once.py", "echo", "done") == (0, said, "")


def test_a_command_is_ended_when_its_lock_is_lost(example: Example, server: Server) -> None:
    process = example.start("run_once.py", "sleep", "3600", options="?lease=3")
    eventually(lambda: server.keys() == {b"run-once:sleep"}, within=ENOUGH)
    server.flush()
    printed, errors = process.communicate(timeout=ENOUGH)
    assert (process.returncode, printed) == (1, "")
    assert "the lock was lost: sleep was ended" in errors


@pytest.mark.slow  # the leader's lease of ten seconds ends
def test_the_next_one_leads_when_the_leader_is_killed(example: Example, server: Server) -> None:
    first = example.start("leader.py", "first", "3600")
    assert first.stdout is not None
    assert first.stdout.readline() == "first leads\n"
    second = example.start("leader.py", "second", "3600")
    eventually(lambda: server.subscribers("redisson_lock__channel:{leader}"), within=ENOUGH)
    first.kill()
    first.communicate()
    assert second.stdout is not None
    assert second.stdout.readline() == "second leads\n"
    second.kill()
    second.communicate()


def test_a_candidate_outlives_a_restart_of_the_server(start_server: StartServer) -> None:
    server = start_server()
    server.inspect.hset("leader", "another:1", 1)
    server.inspect.expire("leader", 3600)
    options = "?command_timeout=0.3&retries=1"
    candidate = Example(server).start("leader.py", "candidate", "3600", options=options)
    eventually(lambda: server.subscribers("redisson_lock__channel:{leader}"), within=ENOUGH)
    server.stop()
    try:
        assert candidate.stderr is not None
        assert candidate.stdout is not None
        assert "leader" in candidate.stderr.readline()  # its error: no server
        server.start()
        assert candidate.stdout.readline() == "candidate leads\n"
    finally:
        candidate.kill()
        candidate.communicate()


def test_one_process_of_an_application_leads_at_a_time(example: Example) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    tokens = []
    running = [example.start("fastapi_singleton.py", str(free_port()))]
    for _ in range(2):
        leader = running[-1]
        assert leader.stdout is not None
        tokens.append(int(leader.stdout.readline().removeprefix("leads with token ")))
        running.append(example.start("fastapi_singleton.py", str(free_port())))
        leader.terminate()  # it resigns
        leader.communicate(timeout=ENOUGH)
    assert tokens == sorted(set(tokens))
    for process in running:
        process.kill()
        process.communicate()


def test_a_late_writer_changes_nothing(example: Example, server: Server, tmp_path: Path) -> None:
    database = str(tmp_path / "accounts")
    assert example.run("fenced_account.py", database, "40") == (0, "40\n", "")
    assert example.run("fenced_account.py", database, "2") == (0, "42\n", "")
    with closing(sqlite3.connect(database)) as accounts, accounts:
        accounts.execute("UPDATE account SET fence = ?", (2**62,))
    code, printed, errors = example.run("fenced_account.py", database, "8")
    assert (code, printed) == (1, "")
    assert "is older than the last one that wrote" in errors


LOOPS = {
    "asyncio": ("asyncio", "asyncio"),
    "uvloop": ("asyncio", "asyncio"),
    "trio": ("trio", "trio"),
    "anyio on asyncio": ("anyio", "asyncio"),
    "anyio on trio": ("anyio", "trio"),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_one_program_runs_on_every_loop(server: Server, tmp_path: Path, loop: str) -> None:
    """Unchanged but for the import."""
    package, backend = LOOPS[loop]
    text = (EXAMPLES / "limited_fetch.py").read_text()
    text = text.replace("import holdfast.anyio as", f"import holdfast.{package} as")
    assert f"holdfast.{package}" in text
    if loop == "uvloop":
        pytest.importorskip("uvloop")
        text = text.replace("backend=", 'backend_options={"use_uvloop": True}, backend=')
    program = tmp_path / "program.py"
    program.write_text(text)
    example = Example(server)
    assert example.run(str(program), "8", backend) == (0, "140\n", "")


def test_tasks_share_a_limit(example: Example, client: Any) -> None:
    assert example.run("limited_fetch.py", "8") == (0, "140\n", "")
    assert client.permit_semaphore("fetches").available_permits() == 3


def test_calls_of_all_processes_keep_their_distance(example: Example) -> None:
    running = [example.start("rate_limit.py", "3") for _ in range(2)]
    printed = "".join(process.communicate(timeout=ENOUGH)[0] for process in running)
    times = sorted(map(float, re.findall(r"at (\d+\.\d+)$", printed, re.MULTILINE)))
    assert len(times) == 6
    assert times[-1] - times[0] >= 5 * 0.2 - 0.05


def test_triggers_that_come_together_rebuild_once(example: Example, client: Any) -> None:
    with client.lock("index:waits"):
        assert example.run("debounce.py", "0") == (0, "another trigger covers this one\n", "")
    assert example.run("debounce.py", "0") == (0, "rebuilt\n", "")
    assert not client.lock("index:waits").locked()


def test_a_value_is_computed_once(example: Example) -> None:
    running = [example.start("cache_stampede.py", "ann") for _ in range(3)]
    printed = "".join(process.communicate(timeout=ENOUGH)[0] for process in running)
    assert printed.count("computes\n") == 1
    assert printed.count("the report of ann\n") == 3


def test_one_machine_migrates_and_all_start(example: Example, tmp_path: Path) -> None:
    database = str(tmp_path / "shop")
    running = [example.start("migration.py", database) for _ in range(3)]
    printed = "".join(process.communicate(timeout=ENOUGH)[0] for process in running)
    assert printed.count("step 1\nstep 2\n") == 1
    assert printed.count("starts\n") == 3


def test_each_command_has_a_licence_for_itself(example: Example, client: Any) -> None:
    licences = client.slots("licences", ["AAA-1", "BBB-2", "CCC-3"])
    with licences:
        assert example.run("licences.py", "printenv", "LICENCE") == (0, "BBB-2\n", "")
    assert licences.taken() == {}


def test_an_order_is_paid_once_and_a_late_worker_writes_nothing(
    example: Example, tmp_path: Path
) -> None:
    database = str(tmp_path / "orders")
    assert example.run("orders.py", database, "7", "ann") == (0, "paid by ann\n", "")
    assert example.run("orders.py", database, "7", "bob") == (0, "paid by ann\n", "")
    with closing(sqlite3.connect(database)) as orders, orders:
        orders.execute("UPDATE holdfast_fence SET token = ?", (2**62,))
    code, printed, errors = example.run("orders.py", database, "7", "carol")
    assert (code, printed) == (1, "")
    assert errors.startswith("nothing was written: ")


def test_workers_start_together(example: Example) -> None:
    code, printed, errors = example.run("start_together.py", "3")
    assert (code, errors) == (0, "")
    assert sorted(re.findall(r"worker \d begins", printed)) == [
        f"worker {n} begins" for n in range(3)
    ]
