"""The speed of locks on a deployment, from here, beside a lower bound for any client.

The floors are measured on bare sockets, by inline commands. A second process waits for the first:
both read the machine's monotonic clock, so a moment of one can be compared with one of the other.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast import Client, ConnectionError, HoldfastError, ServerError, servers

from .sockets import connect_to

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = ["Result", "bench", "serve"]

BATCH: Final = 250
RATE: Final = BATCH * 1000  # commands per second in a batch that takes 1 ms
LEASE: Final = 30.0
SUBSCRIPTION: Final = 1.0  # seconds that a waiter may take to subscribe
PING: Final = b"PING\r\n"
#: Before the error of the second process, in the place of a moment.
FAILED: Final = "failed: "


@dataclass(frozen=True)
class Result:
    """A value beside its floor: the least it can be (of a rate: the most)."""

    value: float
    unit: str
    floor: float
    #: The value as a multiple of the floor: of a time 1 at least, of a rate 1 at most.
    ratio: float


def bench(client: Client, url: str | None, seconds: float) -> Iterator[tuple[str, Result]]:
    """The results by name, one after the other, in about ``seconds`` altogether.

    ``url``: of the client, for a second process. A random name is locked and released. Raises
    ``ConnectionError`` or ``ServerError``.
    """
    share = seconds / 8  # four measurements, each with its floor
    name = f"holdfast-bench:{secrets.token_hex(4)}"
    client.ping()
    bare, listener = _Bare(client, url), _Bare(client, url)
    with bare.stream, listener.stream:
        trip = min(_times(lambda: bare.call(PING), share))
        yield "round_trip", _result(median(_times(client.ping, share)), trip, "ms")
        pair = client.lock(name, lease=LEASE)(lambda: None)
        yield "pair", _result(median(_times(pair, share * 2)), 2 * trip, "ms")
        listener.call(b"SUBSCRIBE %s\r\n" % name.encode(), 6)
        publish = b"PUBLISH %s 0\r\n" % name.encode()
        passed = min(_times(lambda: bare.call(publish) + listener.call(b"", 7), share))
        yield "wake_up", _result(_wake_up(client, url, name, share), passed, "ms")
        pings = _times(lambda: bare.call(PING * BATCH, BATCH), share)
        renewals = _renewals(client, name, share)
        yield "renewals", _result(RATE / median(renewals), RATE / median(pings), "1/s")


def _result(value: float, floor: float, unit: str) -> Result:
    """The ratio with three significant digits, so that it is never 0."""
    digits, ratio = 4 if unit == "ms" else None, float(f"{value / floor:.3g}")
    return Result(round(value, digits), unit, round(floor, digits), ratio)


def _times(call: Callable[[], object], seconds: float) -> list[float]:
    """The durations in ms of the calls that fit into the time; one at least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return times


def _renewals(client: Client, name: str, seconds: float) -> list[float]:
    """How long batches of renewals take, sent as the watchdog's script."""
    deployment = servers.of(client)
    text = servers.script_text("lock/renew") or b""
    key = deployment.prefix + name.encode()
    with client.lock(name, lease=LEASE):
        [owners] = deployment.ask(key, [(b"HGETALL", key)])
        rest = (b"1", key, b"%d" % int(LEASE * 1000), owners[0])
        digest = hashlib.sha1(text).hexdigest().encode()
        commands = [(b"EVAL", text, *rest), *[(b"EVALSHA", digest, *rest)] * BATCH]
        for reply in deployment.ask(key, commands):
            if isinstance(reply, Exception):
                raise reply
        return _times(lambda: deployment.ask(key, commands[1:]), seconds)


def _wake_up(client: Client, url: str | None, name: str, seconds: float) -> float:
    """The time from a release here to the grant in the second process: the median."""
    deployment = servers.of(client)
    channel = servers.key_beside("lock_channel", deployment.prefix + name.encode())
    times: list[float] = []
    with _waiter(url, name) as hear:
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            with client.lock(name, lease=LEASE):
                hear()  # it begins to acquire
                until = time.monotonic() + SUBSCRIPTION
                while time.monotonic() < until:
                    if deployment.subscribers(deployment.primaries(), [channel])[channel]:
                        break
                released = time.monotonic()
            times.append(hear() - released)
    return median(times) * 1000


@contextmanager
def _waiter(url: str | None, name: str) -> Generator[Callable[[], float]]:
    """The second process: a call lets it take its next step, and returns the moment of that."""
    command = [sys.executable, "-c", "from holdfast_tools.bench import serve; serve()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        to, back = process.stdin, process.stdout
        assert to is not None
        assert back is not None

        def hear() -> float:
            with suppress(BrokenPipeError):  # it has said why it has ended
                to.write(b"\n")
                to.flush()
            said = back.readline().decode().strip()
            if not said or said.startswith(FAILED):
                msg = f"the second process, which waits for the lock, failed: {said[len(FAILED) :]}"
                raise ConnectionError(msg.rstrip(": "))
            return float(said)

        try:
            to.write(json.dumps([url, name]).encode())  # it may have a password
            hear()
            yield hear
        finally:
            process.kill()


def serve() -> None:
    """The second process's part: it acquires for a line, and prints a moment for each line."""
    url, name = json.loads(sys.stdin.readline())
    try:
        _serve(url, name)
    except HoldfastError as error:
        print(FAILED + " ".join(str(error).split()), flush=True)


def _serve(url: str | None, name: str) -> None:
    with Client(url) as client:
        client.ping()
        print(time.monotonic(), flush=True)
        while sys.stdin.readline():
            print(time.monotonic(), flush=True)
            with client.lock(name, lease=LEASE):
                granted = time.monotonic()
            sys.stdin.readline()
            print(granted, flush=True)


class _Bare:
    """A bare socket to a primary; of its replies only the lines are counted."""

    def __init__(self, client: Client, url: str | None) -> None:
        deployment = servers.of(client)
        try:
            self.stream = connect_to(deployment)
        except OSError as error:
            msg = f"cannot connect to {deployment.primaries()[0].text}: {error}"
            raise ConnectionError(msg) from error
        self._replies = self.stream.makefile("rb")
        words = _credentials(url or "")
        if words:
            quoted = ['"\\x' + word.encode().hex(" ").replace(" ", "\\x") + '"' for word in words]
            self.call(f"AUTH {' '.join(quoted)}\r\n".encode())
        if deployment.database:
            self.call(b"SELECT %d\r\n" % deployment.database)

    def call(self, commands: bytes, lines: int = 1) -> int:
        """Send inline commands, and wait for that many lines of replies."""
        self.stream.sendall(commands)
        for _ in range(lines):
            line = self._replies.readline()
            if not line:
                raise ConnectionError("the server closed the connection")
            if line.startswith(b"-"):
                # An unknown AUTH is repeated with its arguments.
                text = line[1:].decode(errors="replace").partition(", with args beginning")[0]
                raise ServerError(text.strip())
        return lines


def _credentials(url: str) -> list[str]:
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    user = unquote(parts.username or "") or given.get("username")
    password = unquote(parts.password or "") or given.get("password")
    return [word for word in (user, password) if word] if password else []
