"""Ports without a Redis server, as a wrong URL may name."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def impostor(answer: bytes | None, *, closes: bool = False) -> Iterator[int]:
    """Serve a port that gives `answer` to the first bytes it gets (None: never answers).

    It closes the connection after its answer if `closes`, else it keeps it open. Yields the port.
    """
    leaving = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if answer:
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

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
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
