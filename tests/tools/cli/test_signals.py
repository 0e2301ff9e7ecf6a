"""A signal ends what runs until one, without a word, wherever it comes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.servers import Server, free_port
from tests.tools.cli.conftest import BOUND, environment

pytestmark = [pytest.mark.servers("redis"), pytest.mark.sampled]

#: The command line, where a function that the command calls begins by a signal to itself.
PROGRAM = """
import os, sys
from {module} import {kind} as patched
from holdfast_tools.__main__ import main

original = patched.{name}

class Half:
    def __init__(self):
        os.kill(os.getpid(), {number})
        self.made = True

    def __del__(self):
        self.made

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), {number})

def faulty(*arguments):
    patched.{name} = original
    {moment}()
    return original(*arguments)

patched.{name} = faulty
sys.exit(main(sys.argv[1:]))
"""

#: The command line, at the end of which a finalizer swallows a signal.
ENDING = """
import os, signal, sys
from holdfast_tools.__main__ import main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

try:
    status = main(sys.argv[1:])
finally:
    Finalized()
sys.exit(status)
"""

PATCHED = {
    "inspect": ("asyncio.selector_events", "BaseSelectorEventLoop", "_make_self_pipe"),
    "watch": ("holdfast_tools.cli._watch", "inspect", "locks"),
}


@pytest.mark.parametrize("moment", ["Half", "Finalized"])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
@pytest.mark.parametrize("command", PATCHED)
def test_a_signal_in_the_middle_of_anything(
    server: Server, command: str, number: int, status: int, moment: str
) -> None:
    if command == "inspect":
        pytest.importorskip("uvicorn", reason="the page needs the extra web")
    module, kind, name = PATCHED[command]
    program = PROGRAM.format(module=module, kind=kind, name=name, number=int(number), moment=moment)
    words = ["--port", str(free_port())] if command == "inspect" else []
    ended = run(program, server, command, *words)
    assert (ended.returncode, ended.stderr) == (status, "")


def test_a_signal_that_a_finalizer_swallows_at_the_end_kills_no_command(server: Server) -> None:
    """It comes again while the command ends, or not at all."""
    ended = run(ENDING, server, "ls")
    assert ended.returncode in {0, 143}
    assert ended.stderr == ""


def run(program: str, server: Server, *words: str) -> subprocess.CompletedProcess[str]:
    """The end of a program that has run the command line."""
    return subprocess.run(
        [sys.executable, "-c", program, "--url", server.url, *words],
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
        env=environment(),
    )
