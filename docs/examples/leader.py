"""Leads if it is elected, and waits for its turn otherwise: python leader.py NAME SECONDS.

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


def main(name: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    lost = threading.Event()

    def lead(leader: holdfast.Leader) -> None:
        """The leader's work: ends after `seconds`, or at once when the leadership is lost."""
        lost.clear()
        print(f"{name} leads", flush=True)
        if leader.leading and lost.wait(timeout=max(0.0, until - time.monotonic())):
            print(f"{name} is no longer the leader", flush=True)

    with holdfast.Client(lease=10) as client:
        leader = client.leader("leader", value=name, on_lost=lambda leader: lost.set())
        while time.monotonic() < until:
            try:
                leader.run(lead)
            except holdfast.HoldfastError as error:  # the server is away for now
                print(error, file=sys.stderr, flush=True)
                time.sleep(PAUSE)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
