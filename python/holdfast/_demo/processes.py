"""The other processes of the demo, and the lines that they exchange with the main process."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from .story import BrokenPromiseError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Child", "Children", "guarded"]

#: Seconds within which an immediate event must have happened.
BOUND = 20.0


def guarded(command: list[str]) -> list[str]:
    """The command of a process that is killed when this one dies, where the system helps."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv else command


class Child:
    """A process that runs ``holdfast._demo.child``. For one thread."""

    def __init__(self, url: str, words: tuple[str, ...]) -> None:
        # The URL may contain a password: other users can read arguments, but not the environment.
        self._process = subprocess.Popen(
            guarded([sys.executable, "-m", "holdfast._demo.child", *words]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOLDFAST_URL": url},
            start_new_session=True,  # Ctrl-C is for the main process, which ends this one
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self, word: str) -> str:
        """Wait until it says `word`; return the rest of that line."""
        try:
            line = self._lines.get(timeout=BOUND)
        except queue.Empty:
            line = ""
        said, _, rest = line.partition(" ")
        if said != word:
            what = f"it said {line!r}" if line else "it said nothing"
            msg = f"process {self.pid} should have said {word!r}, but {what}"
            raise BrokenPromiseError(msg)
        return rest

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            msg = f"process {self.pid} has ended before its time"
            raise BrokenPromiseError(msg) from None

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, by SIGKILL, and see it gone."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("")


class Children:
    """All of them; those that still run are killed at the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._children: list[Child] = []

    def start(self, *words: str) -> Child:
        self._children.append(Child(self._url, words))
        return self._children[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for child in self._children:
            child.close()
