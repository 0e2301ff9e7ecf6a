"""What the inspector costs, and what bounds it: scans, slow readers, connections, its end."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.servers import Server, free_port
from tests.support.waiting import Stopwatch, eventually, stays
from tests.tools.web.inspector import Inspector, owner

LOCKS = 1000
STREAMS = 50


def scans(server: Server) -> int:
    """How many steps of a scan the server has made."""
    return int(server.inspect.info("commandstats").get("cmdstat_scan", {}).get("calls", 0))


def fill(server: Server, locks: int = LOCKS, holder: str = owner()) -> None:
    with server.inspect.pipeline(transaction=False) as pipeline:
        for number in range(locks):
            pipeline.delete(f"lock:{number}").hset(f"lock:{number}", holder, 1).pexpire(
                f"lock:{number}", 600_000
            )
        pipeline.execute()


def test_fifty_streams_of_a_thousand_locks_cost_one_scan_per_second(
    inspector: Inspector, locks_server: Server
) -> None:
    fill(locks_server)
    before = scans(locks_server)
    assert len(inspector.get("/api/locks").json) == LOCKS
    steps_of_a_scan = scans(locks_server) - before
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(inspector.events()) for _ in range(STREAMS)]
        for stream in streams:
            seen = {stream.next()[1]["name"] for _ in range(LOCKS)}
            assert len(seen) == LOCKS
        before, watch = scans(locks_server), Stopwatch()
        for number in range(3):
            # No key is added, with which a scan could take more steps.
            locks_server.inspect.hset(f"lock:{number}", owner(), 2)
            for stream in streams:
                stream.until("lock", name=f"lock:{number}")
        allowed = (watch.seconds + 2) * (steps_of_a_scan + 1)
        assert scans(locks_server) - before <= allowed


def test_nothing_is_read_while_no_page_is_open(inspector: Inspector, locks_server: Server) -> None:
    with inspector.events():
        begun = scans(locks_server)
        eventually(lambda: scans(locks_server) > begun + 1, what="an open page is served")

    def at_rest() -> bool:
        before = scans(locks_server)
        with contextlib.suppress(AssertionError):
            stays(lambda: scans(locks_server) == before, during=2.5)
            return True
        return False

    eventually(at_rest, within=30, what="the scans stop")


def test_requests_at_the_same_time_share_a_scan(inspector: Inspector, locks_server: Server) -> None:
    fill(locks_server, 10)
    before = scans(locks_server)
    inspector.get("/api/locks")
    steps = scans(locks_server) - before
    locks_server.pause()
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(inspector.get, "/api/locks") for _ in range(20)]
        eventually(lambda: all(answer.running() for answer in answers))
        locks_server.resume()
        assert {answer.result().status for answer in answers} == {200}
    assert scans(locks_server) - before < 20 * steps


def test_a_reader_that_takes_nothing_does_not_hold_up_the_others(
    inspector: Inspector, locks_server: Server
) -> None:
    fill(locks_server)
    with inspector.open_stream(receive_buffer=4096), inspector.events() as events:
        for number in range(4):
            fill(locks_server, holder=owner(number + 2))
            events.until("lock", name=f"lock:{LOCKS - 1}", owners=[owner_json(number + 2)])
        assert inspector.get("/healthz").status == 200


def owner_json(number: int) -> dict[str, Any]:
    unsaid = ("client", "mode", "label", "purpose", "host", "pid", "since", "within", "renewed")
    return {
        "id": owner(number),
        "holds": 1,
        **dict.fromkeys(unsaid),
        "connection": "unknown",  # a connection without a name may be its
    }


@pytest.mark.parametrize(
    "count", [700, pytest.param(10_000, marks=pytest.mark.slow)], ids=["700", "10000"]
)
def test_connections_that_ask_nothing_do_not_keep_others_out(
    inspector: Inspector, count: int
) -> None:
    with contextlib.ExitStack() as stack, inspector.events() as events:
        for number in range(count):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", inspector.port), 30))
            idle.sendall(b"GET / HTTP/1.1\r\nHost: "[: number % 24])
        assert inspector.get("/healthz").status == 200
        assert inspector.get("/api/locks").status == 200
        assert not events.ended


def test_more_streams_than_there_is_room_for_are_refused(inspector: Inspector) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(256):
            stack.enter_context(contextlib.closing(inspector.open_stream()))

        def refused() -> bool:
            with contextlib.closing(inspector.open_stream()) as further:
                return further.recv(12).endswith(b" 503")

        eventually(refused, what="a further stream is refused")
        assert inspector.get("/api/locks").status == 200


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_pages_open(locks_server: Server, number: int, status: int) -> None:
    fill(locks_server)
    with (
        Inspector(locks_server.url) as inspector,
        inspector.open_stream(receive_buffer=4096),
        inspector.events() as events,
    ):
        events.next()
        assert inspector.end(number) == (status, "")
        eventually(lambda: events.ended)


def test_a_signal_ends_it_while_the_server_does_not_answer() -> None:
    with Server("redis") as server, Inspector(server.url) as inspector, inspector.events():
        server.pause()
        assert inspector.end() == (130, "")
        server.resume()


def test_a_port_that_is_taken_is_one_line_on_stderr() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AssertionError, match="it did not start") as failure:
            Inspector("redis://127.0.0.1:1", port=port)
    message = str(failure.value)
    assert f"cannot listen on 127.0.0.1:{port}" in message
    assert "Traceback" not in message


def test_a_slow_scan_says_how_old_the_page_is(inspector: Inspector, locks_server: Server) -> None:
    """Many keys that are no locks make a scan long: each one is reported, with its begin."""
    locks_server.inspect.execute_command("DEBUG", "POPULATE", "150000")
    fill(locks_server, 1)
    with inspector.events() as stream:
        status = [stream.until("server")["read_at"] for _ in range(2)]
    assert status[0] < status[1] <= time.time()
    assert inspector.get("/api/server").json["status"]["read_at"] >= status[1]
