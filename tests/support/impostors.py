"""Ports without a Redis server, as a wrong URL may name."""

from __future__ import annotations

import re
import select
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def impostor(
    answer: bytes | None,
    *,
    closes: bool = False,
    unasked: bool = False,
    connections: list[float] | None = None,
) -> Iterator[int]:
    """Serve a port that gives `answer` to the first bytes it gets (None: never answers).

    It closes the connection after its answer if `closes`, else it keeps it open. `unasked`: it
    answers before it gets anything. The times of connections are appended to `connections`. Yields
    the port.
    """
    leaving = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if connections is not None:
                connections.append(time.monotonic())
            if answer:
                if not unasked:
                    self.request.recv(65536)
                self.request.sendall(answer)
            if not closes:
                self.stay()

        def stay(self) -> None:
            """Keep the connection until the other side ends it."""
            with suppress(ConnectionResetError):
                while not leaving.is_set():
                    if self.readable() and not self.request.recv(65536):
                        return

        def readable(self) -> bool:
            return bool(select.select([self.request], [], [], 0.01)[0])

    with _serving(Handler, leaving) as port:
        yield port


COMMAND = re.compile(rb"(?:^|\r\n)\*\d+\r\n")


@contextmanager
def parrot(reply: bytes, connections: list[float]) -> Iterator[int]:
    """Serve a port that gives `reply` to each command; otherwise as `impostor`."""
    leaving = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connections.append(time.monotonic())
            with suppress(ConnectionResetError, BrokenPipeError):
                while not leaving.is_set() and (got := self.request.recv(65536)):
                    self.request.sendall(reply * len(COMMAND.findall(got)))

    with _serving(Handler, leaving) as port:
        yield port


@contextmanager
def _serving(
    handler: type[socketserver.BaseRequestHandler], leaving: threading.Event
) -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            leaving.set()
            server.shutdown()
            thread.join()


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses every connection; no server of another test can take it meanwhile."""
    with socket.socket() as bound:  # and never listening
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
