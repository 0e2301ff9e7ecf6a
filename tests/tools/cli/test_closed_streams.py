"""A closed stdout or stderr changes no status, and stays closed for the command of ``run``."""

from __future__ import annotations

import signal
import socket
import subprocess

import pytest

import holdfast
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually
from tests.tools.cli.conftest import BOUND, COMMAND, environment

pytestmark = [pytest.mark.servers("redis"), pytest.mark.sampled]

CLOSED = {"out": ">&-", "err": "2>&-", "both": ">&- 2>&-", "all": "<&- >&- 2>&-"}


@pytest.fixture(params=CLOSED)
def closed(request: pytest.FixtureRequest) -> str:
    return CLOSED[request.param]


def begin(server: Server, closed: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "--url", server.url, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def status(server: Server, closed: str, *words: str) -> int:
    process = begin(server, closed, *words)
    _, errors = process.communicate(timeout=BOUND)
    assert "Traceback" not in errors
    return process.returncode


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "x", "--", "sh", "-c", "exit 3"], 3),
        (["run", "x", "--verbose", "--", "sh", "-c", "exit 3"], 3),
        (["run", "x", "--", "/nonexistent"], 127),
        (["run", "held", "--wait", "0", "--", "true"], 75),
        (["ls"], 0),
        (["ls", "--json"], 0),
        (["show", "held"], 0),
        (["show", "free"], 1),
        (["unlock", "held"], 2),
        (["doctor", "--kind", "lock"], 0),
        (["doctor", "--kind", "lock", "--json"], 0),
        (["completion", "zsh"], 0),
        (["--version"], 0),
        (["demo", "--help"], 0),
        (["show"], 2),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_statuses_stay(
    server: Server, client: holdfast.Client, closed: str, words: list[str], expected: int
) -> None:
    with client.lock("held", lease=60):
        assert status(server, closed, *words) == expected


@pytest.mark.parametrize("words", [["watch"], ["watch", "--json"], ["inspect", "--port", "{port}"]])
def test_what_runs_until_a_signal_runs(server: Server, closed: str, words: list[str]) -> None:
    if words[0] == "inspect":
        pytest.importorskip("uvicorn", reason="the page needs the extra web")
    port = free_port()
    before = scans(server)
    process = begin(server, closed, *(word.format(port=port) for word in words))
    if words[0] == "watch":
        eventually(lambda: scans(server) > before)
    else:
        eventually(lambda: listens(port))
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=BOUND)
    assert (process.returncode, errors) == (143, "")


def scans(server: Server) -> int:
    stats = server.inspect.info("commandstats")
    return int(stats.get("cmdstat_scan", {}).get("calls", 0))


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [1, 2])
def test_a_closed_stream_stays_closed_for_the_command(server: Server, number: int) -> None:
    seen = f"[ -e /proc/self/fd/{number} ] && exit 8; exit 9"
    assert status(server, f"{number}>&-", "run", "x", "--", "sh", "-c", seen) == 9
