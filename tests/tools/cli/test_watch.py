"""``watch`` tells of each change until it is ended."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from holdfast.inspect import LockInfo, Owner
from holdfast_tools.cli._changes import Changes
from tests.support.fixtures import StartServer
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.cli.conftest import BOUND, COMMAND, environment
from tests.tools.run.terminals import Session

pytestmark = pytest.mark.servers("redis")

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start the command; it is ended with the test."""
    with ExitStack() as stack:

        def begin(url: str, *arguments: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [*COMMAND, "--url", url, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield begin


def line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_each_change_is_an_object(server: Server, client: holdfast.Client, start: Start) -> None:
    process = start(server.url, "watch", "d*", "--json", "--interval", "0.1")
    with client.lock("other", lease=60), client.lock("demo", lease=60):
        event = line(process)
        assert list(event)[:2] == ["event", "at"]
        assert list(event)[2:] == ["name", "key", "kind", "owners", "ttl", "waiters"]
        assert (event["event"], event["name"]) == ("lock", "demo")
        owner = event["owners"][0]["id"]
        assert owner.startswith(client.id)
        with client.lock("demo", lease=60):
            event = line(process)
            assert (event["event"], event["owners"][0]["holds"]) == ("lock", 2)
        event = line(process)
        assert (event["event"], event["owners"][0]["holds"]) == ("lock", 1)
    event = line(process)
    assert (event["event"], event["name"]) == ("gone", "demo")
    process.send_signal(signal.SIGINT)
    assert process.wait(BOUND) == 130


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_in_silence(
    server: Server, client: holdfast.Client, start: Start, number: int, status: int
) -> None:
    with client.lock("demo", lease=60):
        process = start(server.url, "watch", "--interval", "0.1")
        assert process.stdout is not None
        assert process.stdout.readline().split("\t")[1:3] == ["lock", "demo"]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=BOUND)
        assert (process.returncode, rest, errors) == (status, "", "")


def test_a_closed_pipe_ends_it_in_silence(
    server: Server, client: holdfast.Client, start: Start
) -> None:
    process = start(server.url, "watch", "--json", "--interval", "0.1")
    assert process.stdout is not None
    assert process.stderr is not None
    with client.lock("demo", lease=60):
        process.stdout.readline()
        process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(BOUND) == 141


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_a_server_that_goes_is_waited_for(start_server: StartServer, start: Start) -> None:
    server = start_server()
    url = f"{server.url}?command_timeout=0.5&retries=1"
    with holdfast.Client(url) as client:
        client.lock("first").acquire(lease=60)
        process = start(url, "watch", "--json", "--interval", "0.1")
        assert line(process)["name"] == "first"
        server.stop()
        assert process.stderr is not None
        assert process.stderr.readline().startswith("holdfast: ")
        server.restart(keep_data=False)
        assert line(process)["event"] == "gone"
        with client.lock("second", lease=60):
            assert line(process)["name"] == "second"


def test_keys_sort_and_scroll_the_table(server: Server) -> None:
    """On a terminal of 14 lines: 9 of 30 locks."""
    owner = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
    for number in range(30):
        server.inspect.hset(f"lock {number:02}", owner, 1)
        server.inspect.pexpire(f"lock {number:02}", 3_600_000 - 60_000 * number)
    words = [*COMMAND, "--url", server.url, "watch", "--interval", "0.2"]
    session = Session(words, TERM="xterm", COLUMNS="120", LINES="14")
    try:
        session.expect(r"lock 08 .*\n1-9 of 30, by name; sort: n=name a=age w=waiters l=left")
        session.type("\x1b[B")
        session.expect(r"lock 09 .*\n2-10 of 30")
        session.type("\x1b[F")
        session.expect(r"lock 29 .*\n22-30 of 30")
        session.type("l\x1b[H")
        session.expect(r"lock 21 .*\n1-9 of 30, by left")
        session.type("q")
        assert session.end()[0] == 0
    finally:
        session.close()


def info(owner: str | None, ttl: float = 9.0) -> LockInfo:
    owners = (Owner(owner, 1),) if owner else ()
    return LockInfo("demo", "demo", "lock", owners, ttl, 0)


def test_untouched_locks_make_no_events(server: Server, client: holdfast.Client) -> None:
    """The server lists the connections of the owner in an order that goes round."""
    with ExitStack() as stack:
        for number in range(20):
            stack.enter_context(client.lock(f"order:{number}", lease=60))
        for _ in range(7):  # with a few the order stays
            stack.enter_context(holdfast.Client(server.url)).ping()
        eventually(lambda: client.stats().tracked == 20)
        seen = Changes()
        first = inspect.locks(client)
        assert len(seen.update(first, 0)) == 20
        [renews] = [each["addr"] for each in server.connections() if "t" in each["flags"]]
        owners = [owner.client for info in first for owner in info.owners]
        assert {owner.address for owner in owners if owner} == {renews}
        lists: list[tuple[str, ...]] = []
        changes: list[Any] = []

        def order_has_changed() -> bool:
            theirs = [each for each in server.connections() if each["name"].startswith("orders:")]
            lists.append(tuple(each["addr"] for each in theirs))
            changes.extend(seen.update(inspect.locks(client), 0))
            return any(each != lists[0] for each in lists)

        eventually(order_has_changed)
        assert changes == []


def test_hand_overs_are_counted_over_the_last_ten_seconds() -> None:
    changes = Changes()
    for second in range(20):
        changes.update([info(str(second))], float(second))
    assert changes.handovers("demo", 19.0) == 1.0
    assert changes.held_for("demo", 19.5) == 0.5
    for second in range(20, 25):
        changes.update([info("19")], float(second))
    assert changes.handovers("demo", 24.0) == 0.5
    assert changes.held_for("demo", 24.0) == 5.0
    changes.update([], 25.0)
    changes.update([info("20")], 26.0)
    assert changes.handovers("demo", 26.0) == 0.4


def test_time_that_passes_is_no_change_but_a_renewal_is() -> None:
    changes = Changes()
    assert [change.event for change in changes.update([info("1", 9.0)], 0.0)] == ["lock"]
    assert changes.update([info("1", 8.0)], 1.0) == []
    assert [change.event for change in changes.update([info("1", 30.0)], 2.0)] == ["lock"]
    assert [change.event for change in changes.update([], 3.0)] == ["gone"]
    assert changes.update([], 4.0) == []
