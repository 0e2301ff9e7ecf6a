"""`holdfast run` in an interactive shell on a terminal: Ctrl-C, Ctrl-Z, fg, the window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.run.conftest import Marks, state_of
from tests.tools.run.terminals import CTRL_C, CTRL_Z, Shell

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash for job control")


@pytest.fixture
def shell(server: Server) -> Iterator[Shell]:
    shell = Shell(server)
    yield shell
    shell.close()


def test_the_command_has_the_terminal_and_gives_it_back(shell: Shell) -> None:
    shell.line("run myLock -- sh -c 'read word; echo got:$word:'")
    shell.line("hello")
    shell.expect("got:hello:")
    assert shell.status() == 0


def test_ctrl_c_ends_the_command_and_releases(
    shell: Shell, client: holdfast.Client, marks: Marks
) -> None:
    shell.line(f"run myLock -- sh -c 'echo x > {marks.path('in')}; exec sleep 60'")
    marks.wait("in")
    shell.type(CTRL_C)
    assert shell.status() == 130
    assert not client.lock("myLock").locked()


def test_ctrl_c_during_the_wait_ends_it(
    shell: Shell, client: holdfast.Client, server: Server
) -> None:
    with client.fair_lock("myLock"):
        shell.line("run myLock --kind fair -- true")
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{myLock}") == 1)
        shell.type(CTRL_C)
        assert shell.status() == 130
        # The command does not wait for the server to execute what it sent at its end.
        eventually(lambda: server.keys() == {b"myLock"})


def test_ctrl_z_stops_both_and_fg_goes_on(shell: Shell, marks: Marks) -> None:
    count = f"echo $$ > {marks.path('in')}; read word; echo got:$word:; exit 7"
    shell.line(f"run myLock -- sh -c '{count}'")
    command = int(marks.wait("in"))
    for _ in range(2):
        shell.type(CTRL_Z)
        shell.expect("Stopped")
        assert shell.foreground == shell.process.pid
        shell.line("fg")
        # Not before: SIGCONT discards the stop that a key has asked for.
        eventually(lambda: shell.foreground == command and state_of(command) != "T")
    shell.line("hello")
    shell.expect("got:hello:")
    assert shell.status() == 7


def test_ctrl_z_during_the_wait_stops_it_and_fg_goes_on(
    shell: Shell, client: holdfast.Client, server: Server
) -> None:
    with client.fair_lock("myLock"):
        shell.line("run myLock --kind fair -- echo do''ne")
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{myLock}") == 1)
        shell.type(CTRL_Z)
        shell.expect("Stopped")
        assert shell.foreground == shell.process.pid
        shell.line("fg")
        eventually(lambda: shell.foreground != shell.process.pid)
    shell.expect("done")
    assert shell.status() == 0


def test_a_lease_that_ends_while_stopped_is_a_lost_lock(
    shell: Shell, client: holdfast.Client, marks: Marks
) -> None:
    go_on = f"echo x > {marks.path('in')}; read word; echo x > {marks.path('out')}"
    shell.line(f"run myLock --lease 2 -- sh -c '{go_on}'")
    marks.wait("in")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    eventually(lambda: not client.lock("myLock").locked())
    shell.line("fg")
    shell.expect("was lost")
    assert shell.status() == 74
    assert not marks.exists("out")


def test_in_the_background_it_leaves_the_terminal_alone(shell: Shell, marks: Marks) -> None:
    shell.line(f"run myLock -- sh -c 'echo x > {marks.path('in')}; exec sleep 60' &")
    marks.wait("in")
    shell.line("echo st''ill")
    shell.expect("still")
    shell.line("fg")
    eventually(lambda: shell.foreground != shell.process.pid)
    shell.type(CTRL_C)
    assert shell.status() == 130


def test_the_window_size_reaches_the_command(shell: Shell, marks: Marks) -> None:
    script = (
        f"trap 'stty size; exit 0' WINCH; echo x > {marks.path('in')}; while :; do sleep 0.05; done"
    )
    shell.line(f'run myLock -- bash -c "{script}"')
    marks.wait("in")
    shell.resize(33, 101)
    shell.expect("33 101")
    assert shell.status() == 0
