"""Java and Python workers, threads and processes, around a counter that is not atomic.

HOLDFAST_SOAK_SECONDS sets how long each soak takes (20 by default).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import Report
from tests.interop.java_objects import Answer
from tests.interop.java_peer import JavaPeer
from tests.interop.soak import PAUSE, read_write_soak, soak
from tests.interop.wire import LockKey, ReadWriteKey
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("HOLDFAST_SOAK_SECONDS", "20"))
PATIENCE = SECONDS + 30
"""Seconds for a worker to end: its last wait is over at the latest with a lease of 30 s."""

PYTHON_PROCESS = """
import redis
from tests.interop import soak
client = holdfast.Client(URL)
lock = getattr(client, CONSTRUCTOR)(NAME)
with redis.Redis(port=PORT) as store:
    client.ping()
    say("ready")
    hear("go")
    say("done", getattr(soak, SOAK)(lock, store, COUNTER, SECONDS))
client.close()
"""


@dataclass(frozen=True)
class Subject:
    """What the workers share, and how each language works on it."""

    constructor: str
    key: type[LockKey]
    python: Callable[[Any, Any, str, float], int]
    java: Callable[[JavaPeer, str, str, str], Future[Answer]]


LOCK = Subject(
    "lock",
    LockKey,
    soak,
    lambda peer, name, counter, thread: peer.lock(name, thread).begin_soak(
        counter, seconds=SECONDS, pause=PAUSE
    ),
)
READ_WRITE_LOCK = Subject(
    "read_write_lock",
    ReadWriteKey,
    read_write_soak,
    lambda peer, name, counter, thread: peer.read_write_soak(
        name, counter, thread, seconds=SECONDS, pause=PAUSE
    ),
)


@pytest.mark.slow
@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize("subject", [LOCK, READ_WRITE_LOCK], ids=["lock", "read_write_lock"])
def test_rounds_of_java_and_python_add_up(
    peer: JavaPeer,
    python: holdfast.Client,
    *,
    start_child: StartChild,
    redis_server: Server,
    name: str,
    subject: Subject,
    report: Report,
) -> None:
    key, counter = subject.key(redis_server, name), f"{name} counter"
    place = {"URL": redis_server.url, "PORT": redis_server.port, "NAME": name}
    work = {"CONSTRUCTOR": subject.constructor, "SOAK": subject.python.__name__}
    children = [
        start_child(PYTHON_PROCESS, **place, **work, COUNTER=counter, SECONDS=SECONDS)
        for _ in range(2)
    ]
    for child in children:
        child.expect("ready")
    with ThreadPoolExecutor(max_workers=2) as threads:
        for child in children:
            child.send("go")
        in_java = [subject.java(peer, name, counter, f"t{number}") for number in range(1, 5)]
        lock = getattr(python, subject.constructor)(name)
        in_threads = [
            threads.submit(subject.python, lock, redis_server.inspect, counter, SECONDS)
            for _ in range(2)
        ]
        of_java = [answer.result(PATIENCE).value for answer in in_java]
        of_python = [rounds.result(PATIENCE) for rounds in in_threads]
        of_python += [int(child.expect("done", PATIENCE)[0]) for child in children]
    report.line(f"rounds in {SECONDS:g} s: Java {of_java}, Python {of_python}")
    assert int(redis_server.inspect.get(counter) or 0) == sum(of_java) + sum(of_python)
    assert min(of_java) > 0
    assert min(of_python) > 0
    assert not key.exists()
    eventually(key.no_client_waits)
