"""Ports without a Redis server, as a wrong URL may name, or with one that gives wrong replies."""

from __future__ import annotations

import re
import select
import socket
import socketserver
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO


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


GREETING = {b"HELLO", b"CLIENT", b"SELECT"}
"""Commands that a client sends besides those of its caller; all but questions about clients."""
QUESTIONS = ([b"INFO"], [b"LIST"], [b"ID"])
SERVER = b"%3\r\n+server\r\n+redis\r\n+version\r\n+7.0.15\r\n+role\r\n+master\r\n"


@dataclass
class Scripted:
    """A server that greets as Redis does, and gives the replies that it is given."""

    port: int = 0
    replies: deque[bytes] = field(default_factory=deque)
    """To the next commands that are no part of the greeting, over all connections."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def reply_to(self, words: list[bytes]) -> bytes:
        if words[0] == b"HELLO":
            return SERVER
        if words[0] in GREETING and words[1:] not in QUESTIONS:
            return b"+OK\r\n"
        return self.replies.popleft()


def _read_command(of: BinaryIO) -> list[bytes] | None:
    """The words of a command in RESP; None at the end of the connection."""
    head = of.readline()
    if not head:
        return None
    words = []
    for _ in range(int(head[1:])):
        size = int(of.readline()[1:])
        words.append(of.read(size + 2)[:-2])
    return words


@contextmanager
def scripted(
    server: Scripted | None = None, host: str = "127.0.0.1", port: int = 0
) -> Iterator[Scripted]:
    """Serve a port by a `Scripted`; 0: any port."""
    server = server or Scripted()
    connections: set[socket.socket] = set()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            connections.add(self.connection)
            with suppress(ConnectionError):
                while (words := _read_command(self.rfile)) is not None:
                    self.wfile.write(server.reply_to(words))

    with socketserver.ThreadingTCPServer((host, port), Handler) as listening:
        listening.daemon_threads = True
        server.port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            for one in connections:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            thread.join()
