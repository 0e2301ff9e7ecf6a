"""Servers that are far away: relays in a separate process, which keep what passes for a while.

``relay.py MS PORT…`` listens on a port for each, says them in one line, and relays until its stdin
ends.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType

CHUNK = 1 << 16


class Relay:
    """A relay to each of the ports, ``ms`` away in each direction; a context manager."""

    def __init__(self, ports: list[int], ms: float) -> None:
        argv = [sys.executable, __file__, str(ms), *map(str, ports)]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Relay:
        assert self._process.stdout is not None
        self.ports = [int(port) for port in self._process.stdout.readline().split()]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


def pass_on(source: socket.socket, target: socket.socket, seconds: float) -> None:
    """One direction; what comes while something is kept goes on right after it."""
    with suppress(OSError):  # whichever side ends it
        while data := source.recv(CHUNK):
            time.sleep(seconds)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def serve(listener: socket.socket, port: int, seconds: float) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for each in (near, far):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for way in ((near, far), (far, near)):
            threading.Thread(target=pass_on, args=(*way, seconds), daemon=True).start()


def main() -> None:
    seconds, ports = float(sys.argv[1]) / 1e3, [int(word) for word in sys.argv[2:]]
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in ports]
    for listener, port in zip(listeners, ports, strict=True):
        threading.Thread(target=serve, args=(listener, port, seconds), daemon=True).start()
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
