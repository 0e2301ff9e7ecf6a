"""The guard as a process: what it leaves alone, how it ends, and where there can be none."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import holdfast
from tests.faults.guard.conftest import (
    StartProgram,
    ended,
    exists,
)
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

NAME = "myLock"


def test_close_ends_it_and_leaves_no_process_and_no_descriptor(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        with holdfast.Client(URL, guard=True, lease=120) as client:
            client.ping()
        before = descriptors()
        with holdfast.Client(URL, guard=True, lease=120) as client, client.lock("myLock"):
            pid = client._core.guard_pid
            say("guard", pid)
            hear("close")
        until(lambda: descriptors() == before)
        """,
        URL=server.url,
    )
    (guard,) = child.expect("guard")
    assert exists(int(guard))
    child.send("close")
    ended(int(guard))
    assert child.wait() == 0


def test_the_figures_of_a_client_say_whether_it_is_guarded(server: Server) -> None:
    with holdfast.Client(server.url) as client:
        assert not client.stats().guarded
    with holdfast.Client(server.url, guard=True) as client:
        assert client.stats().guarded
    assert not client.stats().guarded


def test_it_is_no_child_of_the_program(start_program: StartProgram) -> None:
    program = start_program(NAME)
    program.do("""exec("try: os.wait()\\nexcept ChildProcessError: say('no child')")""")
    assert program.child.next_line() == "no child"


