"""``python -m benchmarks.elections``: how soon the next candidate leads, and an observer sees it.

From before the leader resigns, or is killed with a guard, or without one and a lease of a second.
A median above 10 ms, 50 ms, or the lease and 50 ms fails.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import holdfast
from benchmarks.server import Server

LEASE = 1.0
BOUND = 10.0
#: The way that a leader ends: the options of its client, and the most milliseconds in the median.
WAYS: dict[str, tuple[dict[str, object], float]] = {
    "resigns": ({}, 10.0),
    "killed with a guard": ({"guard": True}, 50.0),
    "killed without": ({"lease": LEASE}, LEASE * 1000 + 50.0),
}

LEADER = """
import sys
import holdfast
leader = holdfast.Client(sys.argv[1], **eval(sys.argv[2])).leader("it", value="first")
assert leader.campaign(timeout=60)
print("leads", flush=True)
sys.stdin.readline()
leader.resign()
"""


@contextmanager
def leading(url: str, options: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """A program that leads."""
    command = [sys.executable, "-c", LEADER, url, repr(options)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "leads\n"
        try:
            yield process
        finally:
            process.kill()


def end(process: subprocess.Popen[str], way: str) -> None:
    if way == "resigns":
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    else:
        os.kill(process.pid, signal.SIGKILL)


class Moment(threading.Thread):
    """Calls something on a thread, and notes when it has returned."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._at = 0.0
        self.start()

    def run(self) -> None:
        self._call()
        self._at = time.perf_counter()

    def at(self) -> float:
        self.join(BOUND)
        assert not self.is_alive(), f"it took more than {BOUND:g} s"
        return self._at


def see(observer: holdfast.Leader, value: str) -> None:
    """Watch until a leader has this value."""
    next(info for info in observer.watch() if info is not None and info.value == value)


def once(url: str, client: holdfast.Client, observer: holdfast.Leader, way: str) -> list[float]:
    """Milliseconds until the next candidate leads, and until the observer sees it."""
    candidate = client.leader("it", value="second")
    with leading(url, WAYS[way][0]) as process:
        elected = Moment(lambda: candidate.campaign(timeout=BOUND))
        seen = Moment(lambda: see(observer, "second"))
        time.sleep(0.1)  # both wait
        begun = time.perf_counter()
        end(process, way)
        took = [(moment.at() - begun) * 1000 for moment in (elected, seen)]
    candidate.resign()
    return took


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elections", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="elections of each way")
    times = parser.parse_args().times
    slow = []
    with Server() as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        with holdfast.Client(url) as client, holdfast.Client(url) as other:
            observer = other.leader("it")
            for way, (_, most) in WAYS.items():
                both = [once(url, client, observer, way) for _ in range(times)]
                elected, seen = (sorted(each) for each in zip(*both, strict=True))
                shown = [f"{statistics.median(each):.1f} ms" for each in (elected, seen)]
                print(
                    f"{way:20} {times:4} times: elected p50 {shown[0]}, longest "
                    f"{elected[-1]:.1f} ms; seen p50 {shown[1]}, longest {seen[-1]:.1f} ms"
                )
                slow += [way] if statistics.median(elected) > most else []
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
