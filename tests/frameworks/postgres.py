"""A PostgreSQL server of the tests' own, on 127.0.0.1 and in a temporary folder.

It is Debian's package `postgresql`, or any whose `initdb` is in PATH.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.servers import free_port
from tests.support.waiting import eventually

USER = "daemon"
"""Who runs it where the tests are run by root: PostgreSQL refuses to be root's."""


class Postgres:
    """The server; `environment` is where libpq finds it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-postgres-"))
        self._data = self._folder / "data"
        self.environment = {"PGHOST": "127.0.0.1", "PGPORT": str(free_port()), "PGUSER": "tests"}
        options = {
            "port": self.environment["PGPORT"],
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
        }
        self._make()
        set_ = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [*as_user(), program("postgres"), "-D", str(self._data), *set_],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
        )
        eventually(lambda: self._answers() or self._process.poll() is not None, within=60)
        assert self._process.poll() is None, self._said()

    def _make(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._folder, USER)
        kind = ["--username", "tests", "--auth", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]
        done = subprocess.run(
            [*as_user(), program("initdb"), "-D", str(self._data), *kind],
            cwd=self._folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def _answers(self) -> bool:
        import psycopg

        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def connect(self, database: str = "postgres", **options: Any) -> Any:
        """A connection of psycopg's."""
        import psycopg

        at = self.environment
        where = {"host": at["PGHOST"], "port": at["PGPORT"], "user": at["PGUSER"]}
        return psycopg.connect(dbname=database, **where, **options)

    def close(self) -> None:
        """End it, and remove what it wrote."""
        self._process.send_signal(signal.SIGINT)  # does not wait for its clients
        self._process.wait(60)
        self._log.close()
        shutil.rmtree(self._folder)


def as_user() -> list[str]:
    """What runs a command as another user where this one is root; it ends with the tests."""
    other = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return ["setpriv", "--pdeathsig=INT", *(other if os.geteuid() == 0 else [])]


def program(name: str) -> str:
    """Where a program of PostgreSQL's is; Debian's are not in PATH."""
    found = shutil.which(name)
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    assert found or debian, f"no {name}: install Debian's package postgresql"
    return found or str(debian[-1])
