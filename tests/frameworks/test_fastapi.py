"""A FastAPI application in four worker processes of uvicorn."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

import holdfast
from tests.frameworks.conftest import Run, get
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]


FREED = 15
"""Seconds within which a release is seen: fewer than a lock that is forgotten lives."""


@pytest.fixture
def port(run: Run, server: Server) -> int:
    """The port of the application."""
    port = free_port()
    start(run, port, server.url, workers=4)
    return port


def start(
    run: Run,
    port: int,
    url: str,
    workers: int = 1,
    application: str = "tests.frameworks.orders:app",
) -> None:
    program = run(
        "-m", "uvicorn", application, "--port", str(port),
        "--workers", str(workers), HOLDFAST_URL=url,
    )  # fmt: skip
    eventually(lambda: answers(port) or program.process.poll() is not None, within=60)
    assert program.process.poll() is None, program.log


@pytest.fixture
def another(server: Server) -> Iterator[holdfast.Client]:
    """Another client of the server."""
    with holdfast.Client(server.url) as client:
        yield client


def nothing_held(server: Server) -> bool:
    """Whether the keys of clients are the only ones."""
    left = server.keys()
    return all(key.startswith(b"holdfast:client:") for key in left)


def answers(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/pid")[0] == 200
    except OSError:
        return False


def post(url: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60) as answer:
        return int(answer.read())


def hang_up(port: int, path: str) -> socket.socket:
    """Ask for something, as a client that will not wait for the answer."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return connection


def test_requests_to_all_workers_change_one_thing_after_the_other(
    port: int, tmp_path: Path, server: Server
) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    url = f"http://127.0.0.1:{port}/orders/7?path={counter}"
    with ThreadPoolExecutor(16) as pool:
        numbers = list(pool.map(post, [url] * 80))
    assert sorted(numbers) == list(range(1, 81))
    eventually(lambda: nothing_held(server))


def test_a_client_that_hangs_up_does_not_end_the_request_that_holds(
    port: int, server: Server
) -> None:
    name = "slow:7:plain"
    connection = hang_up(port, "/slow/7")
    eventually(lambda: server.inspect.exists("began:7"))
    connection.close()
    busy = hang_up(port, "/slow/7")  # waits for the lock
    busy.close()
    assert server.inspect.exists(name)
    assert not server.inspect.exists("ended:7")
    server.inspect.set("go:7", 1)
    eventually(lambda: server.inspect.get("ended:7") == b"1")
    eventually(lambda: not server.inspect.exists(name), within=FREED)
    assert int(server.inspect.get("began:7")) > 0  # the token of the fenced lock


def test_the_lock_is_held_until_the_response_has_been_sent(
    port: int, server: Server, another: holdfast.Client
) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stream/7", timeout=60) as answer:
        assert answer.readline() == b"first\n"
        [holder] = another.lock("stream:7").holders()
        assert holder.purpose == "GET /stream/{order_id}"
        server.inspect.set("go:7", 1)
        assert answer.read() == b"second\n"
    eventually(lambda: not server.inspect.exists("stream:7"))


def test_a_client_that_leaves_a_stream_frees_the_lock(port: int, server: Server) -> None:
    connection = hang_up(port, "/stream/8")
    assert connection.recv(1)
    assert server.inspect.exists("stream:8")
    connection.close()
    server.inspect.set("go:8", 1)
    eventually(lambda: not server.inspect.exists("stream:8"))


