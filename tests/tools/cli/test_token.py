"""``token`` shows and raises the last fencing token, where a fence refuses every owner."""

from __future__ import annotations

import sqlite3

import pytest

import holdfast
from holdfast.contrib.fencing import SqlFence, fenced
from tests.support.servers import Server
from tests.tools.cli.conftest import Run
from tests.tools.cli.test_unlock import answer

pytestmark = [pytest.mark.servers("redis")]

NAME = "demo"
AHEAD = 10**15
"""Microseconds by which the clock of the server is behind the one before it."""


def test_it_shows_the_last_token(run: Run, client: holdfast.Client) -> None:
    done = run("token", NAME)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "holdfast: no token of 'demo' was given\n"
    with client.fenced_lock(NAME) as lock:
        done = run("token", NAME)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{lock.token}\n", "")


def test_a_fence_that_refuses_every_owner_accepts_them_again(
    run: Run, client: holdfast.Client
) -> None:
    """The error names the command; without it no owner ever passes."""
    database, fence = sqlite3.connect(":memory:"), SqlFence()
    fence.create(database)
    lock = client.fenced_lock(NAME)
    with lock:
        seen = (lock.token or 0) + AHEAD
        with database:
            fence.check(database, NAME, seen)  # of an owner before the loss
    for _ in range(2):
        said = f"holdfast token NAME --at-least {seen}"
        with pytest.raises(holdfast.StaleTokenError, match=said):
            fenced(lock, fence, database).__enter__()
    done = run("token", NAME, "--at-least", str(seen), "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{seen}\n", "")
    with fenced(lock, fence, database):
        assert lock.token == seen + 1
    done = run("token", NAME, "--at-least", "1", "--yes")
    assert (done.returncode, done.stdout) == (0, f"{seen + 1}\n")
    database.close()


def test_without_a_terminal_it_refuses_without_yes(run: Run) -> None:
    done = run("token", NAME, "--at-least", str(AHEAD))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "holdfast: 'demo' keeps its token: there is no terminal for the question; use --yes\n"
    )
    assert run("token", NAME).returncode == 1


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 2), ("\x04", 2)])
def test_on_a_terminal_it_asks_first(typed: str, status: int, server: Server, run: Run) -> None:
    code, shown = answer(server, typed, "token", NAME, "--at-least", str(AHEAD))
    assert code == status
    assert f"'demo': no token was given; no later owner would get one up to {AHEAD}" in shown
    assert run("token", NAME).returncode == (1 if status else 0)


@pytest.mark.parametrize("least", ["0", "-1", str(2**53 + 1), "x"])
def test_a_token_out_of_range_is_refused(least: str, run: Run) -> None:
    done = run("token", NAME, "--at-least", least, "--yes")
    assert (done.returncode, done.stdout) == (2, "")


def test_what_is_no_counter_is_refused(run: Run, server: Server) -> None:
    server.inspect.rpush("redisson_lock_token:{demo}", "x")
    done = run("token", NAME, "--at-least", "7", "--yes")
    assert done.returncode == 69
    assert "WRONGTYPE" in done.stderr
