"""Shells complete commands, options, and the names of held locks."""

from __future__ import annotations

import subprocess

import pytest

import holdfast
from tests.support.servers import Server, free_port
from tests.tools.cli.conftest import BOUND, COMMAND, Run, environment

pytestmark = pytest.mark.servers("redis")


def completions(url: str, words: str) -> list[str]:
    asked = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": f"holdfast {words}"}
    done = subprocess.run(
        COMMAND,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=True,
        env=environment(HOLDFAST_URL=url, COMP_CWORD=str(len(words.split())), **asked),
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_options_and_names(server: Server, client: holdfast.Client) -> None:
    assert completions(server.url, "un") == ["unlock"]
    assert completions(server.url, "ls --j") == ["--json"]
    with client.lock("order:1", lease=60), client.lock("o*", lease=60):
        assert completions(server.url, "show or") == ["order:1"]
        assert completions(server.url, "unlock o*") == ["o\\*"]  # as bash has to read it
    assert completions(f"redis://127.0.0.1:{free_port()}", "show o") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_HOLDFAST_COMPLETE" in done.stdout
