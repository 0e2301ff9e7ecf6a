"""Java and Python workers, threads and processes, on one lock around a counter that is not atomic.

HOLDFAST_SOAK_SECONDS sets how long (8 by default).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import holdfast
from tests.interop.conftest import Report
from tests.interop.java_peer import JavaPeer
from tests.interop.soak import PAUSE, soak
from tests.interop.wire import LockKey
from tests.support.processes import StartChild
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("HOLDFAST_SOAK_SECONDS", "8"))
PATIENCE = SECONDS + 30
"""Seconds for a worker to end: its last wait is over at the latest with a lease of 30 s."""

PYTHON_PROCESS = """
import redis
from tests.interop.soak import soak
client = holdfast.Client(URL)
with redis.Redis(port=PORT) as store:
    client.ping()
    say("ready")
    hear("go")
    say("done", soak(client.lock(NAME), store, COUNTER, SECONDS))
client.close()
"""


@pytest.mark.slow
@pytest.mark.timeout(2 * PATIENCE)
def test_rounds_of_java_and_python_add_up(
    peer: JavaPeer,
    python: holdfast.Client,
    start_child: StartChild,
    key: LockKey,
    report: Report,
) -> None:
    counter = f"{key.name} counter"
    place = {"URL": key.server.url, "PORT": key.server.port, "NAME": key.name}
    children = [
        start_child(PYTHON_PROCESS, **place, COUNTER=counter, SECONDS=SECONDS) for _ in range(2)
    ]
    for child in children:
        child.expect("ready")
    with ThreadPoolExecutor(max_workers=2) as threads:
        for child in children:
            child.send("go")
        in_java = [
            peer.lock(key.name, f"t{number}").begin_soak(counter, seconds=SECONDS, pause=PAUSE)
            for number in range(1, 5)
        ]
        in_threads = [
            threads.submit(soak, python.lock(key.name), key.server.inspect, counter, SECONDS)
            for _ in range(2)
        ]
        of_java = [answer.result(PATIENCE).value for answer in in_java]
        of_python = [rounds.result(PATIENCE) for rounds in in_threads]
        of_python += [int(child.expect("done", PATIENCE)[0]) for child in children]
    report.line(f"rounds in {SECONDS:g} s: Java {of_java}, Python {of_python}")
    assert int(key.server.inspect.get(counter) or 0) == sum(of_java) + sum(of_python)
    assert min(of_java) > 0
    assert min(of_python) > 0
    assert key.holds() == {}
    eventually(key.nobody_waits)
