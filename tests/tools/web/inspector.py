"""`holdfast inspect` in a separate process, and requests to it as they stand on the wire."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.waiting import BOUND

OPEN_BOUND = 60.0


def owner(number: int = 1) -> str:
    """An owner's id, as it stands in a lock's hash."""
    return f"5c0d4a6e-0000-4000-8000-000000000000:{number}"


@dataclass(frozen=True)
class Answer:
    """An answer, read to its end."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Inspector:
    """One run of the command; requests carry its cookie unless `cookie=False`."""

    def __init__(
        self, url: str, *options: str, port: int = 0, environment: Mapping[str, str] | None = None
    ) -> None:
        command = [sys.executable, "-m", "holdfast", "--url", url, "inspect", "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address, f"it did not start: {self.end()}"
        self.token = urlsplit(self.address).query.removeprefix("token=")
        self.port = urlsplit(self.address).port or 0
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self.cookie = self.exchange()

    def __enter__(self) -> Inspector:
        return self

    def __exit__(self, *error: object) -> None:
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Signal it and wait until it has ended: its status and what it wrote to stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=OPEN_BOUND)
        return self.process.returncode, errors

    def exchange(self) -> str:
        """Exchange the token for the cookie, as the page does."""
        answer = self.ask("GET", f"/?token={self.token}", cookie=False)
        assert answer.status == 200, answer
        return str(answer.headers["Set-Cookie"]).partition(";")[0]

    def ask(
        self,
        method: str,
        target: str,
        *,
        cookie: bool = True,
        host: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; the target goes out byte for byte."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=OPEN_BOUND)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", self.host if host is None else host)
            for name, value in {**(headers or {}), **self._cookie_header(cookie)}.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, target: str, **options: Any) -> Answer:
        return self.ask("GET", target, **options)

    def post(self, target: str, **options: Any) -> Answer:
        """A POST as the page sends it, with its origin."""
        return self.ask("POST", target, headers={"Origin": self.origin}, **options)

    def events(self, query: str = "") -> Events:
        """Open a stream of events: to be used with `with`."""
        return Events(self, query)

    def open_stream(self, receive_buffer: int | None = None, query: str = "") -> socket.socket:
        """A connection on which the stream of events was asked for, and nothing is read."""
        stream = socket.socket()
        if receive_buffer is not None:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        stream.settimeout(OPEN_BOUND)
        stream.connect(("127.0.0.1", self.port))
        head = f"Host: {self.host}\r\nCookie: {self.cookie}\r\n\r\n"
        stream.sendall(f"GET /api/events{query} HTTP/1.1\r\n{head}".encode())
        return stream

    def _cookie_header(self, wanted: bool) -> dict[str, str]:
        return {"Cookie": self.cookie} if wanted else {}


class Events:
    """The events of one stream, read by a thread."""

    def __init__(self, inspector: Inspector, query: str = "") -> None:
        self._socket = inspector.open_stream(query=query)
        self._response = http.client.HTTPResponse(self._socket)
        self._response.begin()
        self.status = self._response.status
        self.headers = self._response.headers
        self._queue: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(BOUND)
        self._socket.close()

    def next(self, within: float = OPEN_BOUND) -> tuple[str, Any]:
        """The next event: its type and its data."""
        event = self._queue.get(timeout=within)
        assert event is not None, "the stream has ended"
        return event

    def until(self, kind: str, **wanted: Any) -> Any:
        """The data of the next event of this type with these values; others are skipped."""
        while True:
            found, data = self.next()
            if found == kind and wanted.items() <= data.items():
                return data

    @property
    def ended(self) -> bool:
        """Whether the stream has ended; forgets the events that were not read."""
        while not self._queue.empty():
            if self._queue.get() is None:
                self._queue.put(None)
                return True
        return False

    def _read(self) -> None:
        for kind, data in _parse(self._response):
            self._queue.put((kind, json.loads(data)))
        self._queue.put(None)


def _parse(response: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    kind, data = "message", ""
    for line in _lines(response):
        field, _, value = line.partition(": ")
        if field == "event":
            kind = value
        elif field == "data":
            data += value
        elif not line and data:
            yield kind, data
            kind, data = "message", ""


def _lines(response: http.client.HTTPResponse) -> Iterator[str]:
    try:
        while line := response.readline():
            yield line.decode().rstrip("\r\n")
    except (OSError, http.client.HTTPException):
        return
