"""One contender's process: started, given the moment to begin, and read.

A worker program is given ``key=value`` words (``mode``, ``port`` and what the mode needs) and
writes one JSON object a line: ``{"ready": …}`` once it is set up, and its result at the end.
Between the two it reads one line from stdin: a moment on CLOCK_MONOTONIC in ns, to begin or to end
at, as the mode says.  README.md lists the modes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from types import TracebackType
from typing import Any

from benchmarks.contender import Contender


class WorkerFailed(Exception):
    """The worker ended, or was ended for taking too long, without the line that was due."""


class Worker:
    """A context manager that never leaves the process behind; for one thread."""

    def __init__(self, contender: Contender, limit: float, **words: object) -> None:
        """Start the program; it is killed after ``limit`` seconds."""
        argv = [*contender.command, *(f"{key}={value}" for key, value in words.items())]
        self._name = f"{contender.name} {words.get('mode')}"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - __exit__ closes it
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **contender.environment},
        )
        self._killer = threading.Timer(limit, self._process.kill)
        self._killer.daemon = True
        self._killer.start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._killer.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> None:
        """Wait until the worker is set up."""
        if "ready" not in self.result():
            raise WorkerFailed(f"{self._name}: a result came before the worker was ready")

    def go(self, moment_ns: int = 0) -> None:
        """Tell the worker its moment; it goes on at once."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{moment_ns}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None

    def result(self) -> dict[str, Any]:
        """The next line of the worker."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._failed()
        found: dict[str, Any] = json.loads(line)
        if found.get("note"):
            print(f"  {self._name}: {found['note']}", file=sys.stderr)
        return found

    def kill(self) -> None:
        """End the process as a crash would, at once."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _failed(self) -> WorkerFailed:
        code = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-3:]
        return WorkerFailed(f"{self._name}: ended with {code}: {' | '.join(last) or 'no message'}")
