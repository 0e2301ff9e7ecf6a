"""Fixtures of the tests with frameworks: servers for HTTP as separate processes."""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.frameworks.postgres import Postgres
from tests.frameworks.ways import FENCE, WAYS, Databases
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

ROOT = Path(__file__).resolve().parents[2]


class Program:
    """A process with its log."""

    def __init__(self, *command: str, environment: Mapping[str, str]) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
                **environment,
            },
        )

    @property
    def log(self) -> str:
        """What it said so far."""
        self._log.seek(0)
        return self._log.read()

    def wait_for(self, words: str) -> None:
        """Until its log has these words."""
        eventually(lambda: words in self.log or self.process.poll() is not None, within=60)
        assert words in self.log, self.log

    def close(self) -> None:
        """End it, at first politely."""
        self.process.terminate()
        try:
            self.process.wait(BOUND)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(BOUND)
        self._log.close()


Run = Callable[..., Program]


@pytest.fixture
def run() -> Iterator[Run]:
    """Start a process: `run("-m", "uvicorn", …, NAME=value)`; ended with the test."""
    programs: list[Program] = []

    def start(*command: str, **environment: str) -> Program:
        programs.append(Program(*command, environment=environment))
        return programs[-1]

    yield start
    for program in reversed(programs):
        program.close()


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Postgres]:
    """The PostgreSQL server of all tests of a module."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """A server with an empty database, where libpq looks for it."""
    with own_postgres.connect(autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        connection.execute("CREATE DATABASE shop")
    for name, value in own_postgres.environment.items():
        monkeypatch.setenv(name, value)
    return own_postgres


@pytest.fixture(scope="module")
def own_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    databases = Databases(tmp_path_factory.mktemp("fencing"), Postgres())
    yield databases
    databases.postgres.close()


@pytest.fixture
def databases(own_databases: Databases) -> Databases:
    """Without tables."""
    own_databases.file.unlink(missing_ok=True)
    with own_databases.postgres.connect(autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS holdfast_fence, report")
    return own_databases


@pytest.fixture(params=WAYS, ids=lambda kind: kind.__name__)
def open_way(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Callable[..., Any]]:
    """Make connections of one kind; the tables are there, made by the first."""
    ways: list[Any] = []

    def open_way(alone: bool = False) -> Any:
        ways.append(request.param(databases, alone))
        return ways[-1]

    first = open_way()
    first.do(first.enter)
    first.do(FENCE.create, first.connection)
    first.do(first.run, "CREATE TABLE report (body text)")
    first.do(first.leave)
    yield open_way
    for way in ways:
        way.close()


Start = Callable[..., Program]


@pytest.fixture
def exports(private_server: Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the Celery application, as its callers import it."""
    monkeypatch.setenv("HOLDFAST_URL", private_server.url)
    sys.modules.pop("tests.frameworks.exports", None)
    module = importlib.import_module("tests.frameworks.exports")
    yield module
    gc.collect()  # results that are collected later would ask a server that is gone
    module.app.close()


@pytest.fixture
def start(run: Run, private_server: Server, exports: Any) -> Start:
    """Start a Celery worker with a pool."""

    def start(pool: str, concurrency: int = 4, **environment: str) -> Program:
        worker = run(
            "-m", "celery", "-A", "tests.frameworks.exports", "worker", "--pool", pool,
            "--concurrency", str(concurrency), "--without-mingle", "--without-gossip",
            "--without-heartbeat", "--loglevel", "INFO",
            **{"HOLDFAST_URL": private_server.url, **environment},
        )  # fmt: skip
        worker.wait_for(" ready.")
        return worker

    return start


def get(url: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    try:
        with urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def manage(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the Django project."""
    done = subprocess.run(
        [sys.executable, "-m", "django", *command],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **environment},
    )  # fmt: skip
    if "check" not in command:
        assert done.returncode == 0, done.stderr
    return done
