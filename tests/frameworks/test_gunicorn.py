"""The guide's application in workers of gunicorn, forked from a master that has imported it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.frameworks.conftest import Program, Run, get
from tests.frameworks.test_guides import GUIDES, examples
from tests.support.servers import Server, free_port
from tests.support.waiting import BOUND, eventually

pytest.importorskip("gunicorn")
pytest.importorskip("gevent")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

WORKERS = ("sync", "gthread", "gevent")

#: What the guide leaves out: how the test sees and steers the work.
WORK = """
import os, threading, time
import redis

seen = redis.Redis.from_url(URL)
MASTER = (os.getpid(), client.id)


def work():
    at_once = seen.incr("running")
    seen.hset("workers", os.getpid(), client.id)
    seen.rpush("at once", at_once)
    seen.set("holder", os.getpid())
    while seen.exists("stay"):
        time.sleep(0.01)
    time.sleep(0.002)
    seen.decr("running")


def around(environ, start_response):
    if environ["PATH_INFO"] != "/alive":
        return application(environ, start_response)
    start_response("200 OK", [])
    return [str(threading.get_ident()).encode()]
"""

USED = """
with client.lock("report"):
    client.ping()
seen.set("master", client.id)
seen.close()
"""

Start = Callable[..., Program]


@pytest.fixture
def port() -> int:
    """The port of the application."""
    return free_port()


@pytest.fixture
def start(run: Run, server: Server, port: int, tmp_path: Path) -> Start:
    """Start gunicorn with the guide's application, which its master has used before it forks."""

    def start(kind: str, workers: int = 4, lease: str = "", used: str = USED) -> Program:
        url = server.url + lease
        program = "\n".join([*examples("gunicorn", url), f"URL = {server.url!r}", WORK, used])
        (tmp_path / "shop.py").write_text(program)
        threads = ["--threads", "8"] if kind == "gthread" else []
        master = run(
            "-m", "gunicorn", "--preload", "--workers", str(workers), "--worker-class", kind,
            *threads, "--bind", f"127.0.0.1:{port}", "--chdir", str(tmp_path), "shop:around",
        )  # fmt: skip
        eventually(lambda: alive(port) or master.process.poll() is not None, within=60)
        assert master.process.poll() is None, master.log
        return master

    return start


def alive(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/alive")[0] == 200
    except OSError:
        return False


def test_the_guide_s_commands_are_those_that_are_tested() -> None:
    text = (GUIDES / "gunicorn.md").read_text()
    commands = re.findall(r"^\$ (gunicorn .*)$", text, flags=re.MULTILINE)
    given = [set(re.findall(r"--[\w-]+|gevent", command)) for command in commands]
    assert given == [
        {"--preload", "--workers"},
        {"--preload", "--workers", "--threads"},
        {"--preload", "--workers", "--worker-class", "gevent"},
    ]


@pytest.mark.parametrize("used", [USED, ""], ids=["used-in-the-master", "made-in-the-master"])
@pytest.mark.parametrize("kind", WORKERS)
def test_one_request_works_at_a_time_in_workers_of_a_preloaded_application(
    kind: str, used: str, start: Start, port: int, server: Server
) -> None:
    redis = server.inspect
    master = start(kind, used=used)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(get, [f"http://127.0.0.1:{port}/"] * 120))
    assert answers.count((200, "done")) > 100, answers  # some may have waited for too long
    assert set(redis.lrange("at once", 0, -1)) == {b"1"}
    workers = redis.hgetall("workers")
    assert len(workers) > 1
    assert len({*workers.values(), redis.get("master")}) == len(workers) + 1  # no id is used twice
    assert str(master.process.pid).encode() not in workers
    eventually(lambda: not redis.exists("report"))


@pytest.mark.parametrize("kind", WORKERS)
def test_a_worker_that_is_killed_leaves_the_lock_to_its_lease(
    kind: str, start: Start, port: int, server: Server
) -> None:
    redis = server.inspect
    start(kind, workers=2, lease="?lease=3")
    redis.set("stay", 1)
    url = f"http://127.0.0.1:{port}/"
    with ThreadPoolExecutor(1) as pool:
        hangs = pool.submit(get, url)
        holder = int(eventually(lambda: redis.get("holder"), within=30))
        os.kill(holder, signal.SIGKILL)
        assert hangs.exception(BOUND) is not None
    redis.delete("stay", "running")
    assert redis.exists("report")
    eventually(lambda: not redis.exists("report"), within=30)
    assert get(url) == (200, "done")


@pytest.mark.parametrize("kind", ["gthread", "gevent"])
def test_a_request_that_waits_lets_others_of_its_worker_run(
    kind: str, start: Start, port: int, server: Server
) -> None:
    redis = server.inspect
    start(kind, workers=1)
    redis.hset("report", "another:1", 1)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(get, f"http://127.0.0.1:{port}/") for _ in range(3)]
        eventually(server.subscribed_channels, within=30)
        assert alive(port)
        assert not any(each.done() for each in waiting)
        redis.delete("report")
        redis.publish("redisson_lock__channel:{report}", 0)
        assert [each.result(BOUND) for each in waiting] == [(200, "done")] * 3
