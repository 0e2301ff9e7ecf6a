"""``python -m benchmarks.labels``: what labels cost.

``pairs``: an uncontended pair with a purpose beside one without, and one of a client with a label,
in turns of some hundred, so that what else the machine does falls on all alike; the ratio is the
median of those of the turns.  ``holds``: what the watchdogs' second costs where 100 clients have
1,000 holds each: the processor time of server and clients while the holds become old enough, and
while nothing new does, and the commands.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast
from benchmarks.server import Server

TURNS = 200
PAIRS = 200
CLIENTS = 100
HOLDS = 1000
#: What the watchdog waits before it notes a hold, and how often: cpp/locks/lease/note_book.h.
LASTS, PERIOD = 1.0, 1.0


def timed(pair: Callable[[], None]) -> float:
    """How many us one of some pairs takes."""
    begun = time.perf_counter()
    for _ in range(PAIRS):
        pair()
    return (time.perf_counter() - begun) / PAIRS * 1e6


def pair_of(lock: Any) -> Callable[[], None]:
    acquire, release = lock.acquire, lock.release

    def pair() -> None:
        acquire()
        release()

    return pair


def pairs(url: str, turns: int) -> None:
    plain = pair_of(holdfast.Client(url).lock("labels"))
    others = {
        "client's label": pair_of(holdfast.Client(url, label="a worker").lock("labels")),
        "purpose": pair_of(holdfast.Client(url).lock("labels", label="nightly run")),
    }
    ratios: dict[str, list[float]] = {what: [] for what in others}
    figures: dict[str, list[float]] = {what: [] for what in ("plain", *others)}
    for _ in range(turns):
        alone = timed(plain)
        figures["plain"].append(alone)
        for what, pair in others.items():
            found = timed(pair)
            figures[what].append(found)
            ratios[what].append(found / alone)
    for what, found_all in figures.items():
        ratio = statistics.median(ratios[what]) if what in ratios else 1.0
        print(f"{what:16} {statistics.median(found_all):6.1f} us  {ratio:.3f}")


def processor_time(pid: int) -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def holds(url: str, server: Server, *, label: bool) -> None:
    """Each client takes its holds; then they become old enough, and then nothing happens."""
    options: dict[str, Any] = {"label": "a worker"} if label else {}
    clients = [holdfast.Client(url, lease=600, **options) for _ in range(CLIENTS)]
    pid = server.pid
    for number, client in enumerate(clients):
        for place in range(HOLDS):
            client.lock(f"labels:{number}:{place}").acquire()
    for what in ("become old", "stay"):
        used, mine = processor_time(pid), time.process_time()
        sent = sum(client.stats().commands for client in clients)
        time.sleep(4 * PERIOD)
        used, mine = processor_time(pid) - used, time.process_time() - mine
        sent = sum(client.stats().commands for client in clients) - sent
        print(
            f"{'label' if label else 'none':6} {what:11} server {used * 1e3:6.0f} ms  "
            f"clients {mine * 1e3:6.0f} ms  {sent} commands"
        )
    for client in clients:
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__)
    parser.add_argument("what", nargs="*", choices=["pairs", "holds"], default=["pairs", "holds"])
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    with Server() as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        if "pairs" in options.what:
            pairs(url, options.turns)
        if "holds" in options.what:
            for label in (False, True):
                holds(url, server, label=label)


if __name__ == "__main__":
    main()
