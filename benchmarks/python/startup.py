"""From the start of a process to its first lock held and released: ``startup.py PORT CONTENDER``.

Prints the moment on CLOCK_MONOTONIC in ns, and the most memory the process ever had in KB.  It
imports nothing but what the contender needs; any other contender is the bare interpreter.
"""

import sys
import time


def first_lock(port: str, contender: str) -> int:
    if contender == "holdfast":
        import holdfast

        client = holdfast.Client(f"redis://127.0.0.1:{port}/0")
        with client.lock("startup"):
            pass
    elif contender == "redis-py":
        import redis

        server = redis.Redis(port=int(port))
        with server.lock("startup", timeout=30):
            pass
    return time.monotonic_ns()


print(first_lock(sys.argv[1], sys.argv[2]))
with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 - imports no more
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
