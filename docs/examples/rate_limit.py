"""Calls a service at most five times a second over all processes: python rate_limit.py CALLS.

A released lock stays taken until `at_least` seconds after its grant: no two calls, of any process,
begin closer together.
"""

from __future__ import annotations

import sys
import time

import holdfast

PAUSE = 0.2
"""Seconds from one call to the next."""


def main(calls: int) -> None:
    with holdfast.Client() as client:
        turn = client.lock("geocoder", at_least=PAUSE)
        for number in range(calls):
            with turn:
                print(f"call {number} at {time.monotonic():.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
