"""Starts a worker by multiprocessing, as a program that uses it does.

    python -m tests.torture.pool forkserver '{"name": "2.0", "urls": [...], ...}'

It says the worker's process id, stays until that ends, and ends with its code. The worker's input
is this one's. A process that the server of `forkserver` forks has the clients of `preload`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from tests.torture import worker

PRELOAD = "HOLDFAST_TORTURE_PRELOAD"
"""The environment variable that has the order for `preload`."""


def start(method: str, order: str) -> int:
    """Run the worker until it ends."""
    os.environ[PRELOAD] = order
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["tests.torture.preload"])
    end, request = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(order, end))
    process.start()
    end.close()
    print(process.pid, flush=True)
    threading.Thread(target=_close_at_end_of_input, args=(request,), daemon=True).start()
    process.join()
    return abs(int(process.exitcode))


def _close_at_end_of_input(request: Connection) -> None:
    sys.stdin.read()
    request.close()


def work(order: str, end: Connection) -> None:
    """The worker's process."""
    preloaded = sys.modules.get("tests.torture.preload")
    clients = preloaded.CLIENTS if preloaded else None
    worker.run(worker.Order(**json.loads(order)), end.fileno(), clients)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1], sys.argv[2]))
