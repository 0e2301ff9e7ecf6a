"""``python -m benchmarks.million``: a million held locks, beside a program that works.

One process takes ``--holds`` locks, in threads, and holds them for ``--minutes`` while its watchdog
renews them.  Another thread of it takes and releases one lock, with a rest after each pair: for a
minute before the million are there, and then beside them.  A third connection sends GET, as another
program would.  What is printed: the locks that were lost, the processor time of both processes, the
latencies, and how evenly the renewals came, by what the server counts in each tenth of a second.

A lost lock fails, as does a quarter of a processor of the client's.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import holdfast
from benchmarks.cases.renewed import cpu_seconds, resident_bytes
from benchmarks.server import Connection, Server

LEASE = 30.0
TAKERS = 8  # threads
REST = 0.002  # seconds after a pair, and after a GET
WINDOW = 0.1  # seconds
MOST_CPU = 0.25  # processors
RENEWING = ("pexpire", "pexpireat")


@dataclass
class Latencies:
    """How long an act takes that a thread repeats, in seconds."""

    act: object
    samples: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        assert callable(self.act)
        while not self._stop.wait(REST):
            begun = time.perf_counter()
            self.act()
            self.samples.append(time.perf_counter() - begun)

    def end(self) -> str:
        self._stop.set()
        self._thread.join()
        parts = statistics.quantiles(self.samples, n=1000)
        p50, p99, p999 = (1000 * parts[at] for at in (499, 989, 998))
        return (
            f"p50 {p50:.2f}, p99 {p99:.2f}, p99.9 {p999:.2f}, the longest "
            f"{1000 * max(self.samples):.1f} ms of {len(self.samples)}"
        )


class Beside:
    """What works beside the held locks: a thread's pairs, and another program's GET."""

    def __init__(self, client: holdfast.Client, port: int) -> None:
        lock = client.lock("the application's")
        self._connection = Connection(port)

        def pair() -> None:
            with lock:
                pass

        self._pairs = Latencies(pair)
        self._gets = Latencies(lambda: self._connection.call("GET", "another program's"))

    def end(self, when: str) -> None:
        print(f"{when}: a pair: {self._pairs.end()}")
        print(f"{when}: another program's GET: {self._gets.end()}", flush=True)
        self._connection.close()


class Windows:
    """The renewals of each window of time, as the server counts them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._counts: list[float] = []
        self._at, self._before = time.perf_counter(), server.calls(*RENEWING)
        self.all = 0

    def take(self) -> None:
        time.sleep(max(0.0, self._at + WINDOW - time.perf_counter()))
        now, count = time.perf_counter(), self._server.calls(*RENEWING)
        self._counts.append((count - self._before) / (now - self._at))
        self.all += count - self._before
        self._at, self._before = now, count

    def __str__(self) -> str:
        mean = statistics.mean(self._counts)
        return (
            f"{mean:.0f} renewals/s, in {WINDOW * 1000:.0f} ms at most "
            f"{max(self._counts) / mean:.2f} and at least {min(self._counts) / mean:.2f} times that"
        )


def native_cpu_seconds() -> float:
    """Of the native threads of this process, which renew."""
    spent = 0.0
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("holdfast-"):
            spent += int((task / "schedstat").read_text().split()[0]) / 1e9
    return spent


def take(client: holdfast.Client, holds: int) -> None:
    """The locks, by threads that stay: with their ends the renewals would end."""
    taken = threading.Barrier(TAKERS + 1)

    def work(taker: int) -> None:
        for number in range(taker, holds, TAKERS):
            client.lock(f"million:orders:{number:08}").acquire()
        taken.wait()
        threading.Event().wait()

    for taker in range(TAKERS):
        threading.Thread(target=work, args=(taker,), daemon=True).start()
    taken.wait()


def hold(client: holdfast.Client, server: Server, minutes: float) -> float:
    """Hold what was taken; the processors that the client's native threads used."""
    before, server_before = native_cpu_seconds(), cpu_seconds(server.pid)
    begun, windows = time.perf_counter(), Windows(server)
    beside = Beside(client, server.port)
    while time.perf_counter() - begun < 60 * minutes:
        windows.take()
    beside.end("beside the held locks")
    passed = time.perf_counter() - begun
    client_cpu = (native_cpu_seconds() - before) / passed
    server_cpu = (cpu_seconds(server.pid) - server_before) / passed
    print(f"{passed:.0f} s: {windows}")
    print(f"processors: client {client_cpu:.3f}, server {server_cpu:.3f}")
    print(
        f"a renewal: client {1e6 * client_cpu * passed / windows.all:.2f} us, "
        f"server {1e6 * server_cpu * passed / windows.all:.2f} us"
    )
    return client_cpu


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--holds", type=int, default=1_000_000, help="locks held at once")
    parser.add_argument("--minutes", type=float, default=10, help="for which they are held")
    parser.add_argument("--alone", type=float, default=20, help="seconds before the locks are held")
    parser.add_argument("--untracked", action="store_true", help="the server tracks no holds")
    parser.add_argument("--server", default="redis-server", help="the server's program")
    options = parser.parse_args()
    logging.getLogger("holdfast").addHandler(logging.NullHandler())
    with Server(options.server) as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        tracking = "off" if options.untracked else "auto"
        client = holdfast.Client(url, lease=LEASE, tracking=tracking)
        beside = Beside(client, server.port)
        time.sleep(options.alone)
        beside.end("before")
        resident, begun = resident_bytes(os.getpid()), time.perf_counter()
        take(client, options.holds)
        took = time.perf_counter() - begun
        grown = (resident_bytes(os.getpid()) - resident) / options.holds
        print(f"{options.holds} locks taken in {took:.0f} s; {grown:.0f} bytes each", flush=True)
        time.sleep(LEASE / 2)  # the first renewals are as far apart as the grants were
        processors = hold(client, server, options.minutes)
        stats = client.stats()
        there = int(str(server.connection.call("DBSIZE")))
        missing = options.holds - there
        print(f"lost: {stats.lost}, without a key on the server: {missing}", flush=True)
    # What is held is left to its lease: the end of a thread would say so of each lock.
    os._exit(1 if missing > 0 or stats.lost or processors > MOST_CPU else 0)


if __name__ == "__main__":
    main()