def test_a_program_that_adopts_orphans_keeps_no_zombie(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        client = holdfast.Client(URL, guard=True, lease=120)
        client.ping()
        say("guard", client._core.guard_pid)
        client.close()
        try:
            say("left", os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            say("none")
        """,
        URL=server.url,
    )
    child.expect("guard")
    child.expect("none")


def test_it_has_no_files_of_the_program_and_no_environment(
    start_program: StartProgram,
) -> None:
    program = start_program(NAME)
    program.do("kept = os.pipe(); [os.set_inheritable(each, True) for each in kept]")
    program.do("say(holdfast.Client(URL, guard=True, lease=120)._core.guard_pid)")
    program.child.next_line()
    links = {str(file.readlink()) for file in Path(f"/proc/{program.guard}/fd").iterdir()}
    assert {link.partition(":")[0] for link in links} <= {
        "/dev/null",
        "socket",
        "anon_inode",
        "/memfd",
    }
    assert Path(f"/proc/{program.guard}/environ").read_bytes() == b""


def test_a_signal_for_the_programs_group_does_not_end_it(
    start_child: StartChild, server: Server, next_owner: holdfast.Client
) -> None:
    child = start_child(
        """
        os.setpgid(0, 0)
        client = holdfast.Client(URL, guard=True, lease=120)
        client.lock("myLock").acquire()
        say("held", client._core.guard_pid)
        os.killpg(0, signal.SIGKILL)
        """,
        URL=server.url,
    )
    child.expect("held")
    assert next_owner.lock(NAME).acquire(timeout=BOUND)


def test_signals_while_it_starts_do_not_leave_the_client_without_one(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        signal.signal(signal.SIGALRM, lambda number, frame: None)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        guarded = []
        for _ in range(10):
            with holdfast.Client(URL, guard=True, lease=120) as client:
                client.ping()
                guarded.append(client.stats().guarded)
        signal.setitimer(signal.ITIMER_REAL, 0)
        say(all(guarded))
        """,
        URL=server.url,
    )
    child.expect("True")


def test_a_guard_that_is_killed_is_reported_once_and_the_client_goes_on(
    start_child: StartChild, server: Server, next_owner: holdfast.Client
) -> None:
    child = start_child(
        """
        import logging
        class Said(logging.Handler):
            def emit(self, record):
                say(record.levelname, record.getMessage())
        logging.getLogger("holdfast").addHandler(Said())
        one, two = (holdfast.Client(URL, guard=True, lease=120) for _ in range(2))
        one.lock("first").acquire()
        killed = one._core.guard_pid
        os.kill(killed, signal.SIGKILL)
        hear("go on")
        with one.lock("second"), two.lock("third"):
            say("held")
        until(lambda: not one.stats().guarded and not two.stats().guarded)
        three = holdfast.Client(URL, guard=True, lease=120)
        three.lock("fourth").acquire()
        say("guard", three.stats().guarded, three._core.guard_pid != killed)
        hear("end")
        """,
        URL=server.url,
    )
    line = child.next_line()
    assert line.startswith("WARNING the guard of this program has ended"), line
    child.send("go on")
    child.expect("held")
    assert child.expect("guard") == ["True", "True"]
    child.kill()
    assert next_owner.lock("fourth").acquire(timeout=BOUND)


def test_an_executable_that_is_missing_is_reported_and_the_client_goes_on(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        holdfast._core.__file__ = "/nowhere/_core.so"
        client = holdfast.Client(URL, guard=True, lease=120)
        with client.lock("myLock"), holdfast.Client(URL, guard=True, lease=120).lock("other"):
            say("held", client._core.guard_pid)
        until(lambda: holdfast._engine.log._warned)
        """,
        URL=server.url,
    )
    assert child.expect("held") == ["0"]
    assert child.wait() == 0
    assert child.errors.count("/nowhere/holdfast-guard") == 1
    assert "expires with its lease" in child.errors


NO_DESCRIPTORS = """
import resource
used = max(map(int, os.listdir("/proc/self/fd")))
resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
"""


def test_a_system_that_cannot_run_it_refuses_the_keyword(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        NO_DESCRIPTORS
        + """
try:
    holdfast.Client(URL, guard=True, lease=120)
except RuntimeError as error:
    say(error)
""",
        URL=server.url,
    )
    line = child.next_line()
    assert line.startswith("guard=True cannot work on this system"), line
    assert "pidfd_open" in line


def test_a_system_that_cannot_run_it_goes_on_without_the_one_of_the_environment(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        NO_DESCRIPTORS + "holdfast.Client(URL)\nholdfast.Client(URL)\nsay('made')\n",
        URL=server.url,
        environment={"HOLDFAST_GUARD": "1"},
    )
    child.expect("made")
    assert child.errors.count("pidfd_open") == 1


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1?guard=maybe", "redis://127.0.0.1:1?guard=2"])
def test_a_bad_option_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="guard"):
        holdfast.Client(url)
    with pytest.raises(TypeError, match="guard must be bool"):
        holdfast.Client("redis://127.0.0.1:1", guard=1)  # type: ignore[arg-type]


def test_a_bad_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_GUARD", "perhaps")
    with pytest.raises(ValueError, match="HOLDFAST_GUARD must be 1 or 0, not 'perhaps'"):
        holdfast.Client("redis://127.0.0.1:1")


def test_the_keyword_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("HOLDFAST_GUARD", "1")
    with holdfast.Client(server.url, guard=False) as client:
        assert client._core.guard_pid == 0
    with holdfast.Client(f"{server.url}?guard=false") as client:
        assert client._core.guard_pid == 0
    with holdfast.Client(server.url) as client:
        assert client._core.guard_pid > 0


def test_a_warning_of_the_exit_says_that_the_guard_frees_what_is_held(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        "client = holdfast.Client(URL, guard=True); client.lock('myLock').acquire(); say('held')",
        python=("-W", "default"),
        URL=server.url,
    )
    child.expect("held")
    child.wait()
    assert "is released by the guard" in child.errors


def test_run_frees_the_lock_of_a_killed_guardian(
    start_child: StartChild, server: Server, next_owner: holdfast.Client
) -> None:
    child = start_child(
        """
        import subprocess
        run = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "--url", URL, "run", "myLock", "--", "sleep", "60"]
        )
        hear("end")
        run.kill()
        """,
        URL=server.url,
    )
    eventually(server.keys)
    os.kill(eventually(lambda: _guardian(child.pid)), signal.SIGKILL)
    assert next_owner.lock(NAME).acquire(timeout=BOUND)
    child.send("end")


def _guardian(root: int) -> int:
    """The parent of `sleep` below that process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                name, _, rest = (entry / "stat").read_text(encoding="utf-8").rpartition(")")
            except OSError:
                continue
            parents[int(entry.name)] = (name.partition("(")[2], int(rest.split()[1]))
    for name, parent in parents.values():
        above = parent
        while name == "sleep" and above in parents:
            if above == root:
                return parent
            above = parents[above][1]
    raise AssertionError("the command is not there")
