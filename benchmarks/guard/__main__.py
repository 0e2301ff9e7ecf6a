"""``python -m benchmarks.guard --kills 1000``: the time from SIGKILL to the next owner's grant.

Programs with a guard are killed, one after the other: half of them while they hold the lock, half
while they acquire and release it without a pause. The next owner waits for it in this process.
Beside them live programs that hold locks: one idle, one that is stopped and continued, one with
children that come and go, one that has become another program by ``exec``. A lock of theirs that
is not theirs any more ends the run with 1, as do a median above 8 ms, a 99th percentile above 20,
and a guard with more than 1 MB of private memory while it waits, or 2 MB with TLS or at work.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import holdfast
from benchmarks.guard.memory import (
    MOST_KB,
    MOST_KB_WAITING,
    most_private_kb,
    private_kb,
    tls_server,
)
from benchmarks.server import Connection, Reply, Server

P50_MS, P99_MS = 8.0, 20.0
LIVING = ("holds", "stopped", "forks", "exec")
ROOT = Path(__file__).resolve().parents[2]


class Program:
    """A role of programs.py; killed at the end."""

    def __init__(self, role: str, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.guard.programs", role, url],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def expect(self, word: str) -> int:
        """The number behind `word` in its next line."""
        assert self.process.stdout is not None
        said, number = self.process.stdout.readline().split()
        assert said == word, said
        return int(number)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def kill_one(victims: Program, lock: holdfast.Lock, way: str, after: float) -> float:
    """Milliseconds from the kill of a program to the grant of its lock."""
    victims.say(way)
    victim = victims.expect("held")
    time.sleep(after)
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    assert lock.acquire(timeout=60.0), "the lock was not granted within 60 s"
    taken = (time.monotonic() - killed) * 1000
    lock.release()
    victims.expect("ended")
    return taken


def owners(connection: Connection) -> list[Reply]:
    """The owners of the living programs' locks."""
    return [connection.call("HKEYS", name) for name in LIVING]


def seconds_used(pid: int) -> float:
    """Processor time of a process."""
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def report_memory(url: str, what: str, waiting: int) -> bool:
    """Say how much memory the guard of a program has that is killed; whether that is as wanted."""
    program = Program("holds", url)
    guard = program.expect("held")
    waits = private_kb(guard)
    program.end()
    works = most_private_kb(guard)
    print(f"private memory of a guard{what}: {waits} KB while it waits, at most {works} KB later")
    return waits <= waiting and works <= MOST_KB


def start_living(url: str, stack: ExitStack) -> tuple[dict[str, Program], int]:
    """The programs that live on, and the guard of the idle one."""
    living: dict[str, Program] = {}
    guards: list[int] = []
    for name in LIVING:
        living[name] = Program(name, url)
        stack.callback(living[name].end)
        guards.append(living[name].expect("held"))
    return living, guards[0]


def report(taken: list[float], lost: int) -> bool:
    """Say how long it took; whether that is as wanted."""
    taken = sorted(taken)
    p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    print(f"{len(taken)} kills: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {taken[-1]:.1f} ms")
    print(f"locks of living programs that were freed: {lost}")
    return not lost and p50 <= P50_MS and p99 <= P99_MS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    kills = parser.parse_args().kills
    with ExitStack() as stack:
        server = stack.enter_context(Server())
        url = f"redis://127.0.0.1:{server.port}"
        small = report_memory(url, "", MOST_KB_WAITING)
        with tls_server() as with_tls:
            small &= report_memory(with_tls, " with TLS", MOST_KB)
        connection = Connection(server.port)
        stack.callback(connection.close)
        living, guard = start_living(url, stack)
        before = owners(connection)
        victims = Program("victims", url)
        stack.callback(victims.end)
        lock = stack.enter_context(holdfast.Client(url, lease=60.0)).lock("victim")
        taken, lost = [], 0
        for number in range(kills):
            halts = signal.SIGCONT if number % 2 else signal.SIGSTOP
            living["stopped"].process.send_signal(halts)
            way = "pairs" if number % 2 else "hold"
            taken.append(kill_one(victims, lock, way, number % 17 / 4000))
            lost += sum(now != then for now, then in zip(owners(connection), before, strict=True))
        print(f"a guard that waits: {seconds_used(guard):.2f} s of processor time")
        return 0 if report(taken, lost) and small else 1


if __name__ == "__main__":
    sys.exit(main())
