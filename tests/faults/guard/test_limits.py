"""A guard that may not start, does not answer, or has left its number to another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import StartChild
from tests.support.refusals import REFUSALS, Refusals
from tests.support.servers import Server

pytestmark = pytest.mark.servers("real")

UNGUARDED = """
import logging
logging.getLogger("holdfast").addHandler(logging.StreamHandler())
with holdfast.Client(URL, guard=True) as client, client.lock("myLock"):
    say("guard", client._core.guard_pid)
"""


def test_a_guard_that_may_not_fork_is_reported_and_the_client_goes_on(
    start_child: StartChild, server: Server, refusals: Refusals
) -> None:
    """missing-guard."""
    child = start_child(
        f"os.environ['HOLDFAST_TEST_REFUSALS'] = 'fork 1 1 11'\n{UNGUARDED}",
        URL=server.url,
        environment=refusals.environment,
    )
    assert child.expect("guard") == ["0"]
    assert child.wait() == 0
    assert "the guard cannot be started: fork: " in child.errors
    assert "ulimit -u" in child.errors


@pytest.mark.parametrize(
    ("call", "error"), [("posix_spawn", "EAGAIN"), ("fcntl", "EMFILE"), ("socketpair", "EMFILE")]
)
def test_a_guard_that_is_refused_is_reported_with_its_limit(
    start_child: StartChild, server: Server, refusals: Refusals, call: str, error: str
) -> None:
    """missing-guard."""
    child = start_child(
        f"{REFUSALS}\nrefuse({call!r}, 1, 0, errno.{error})\n{UNGUARDED}",
        URL=server.url,
        environment=refusals.environment,
    )
    assert child.expect("guard") == ["0"]
    assert child.wait() == 0
    assert "ulimit" in child.errors


def test_a_stopped_guard_stops_no_other_thread(start_child: StartChild, server: Server) -> None:
    """missing-guard."""
    child = start_child(
        """
        first = holdfast.Client(URL, guard=True)
        first.ping()
        guard = first._core.guard_pid
        os.kill(guard, signal.SIGSTOP)
        made = threading.Event()
        def make():
            holdfast.Client(URL, guard=True)
            made.set()
        threading.Thread(target=make, daemon=True).start()
        for _ in range(20):
            let_pass(0.01)
        say("meanwhile", made.is_set())
        os.kill(guard, signal.SIGCONT)
        made.wait()
        say("made")
        """,
        URL=server.url,
    )
    assert child.expect("meanwhile") == ["False"]
    child.expect("made")


def test_close_leaves_a_child_of_the_program_alone_that_has_the_number_of_a_dead_guard(
    start_child: StartChild, server: Server
) -> None:
    """missing-guard."""
    last = Path("/proc/sys/kernel/ns_last_pid")
    child = start_child(
        """
        import subprocess
        client = holdfast.Client(URL, guard=True)
        client.ping()
        number = client._core.guard_pid
        os.kill(number, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{number}"))
        other = None
        for _ in range(50):
            try:
                with open(LAST, "w") as last:
                    last.write(str(number - 1))
            except OSError:
                break
            other = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
            if other.pid == number:
                break
            other.wait()
        if other is None or other.pid != number:
            say("skip")
        else:
            until(lambda: open(f"/proc/{number}/stat").read().split()[2] == "Z")
            client.close()
            say("status", other.wait())
        """,
        URL=server.url,
        LAST=str(last),
    )
    line = child.next_line()
    if line == "skip":
        pytest.skip("this user may not choose the number of a process")
    assert line == "status 7"


def test_a_guard_that_may_not_read_ends(
    start_child: StartChild, server: Server, refusals: Refusals
) -> None:
    """missing-guard.

    It inherits the program's rules, such as a seccomp filter, and must not spin for them.
    """
    child = start_child(
        f"os.environ['HOLDFAST_TEST_REFUSALS'] = 'recvmsg 1 0 1'\n{UNGUARDED}",
        URL=server.url,
        environment=refusals.environment,
    )
    assert child.expect("guard") == ["0"]
    assert child.wait() == 0
    assert "the guard cannot be started: it has ended" in child.errors
