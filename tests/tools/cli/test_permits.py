"""``permits`` shows the permits of a semaphore, and sets their number after asking."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tests.tools.cli.conftest import Run
from tests.tools.cli.test_unlock import answer

pytestmark = [
    pytest.mark.servers("redis"),
    pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning"),
]


def fields(text: str) -> dict[str, str]:
    """The pairs that are printed, but for owners."""
    pairs = (line.split("\t") for line in text.splitlines())
    return {word: value for word, value in pairs if word != "owner"}


def test_permits_that_a_killed_program_had_taken_are_made_free(
    run: Run, client: holdfast.Client
) -> None:
    semaphore = client.semaphore("licences")
    semaphore.try_set_permits(3)
    semaphore.acquire(permits=3)  # by a program that ends without a release
    assert fields(run("permits", "licences").stdout) == {
        "kind": "semaphore",
        "free": "0",
        "waiters": "0",
    }
    done = run("permits", "licences", "--set", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "holdfast: 'licences' keeps its permits: there is no terminal for the question; use --yes\n"
    )
    with ThreadPoolExecutor() as threads:
        waiter = threads.submit(semaphore.acquire, timeout=BOUND)
        eventually(lambda: client.stats().waiting == 1)
        done = run("permits", "licences", "--set", "3", "--yes")
        assert (done.returncode, done.stderr) == (0, "")
        assert waiter.result(BOUND) is True
    assert semaphore.available_permits() == 2


def test_all_permits_of_a_permit_semaphore_are_set(run: Run, client: holdfast.Client) -> None:
    semaphore = client.permit_semaphore("pool", permits=2)
    semaphore.acquire(lease=60)
    shown = fields(run("permits", "pool", "--set", "5", "--yes").stdout)
    assert (shown["permits"], shown["in use"], shown["free"]) == ("5", "1", "4")
    assert semaphore.permits() == 5


def test_on_a_terminal_it_shows_what_is_there_and_asks(
    server: Server, client: holdfast.Client
) -> None:
    semaphore = client.semaphore("licences")
    semaphore.try_set_permits(2)
    for text, number in (("n\n", 2), ("y\n", 7)):
        status, shown = answer(server, text, "permits", "licences", "--set", "7")
        assert status == (0 if number == 7 else 2)
        assert "'licences': free 2" in shown
        assert semaphore.available_permits() == number


def test_what_is_no_semaphore_is_refused(run: Run, client: holdfast.Client) -> None:
    with client.lock("demo", lease=60):
        done = run("permits", "demo", "--set", "1", "--yes")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("holdfast: 'demo' is not ")
    done = run("permits", "missing", "--set", "1", "--yes")
    assert (done.returncode, done.stderr) == (1, "holdfast: there is no semaphore 'missing'\n")
