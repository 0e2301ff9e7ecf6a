"""Leads while it holds a lock, and waits for its turn otherwise: python leader.py NAME SECONDS.

Start it on several machines: one of them leads. When it ends, is killed or loses its lock, the next
one takes over.
"""

from __future__ import annotations

import sys
import threading
import time

import holdfast

PAUSE = 1.0
"""Seconds until the next try after an error."""


def lead(name: str, seconds: float, lost: threading.Event) -> None:
    """The leader's work: ends after `seconds`, or at once when the lock is lost."""
    print(f"{name} leads", flush=True)
    if lost.wait(timeout=seconds):
        print(f"{name} is no longer the leader", flush=True)


def main(name: str, seconds: float) -> None:
    lost = threading.Event()
    with holdfast.Client(lease=10) as client:
        lock = client.fair_lock("leader", on_lost=lambda lock: lost.set())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            lost.clear()
            try:
                with lock:
                    lead(name, until - time.monotonic(), lost)
            except holdfast.HoldfastError as error:  # lost, or the server is away for now
                print(error, file=sys.stderr, flush=True)
                time.sleep(PAUSE)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
