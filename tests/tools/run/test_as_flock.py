"""The same script with flock(1) and with `holdfast run`, in a terminal: it ends in the same way."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.run.conftest import BOUND, COMMAND, Marks, children_of, environment, state_of
from tests.tools.run.terminals import CTRL_BACKSLASH, CTRL_C, CTRL_Z, Session, Shell

LOCKERS = ("flock", "holdfast")
SHELLS = ("bash", "dash", "zsh")

pytestmark = [
    pytest.mark.parametrize("which", LOCKERS),
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash for job control"),
    pytest.mark.skipif(shutil.which("flock") is None, reason="no flock(1) to compare with"),
]


class Stage:
    """A locker, a server and a folder for it, and terminals in which it is used."""

    def __init__(self, which: str, server: Server, marks: Marks) -> None:
        self.which = which
        self.marks = marks
        self.server = server
        self._sessions: list[Session] = []

    def words(self, which: str) -> str:
        """What stands before a command that is to run under the lock."""
        if which == "flock":
            return f"flock {shlex.quote(self.marks.path('lock'))}"
        return f"{shlex.join(COMMAND)} --url {self.server.url} run myLock --"

    @property
    def locked(self) -> str:
        return self.words(self.which)

    def script(self, shell: str, text: str) -> Session:
        """A script in a terminal."""
        self._sessions.append(Session([shell, "-c", text]))
        return self._sessions[-1]

    def shell(self, shell: str = "bash") -> Shell:
        """An interactive shell."""
        made = Shell(self.server, shell)
        self._sessions.append(made)
        return made

    def close(self) -> None:
        for session in self._sessions:
            session.close()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Another owner has the lock."""
        if self.which == "holdfast":
            with holdfast.Client(self.server.url) as client, client.lock("myLock"):
                yield
            return
        holder = subprocess.Popen(
            ["flock", self.marks.path("lock"), "sh", "-c", "echo in; exec sleep 300"],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert holder.stdout is not None
        holder.stdout.readline()
        yield
        os.killpg(holder.pid, signal.SIGKILL)
        holder.communicate(timeout=BOUND)

    def waits(self, session: Session) -> bool:
        """Whether the locker in the session waits for the lock."""
        if self.which == "holdfast":
            channel = "redisson_lock__channel:{myLock}"
            return bool(self.server.inspect.pubsub_numsub(channel)[0][1])
        group = children_of(session.process.pid)
        return any("flock" in Path(f"/proc/{pid}/comm").read_text() for pid in group)


@pytest.fixture
def stage(which: str, server: Server, marks: Marks) -> Iterator[Stage]:
    stage = Stage(which, server, marks)
    yield stage
    stage.close()


@pytest.mark.parametrize("key", [CTRL_C, CTRL_BACKSLASH])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_ends_when_its_command_is_interrupted(stage: Stage, shell: str, key: str) -> None:
    outcomes = []
    for each in {stage.which, "flock"}:
        mark = stage.marks.path(f"in {each}")
        command = f"sh -c 'echo x > \"{mark}\"; exec sleep 300'"
        session = stage.script(shell, f"{stage.words(each)} {command}; echo DEPLOY")
        stage.marks.wait(f"in {each}")
        session.type(key)
        status, said = session.end()
        outcomes.append((status, "DEPLOY" in said))
    assert outcomes[0] == outcomes[-1]
    if key == CTRL_C:
        assert outcomes[0] == (-signal.SIGINT, False)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_ends_when_its_wait_is_interrupted(stage: Stage, shell: str) -> None:
    with stage.busy():
        session = stage.script(shell, f"{stage.locked} echo in; echo DEPLOY")
        eventually(lambda: stage.waits(session), within=BOUND)
        session.type(CTRL_C)
        status, said = session.end()
        assert (status, "DEPLOY" in said) == (-signal.SIGINT, False)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_loop_ends_when_its_command_is_interrupted(stage: Stage, shell: str) -> None:
    session = stage.shell(shell)
    command = f"sh -c 'echo '$i' >> {stage.marks.path('in')}; exec sleep 300'"
    session.line(f"for i in 1 2 3; do {stage.locked} {command}; done")
    stage.marks.wait("in")
    session.type(CTRL_C)
    session.line("echo pro''mpt")
    session.expect("prompt")
    assert (stage.marks.folder / "in").read_text() == "1\n"


def test_a_command_that_another_process_interrupts_lets_a_script_go_on(stage: Stage) -> None:
    """Neither the terminal nor the locker has had the signal: the status says what has ended."""
    script = f"{stage.locked} sh -c 'kill -INT $$'; echo $?:DEPLOY"
    result = subprocess.run(
        ["bash", "-c", script],
        env=environment(),
        capture_output=True,
        check=False,
        text=True,
        start_new_session=True,
    )
    assert result.stdout == "130:DEPLOY\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_pager_beside_the_command_has_the_terminal(stage: Stage, shell: str) -> None:
    session = stage.shell(shell)
    go = stage.marks.path("go")
    command = f"sh -c 'echo line; until [ -e {go} ]; do sleep 0.05; done'"
    asks = f"echo x > {stage.marks.path('in')}; read key < /dev/tty; echo got:$key:"
    session.line(f"{stage.locked} {command} | sh -c 'read line; {asks}; echo x > {go}; cat'")
    stage.marks.wait("in")
    session.line("hello")
    session.expect("got:hello:")
    session.line("echo pro''mpt")
    session.expect("prompt")


def test_a_command_in_a_pipeline_reads_the_terminal_all_the_same(stage: Stage) -> None:
    session = stage.shell()
    session.line(f"{stage.locked} sh -c 'echo re\"\"ad; read key; echo got:$key:' | cat")
    session.expect("read")
    session.line("hello")
    session.expect("got:hello:")
    session.line("echo pro''mpt")
    session.expect("prompt")


def test_a_pipeline_stops_and_goes_on(stage: Stage) -> None:
    session = stage.shell()
    go = stage.marks.path("go")
    os.mkfifo(go)
    command = f"sh -c 'echo $$ > {stage.marks.path('in')}; read x < {go}; echo do\"\"ne'"
    session.line(f"{stage.locked} {command} | cat")
    pid = int(stage.marks.wait("in"))
    for _ in range(2):
        session.type(CTRL_Z)
        session.expect("Stopped")
        eventually(lambda: state_of(pid) == "T")
        session.line("fg")
        eventually(lambda: state_of(pid) != "T" and session.foreground != session.process.pid)
    Path(go).write_text("x\n")
    session.expect("done")


def test_a_stop_that_is_over_is_not_passed_on(stage: Stage) -> None:
    session = stage.shell()
    marks = stage.marks
    wait = f"until [ -e {marks.path('go')} ]; do sleep 0.05; done"
    script = f"{stage.locked} sh -c 'echo $PPID > {marks.path('in')}; {wait}'; echo af''ter"
    begin = f"echo $$ > {marks.path('caller')}; "
    session.line(f"bash -c {shlex.quote(begin + script)}")
    caller, parent = int(marks.wait("caller")), int(marks.wait("in"))
    [front] = children_of(caller)
    for _ in range(5):
        for pid in {front, parent}:
            # Again: the front may yet pass on the SIGCONT of the round before.
            eventually(lambda pid=pid: os.kill(pid, signal.SIGSTOP) or state_of(pid) == "T")  # type: ignore[misc]
        for pid in (front, parent):
            os.kill(pid, signal.SIGCONT)
            eventually(lambda pid=pid: state_of(pid) != "T")  # type: ignore[misc]
    Path(marks.path("go")).touch()
    session.expect("after")