def test_a_busy_lock_is_423_and_says_when_to_come_again(port: int, server: Server) -> None:
    connection = hang_up(port, "/slow/9")
    eventually(lambda: server.inspect.exists("began:9"))
    with pytest.raises(HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/slow/9?kind=plain", timeout=60)
    server.inspect.set("go:9", 1)
    connection.close()
    with caught.value as answer:
        assert answer.code == 423
        assert 1 <= int(answer.headers["Retry-After"]) <= 30
        assert "slow:9:plain" in answer.read().decode()


def test_parameters_of_routers_and_dependencies_are_in_the_name(port: int) -> None:
    status, text = get(f"http://127.0.0.1:{port}/v1/tenants/acme")
    assert (status, text) == (200, '["tenant:acme:1"]')
    assert get(f"http://127.0.0.1:{port}/v1/tenants/acme?page=2")[1] == '["tenant:acme:2"]'
    assert get(f"http://127.0.0.1:{port}/v1/tenants/acme?page=x")[0] == 422
    status, text = get(f"http://127.0.0.1:{port}/parts/7?part=a&part=b")
    assert (status, text) == (200, "\"parts:7:['a', 'b']\"")
    assert get(f"http://127.0.0.1:{port}/parts/-7?part=a")[0] == 422


@pytest.mark.parametrize("application", ["app", "alone"])
def test_a_function_of_several_routes_locks_by_the_parameters_of_each(
    application: str, run: Run, server: Server
) -> None:
    port = free_port()
    start(run, port, server.url, application=f"tests.frameworks.orders:{application}")
    expected = {"/shown/7": "none:7", "/shown": "none:3", "/shown?order_id=8": "none:8"}
    if application == "app":
        expected |= {"/of/acme/shown/7": "acme:7", "/of/acme/shown?order_id=8": "acme:8"}
    for path, name in [*expected.items(), *reversed(expected.items())]:
        assert get(f"http://127.0.0.1:{port}{path}") == (200, f'["shown:{name}"]'), path
    assert get(f"http://127.0.0.1:{port}/shown?tenant=acme")[1] == '["shown:acme:3"]'


def test_a_name_that_the_request_leaves_empty_is_422(port: int) -> None:
    status, text = get(f"http://127.0.0.1:{port}/any?name=")
    assert status == 422
    assert json.loads(text)["detail"][0]["msg"] == "the lock's name must not be empty"
    with pytest.raises(InvalidStatus) as caught, connect(f"ws://127.0.0.1:{port}/any?name="):
        pass
    assert caught.value.response.status_code == 403
    assert get(f"http://127.0.0.1:{port}/any?name=x") == (200, '"x"')


def test_an_error_of_the_function_frees_the_lock(port: int, server: Server) -> None:
    assert get(f"http://127.0.0.1:{port}/failing/7?how=refuse") == (409, '{"detail":"no"}')
    eventually(lambda: not server.inspect.exists("failing:7"))
    assert get(f"http://127.0.0.1:{port}/failing/7?how=raise")[0] == 500
    eventually(lambda: not server.inspect.exists("failing:7"))


@pytest.mark.parametrize("kind", ["lock", "fair_lock", "fenced_lock", "read", "write"])
def test_each_kind_holds_and_excludes(
    kind: str, port: int, server: Server, another: holdfast.Client
) -> None:
    """`read` is shared with other requests, and excludes the write lock."""
    url = f"http://127.0.0.1:{port}/kinds/{kind}/7"
    assert get(url) == (200, f'["{kind}:7"]')
    rival: Any = another.lock(f"{kind}:7", wait=FREED)
    if kind in {"read", "write"}:
        rival = another.read_write_lock(f"{kind}:7", wait=FREED).write
    with rival:
        assert get(url)[0] == 423
    assert get(url)[0] == 200


def test_of_a_throttle_as_many_requests_run_as_it_has_permits(
    port: int, server: Server, another: holdfast.Client
) -> None:
    url = f"http://127.0.0.1:{port}/throttled/7"
    assert get(url)[0] == 200
    throttle = another.permit_semaphore("throttle:7")
    eventually(lambda: throttle.available_permits() == 2)
    both = throttle.acquire_many(2)
    assert both is not None
    status, text = get(url)
    assert status == 423
    assert "'throttle:7' has no free permit" in text
    throttle.release_many(both)
    server.inspect.flushall()
    assert get(url)[0] == 200
    eventually(lambda: throttle.available_permits() == 2)


def test_without_a_wait_a_permit_is_tried_once(
    run: Run, server: Server, another: holdfast.Client
) -> None:
    port = free_port()
    start(run, port, server.url)
    url = f"http://127.0.0.1:{port}/tried/7"
    assert get(url)[0] == 200
    throttle = another.permit_semaphore("throttle:7")
    eventually(lambda: throttle.available_permits() == 2)
    both = throttle.acquire_many(2)
    assert both is not None
    before = scripts_run(server)
    assert get(url)[0] == 423
    assert scripts_run(server) - before == 1
    throttle.release_many(both)


def scripts_run(server: Server) -> int:
    return int(server.inspect.info("commandstats")["cmdstat_evalsha"]["calls"])


def test_a_client_that_hangs_up_ends_no_request_behind_a_middleware(
    run: Run, server: Server
) -> None:
    port = free_port()
    start(run, port, server.url, application="tests.frameworks.orders:wrapped")
    connection = hang_up(port, "/slow/7")
    eventually(lambda: server.inspect.exists("began:7"))
    connection.close()
    assert get(f"http://127.0.0.1:{port}/pid")[0] == 200
    assert server.inspect.exists("slow:7:plain")
    server.inspect.set("go:7", 1)
    eventually(lambda: server.inspect.get("ended:7") == b"1")
    eventually(lambda: not server.inspect.exists("slow:7:plain"), within=FREED)


def test_the_client_of_the_application_lives_as_long_as_it(server: Server) -> None:
    from fastapi import FastAPI

    from holdfast.contrib.fastapi import lifespan

    app = FastAPI()

    async def life() -> None:
        async with lifespan(server.url, client_name="shop")(app):
            assert await app.state.holdfast.ping()
            names = [each["name"] for each in server.inspect.client_list()]
            assert any(name.startswith("shop:") for name in names)
        with pytest.raises(holdfast.ConnectionError, match="closed"):
            await app.state.holdfast.ping()

    asyncio.run(life())


def test_the_client_is_a_dependency(port: int) -> None:
    from fastapi import FastAPI
    from starlette.requests import HTTPConnection

    from holdfast.contrib.fastapi import get_client

    assert get(f"http://127.0.0.1:{port}/client") == (200, "true")
    without = HTTPConnection({"type": "http", "app": FastAPI()})
    with pytest.raises(RuntimeError, match=r"lifespan=holdfast\.contrib\.fastapi"):
        asyncio.run(get_client(without))


def test_background_tasks_prolong_the_hold_only_when_asked(port: int, server: Server) -> None:
    assert get(f"http://127.0.0.1:{port}/background/short/7") == (200, '"done"')
    eventually(lambda: server.inspect.exists("began:7"))
    eventually(lambda: not server.inspect.exists("background:7"))
    assert get(f"http://127.0.0.1:{port}/background/long/8") == (200, '"done"')
    eventually(lambda: server.inspect.exists("began:8"))
    assert server.inspect.exists("background:8")
    server.inspect.set("go:7", 1)
    server.inspect.set("go:8", 1)
    eventually(lambda: not server.inspect.exists("background:8"))


def test_two_dependencies_on_one_name_are_one_hold(port: int, server: Server) -> None:
    assert get(f"http://127.0.0.1:{port}/twice/7") == (200, "true")
    eventually(lambda: nothing_held(server))


def test_a_lost_hold_cancels_the_function_that_asks_for_it(port: int, server: Server) -> None:
    status, text = get(f"http://127.0.0.1:{port}/losing/7")
    assert status == 503
    assert "'losing:7' was lost" in text
    assert server.inspect.exists("began:7")


def test_a_mounted_application_has_the_client_of_the_whole(port: int) -> None:
    assert get(f"http://127.0.0.1:{port}/inner/7") == (200, '["inner:7"]')


def test_a_websocket_holds_the_lock_for_the_time_of_its_connection(
    port: int, server: Server
) -> None:
    url = f"ws://127.0.0.1:{port}/socket/7"
    with connect(url) as websocket:
        assert server.inspect.exists("socket:7")
        with pytest.raises(InvalidStatus) as refused:
            connect(url)
        websocket.send("echo")
        assert websocket.recv() == "echo"
    assert refused.value.response.status_code == 403
    eventually(lambda: nothing_held(server))


def test_without_a_server_the_answer_is_503(run: Run, start_server: Any) -> None:
    server = start_server()
    port = free_port()
    start(run, port, server.url)
    assert get(f"http://127.0.0.1:{port}/impatient/7") == (200, '"done"')
    server.stop()
    assert get(f"http://127.0.0.1:{port}/impatient/7")[0] == 503


@pytest.mark.parametrize("refusal", ["for-the-moment", "for-good"])
def test_a_server_that_refuses_is_503(refusal: str, run: Run, private_server: Server) -> None:
    port = free_port()
    start(run, port, private_server.url)
    if refusal == "for-the-moment":
        private_server.inspect.config_set("min-replicas-to-write", 1)
    else:
        private_server.inspect.set("order:7", "no lock")
    status, text = get(f"http://127.0.0.1:{port}/impatient/7")
    assert status == 503
    assert "'order:7'" in text
    assert "held by another" not in text


def test_an_application_with_an_unknown_field_does_not_start(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        """
from fastapi import Depends, FastAPI
from holdfast.contrib.fastapi import Locked, lifespan
app = FastAPI(lifespan=lifespan())
@app.get("/{order_id}", dependencies=[Depends(Locked("order:{order}"))])
def view(order_id: int): ...
"""
    )
    program = run("-m", "uvicorn", "wrong:app", "--port", "0", "--app-dir", str(tmp_path))
    assert program.process.wait(60) != 0
    assert "field 'order' of the template 'order:{order}'" in program.log
