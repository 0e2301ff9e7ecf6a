"""A Redis server of the run's own, and the few commands the benchmarks ask of it."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from types import TracebackType

from holdfast_tools.server import launch

ROOT = Path(__file__).resolve().parent.parent

Reply = str | int | list["Reply"] | None


def free_port() -> int:
    """A loopback port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def script_texts() -> dict[str, str]:
    """The scripts of holdfast by ``kind/step``, as its build embeds them."""
    embed = [sys.executable, str(ROOT / "cmake" / "embed_lua.py"), str(ROOT / "lua"), "--json"]
    found = json.loads(subprocess.run(embed, check=True, capture_output=True).stdout)
    return {name: script["text"] for name, script in found.items()}


class Connection:
    """A blocking connection that speaks just enough RESP2; for one thread."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._replies = self.socket.makefile("rb")

    def call(self, *words: str | int) -> Reply:
        """Send one command and return its reply; an error reply is raised as RuntimeError."""
        encoded = [str(word).encode() for word in words]
        parts = [b"*%d\r\n" % len(encoded)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded]
        self.socket.sendall(b"".join(parts))
        return self._read()

    def close(self) -> None:
        self._replies.close()
        self.socket.close()

    def _read(self) -> Reply:
        line = self._replies.readline().rstrip(b"\r\n")
        if not line:
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self._replies.read(int(rest) + 2)[:-2].decode()
        return rest.decode()


class Monitor:
    """Counts the commands that clients send, by MONITOR, leaving out those that scripts run."""

    def __init__(self, port: int) -> None:
        self._connection = Connection(port)
        self._connection.call("MONITOR")
        self._connection.socket.setblocking(False)
        self._rest = b""

    def drain(self) -> int:
        """How many commands came in since the last call."""
        chunks = [self._rest]
        while select.select([self._connection.socket], [], [], 0)[0]:
            chunk = self._connection.socket.recv(1 << 20)
            if not chunk:
                raise ConnectionError("the server closed the monitor")
            chunks.append(chunk)
        *lines, self._rest = b"".join(chunks).split(b"\r\n")
        return sum(b" lua] " not in line[:40] for line in lines)

    def settle(self, quiet: float = 0.3, limit: float = 3.0) -> int:
        """Drain until none came in for ``quiet`` seconds, or for ``limit`` seconds."""
        end = time.monotonic() + limit
        total = 0
        while time.monotonic() < end:
            time.sleep(quiet)
            count = self.drain()
            if count == 0:
                break
            total += count
        return total

    def close(self) -> None:
        self._connection.close()


class Server:
    """A server process without persistence on a free loopback port; a context manager."""

    def __init__(self, program: str = "redis-server", **more: object) -> None:
        """Start the program; ``more``: settings, with ``_`` for the dashes of their names."""
        self.program = program
        self.port = free_port()
        self._directory = tempfile.TemporaryDirectory(prefix="holdfast-bench-")
        self.options: dict[str, object] = {"port": self.port, "bind": "127.0.0.1", **more}
        settings = {name.replace("_", "-"): value for name, value in self.options.items()}
        self._process = launch([program], {**settings, "dir": self._directory.name})
        try:
            self.connection = self._connect()
            self.scripts = self._load_scripts()
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.connection.close()
        self._stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    def clear(self) -> None:
        """Delete every key."""
        self.connection.call("FLUSHALL")

    def info(self, section: str) -> dict[str, str]:
        text = str(self.connection.call("INFO", section))
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def calls(self, *commands: str) -> int:
        """How often the commands ran so far, those inside scripts included."""
        stats = self.info("commandstats")
        found = [stats.get(f"cmdstat_{command}", "calls=0,") for command in commands]
        return sum(int(text.split(",", 1)[0].removeprefix("calls=")) for text in found)

    def key_names(self) -> list[str]:
        reply = self.connection.call("KEYS", "*")
        assert isinstance(reply, list)
        return [str(key) for key in reply]

    def expiry(self, key: str) -> int:
        """When the key's lease ends, in ns of CLOCK_MONOTONIC."""
        at_ms = int(str(self.connection.call("PEXPIRETIME", key)))
        return time.monotonic_ns() + at_ms * 1_000_000 - time.time_ns()

    def kill(self) -> None:
        """End the process as a crash would, at once."""
        self._process.kill()
        self._process.wait()

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._directory.cleanup()

    def _connect(self) -> Connection:
        end = time.monotonic() + 10
        while True:
            try:
                connection = Connection(self.port)
                connection.call("PING")
                return connection
            except (OSError, RuntimeError):
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def _load_scripts(self) -> dict[str, str]:
        """The SHA1 of each of the lock's scripts that the C contender runs."""
        texts = script_texts()
        return {
            name: str(self.connection.call("SCRIPT", "LOAD", texts[f"lock/{name}"]))
            for name in ("acquire", "renew", "release")
        }
