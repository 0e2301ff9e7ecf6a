"""Names of locks are data for the shells that complete them: no name is run as a command.

zsh and fish are Debian packages, which `.ci/run` installs; `nox -s python-shells` needs them.
"""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import inspect
from tests.support.matrix import choose, is_whole
from tests.support.servers import Server
from tests.support.shells import SHELLS, absent_shells
from tests.tools.cli.conftest import BOUND, environment

pytestmark = pytest.mark.servers("redis")

HOSTILE = [
    "$(touch x)",
    "`touch x`",
    ";touch x;",
    "a&touch x&",
    "|touch x",
    "a' touch x '",
    'a" $(touch x) "',
    "(touch x)",
    "{a,b}",
    "*",
    "=ls",
    "a b",
    "a,b",
    "!!",
    "#a",
    "a\\b",
    "<(touch x)",
    "$HOME",
    "ünïcode ☃",
    "order:1",
]
NEVER = ["~", "\n$(touch x)", "a\x1b[2Jb", "a\u202eb", "-x", "\x00", "tab\tb"]

INTERACTIVE = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SETUP = {
    "bash": "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'",
    "zsh": "unsetopt zle_bracketed_paste 2> /dev/null; autoload -Uz compinit; compinit -u -D",
}


Shares = Callable[[list[str], str], list[str]]


@pytest.fixture
def share(request: pytest.FixtureRequest) -> Shares:
    """Those of some names that a shell has to complete: in a quick run each by one shell."""

    def names(names: list[str], shell: str) -> list[str]:
        if is_whole(request.config):
            return names
        installed = [each for each in SHELLS if each not in absent_shells()]
        return [name for name in names if choose(installed or SHELLS, name) == shell]

    return names


@pytest.fixture
def folder(tmp_path: Path, server: Server) -> Path:
    """A folder with the program `holdfast`, and a file that a glob would find."""
    program = tmp_path / "bin" / "holdfast"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    program.chmod(0o755)
    (tmp_path / "file").touch()
    return tmp_path


def variables(folder: Path, server: Server) -> dict[str, str]:
    return environment(
        HOLDFAST_URL=server.url,
        PATH=f"{folder / 'bin'}:{os.environ['PATH']}",
        PS1="",
        TERM="dumb",
        LC_ALL="C.UTF-8",
        HOME=str(folder),
    )


class Terminal:
    """An interactive shell that completes the command's words."""

    def __init__(self, shell: str, folder: Path, server: Server) -> None:
        self.shell = shell
        self._terminal, end = pty.openpty()
        self._process = subprocess.Popen(
            INTERACTIVE[shell],
            stdin=end,
            stdout=end,
            stderr=end,
            env=variables(folder, server),
            cwd=folder,
            start_new_session=True,
        )
        os.close(end)
        self._seen = ""
        self.type(f"{SETUP[shell]}; eval \"$(holdfast completion {shell})\"; PS1=; echo rea''dy\n")
        self.expect("ready\r\n")

    def close(self) -> None:
        self._process.kill()
        self._process.wait(BOUND)
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def expect(self, text: str) -> str:
        """Read on until the text is there; what came before it."""
        deadline = time.monotonic() + BOUND
        while text not in self._seen:
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            assert ready, f"no {text!r} in {self._seen!r}"
            self._seen += os.read(self._terminal, 65536).decode(errors="replace")
        before, _, self._seen = self._seen.partition(text)
        return before


@pytest.fixture(params=INTERACTIVE)
def terminal(request: pytest.FixtureRequest, folder: Path, server: Server) -> Iterator[Terminal]:
    if request.param in absent_shells():
        pytest.skip(f"not installed: install the system's package {request.param}")
    terminal = Terminal(request.param, folder, server)
    yield terminal
    terminal.close()


def test_a_completed_name_is_an_argument_and_no_command(
    terminal: Terminal, client: holdfast.Client, folder: Path, share: Shares
) -> None:
    for name in share(HOSTILE, terminal.shell):
        with client.lock(name, lease=60):
            [info] = inspect.locks(client)
            terminal.type("holdfast show --json \t\necho do''ne\n")
            said = terminal.expect("done\r\n")
        assert f'"key": "{info.key}"' in said, f"{name!r}: {said}"
        assert not (folder / "x").exists(), name


def test_fish_gets_each_name_as_data(
    client: holdfast.Client, folder: Path, server: Server, share: Shares
) -> None:
    if "fish" in absent_shells():
        pytest.skip("not installed: install the system's package fish")
    command = ["fish", "--no-config", "-c"]
    complete = "holdfast completion fish | source; "
    complete += 'eval holdfast show --json (complete --escape -C "holdfast show ")'
    for name in share(HOSTILE, "fish"):
        with client.lock(name, lease=60):
            [info] = inspect.locks(client)
            done = subprocess.run(
                [*command, complete],
                env=variables(folder, server),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=BOUND,
                check=False,
            )
        assert done.returncode == 0, (name, done.stderr)
        assert json.loads(done.stdout)["key"] == info.key, name
        assert not (folder / "x").exists(), name


@pytest.mark.parametrize("shell", SHELLS)
def test_what_cannot_be_typed_is_left_out(
    client: holdfast.Client, folder: Path, server: Server, shell: str, share: Shares
) -> None:
    asked = {
        "_HOLDFAST_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "holdfast show ",
        "COMP_CWORD": "" if shell == "fish" else "2",
    }
    for name in share(NEVER, shell):
        with client.lock(name, lease=60), client.lock("plain", lease=60):
            done = subprocess.run(
                ["holdfast"],
                env=variables(folder, server) | asked,
                capture_output=True,
                text=True,
                timeout=BOUND,
                check=True,
            )
        assert done.stdout.replace("\n", ",").split(",")[:2] == ["plain", "plain"], name
        assert done.stdout.count("\n") == (3 if shell == "zsh" else 1), name
