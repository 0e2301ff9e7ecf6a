"""Rebuilds an index once for many triggers that come together: python debounce.py QUIET.

The first trigger waits for `QUIET` seconds and rebuilds. The others find that one waits, and leave:
what has changed before they came is in its index. A trigger that comes later waits again.
"""

from __future__ import annotations

import sys
import time

import holdfast


def main(quiet: float) -> None:
    with holdfast.Client() as client:
        gate = client.lock("index:waits")
        if not gate.acquire(blocking=False):
            print("another trigger covers this one")
            return
        with client.lock("index:runs"):  # the rebuild before this one ends first
            try:
                time.sleep(quiet)
            finally:
                gate.release()  # from here on a trigger has to wait again
            print("rebuilt")


if __name__ == "__main__":
    main(float(sys.argv[1]))
