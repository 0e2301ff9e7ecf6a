"""Applications on a run of trio: FastAPI under hypercorn, and a plain program of anyio."""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.frameworks.conftest import Program, Run, get
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually

pytest.importorskip("hypercorn")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from tests.frameworks.test_fastapi import answers, post

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

SHORT = "?lease=1"
"""Of a client whose holds end soon after it was killed."""


def start(run: Run, url: str, worker: str = "trio") -> tuple[int, Program]:
    port = free_port()
    program = run(
        "-m", "hypercorn", "-k", worker, "-b", f"127.0.0.1:{port}", "tests.frameworks.orders:app",
        HOLDFAST_URL=url,
    )  # fmt: skip
    eventually(lambda: answers(port) or program.process.poll() is not None, within=60)
    assert program.process.poll() is None, program.log
    return port, program


@pytest.mark.parametrize("worker", ["asyncio", "trio"])
def test_requests_exclude_each_other_and_a_loss_is_503(
    run: Run, tmp_path: Path, server: Server, worker: str
) -> None:
    port, _ = start(run, server.url, worker)
    counter = tmp_path / "counter"
    counter.write_text("0")
    url = f"http://127.0.0.1:{port}/orders/7?path={counter}"
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(post, [url] * 40))
    assert sorted(numbers) == list(range(1, 41))
    status, text = get(f"http://127.0.0.1:{port}/losing/7")
    assert (status, "'losing:7' was lost" in text) == (503, True)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stream/7", timeout=60) as answer:
        assert answer.readline() == b"first\n"
        server.inspect.set("go:7", 1)
        assert answer.read() == b"second\n"
    eventually(lambda: not server.inspect.exists("stream:7", "losing:7", "order:7"))


def test_what_a_killed_application_held_is_free_after_its_lease(run: Run, server: Server) -> None:
    port, program = start(run, server.url + SHORT)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stream/7", timeout=60) as answer:
        assert answer.readline() == b"first\n"
        program.process.kill()
        eventually(lambda: not server.inspect.exists("stream:7"))
