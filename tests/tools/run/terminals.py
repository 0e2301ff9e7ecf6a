"""Processes with a separate terminal: scripts, and interactive shells."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence

import pytest

from tests.support.servers import Server
from tests.tools.run.conftest import BOUND, COMMAND, environment

CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"
INTERACTIVE = {
    "bash": ("--norc", "--noprofile", "-i"),
    "dash": ("-i",),
    "zsh": ("-f", "+o", "zle", "+o", "promptcr", "+o", "promptsp", "-i"),
}


class Session:
    """A process that leads a session with a separate terminal."""

    def __init__(self, words: Sequence[str], **variables: str) -> None:
        if shutil.which(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        self._terminal, slave = pty.openpty()

        def own_terminal() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)

        self.process = subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment(), "PS1": "", "TERM": "dumb", **variables},
            start_new_session=True,
            preexec_fn=own_terminal,  # noqa: PLW1509 - there is no other way
        )
        os.close(slave)
        self._seen = ""

    def close(self) -> None:
        """Hang up, which ends what is left in the terminal."""
        self.process.kill()
        self.process.wait(BOUND)
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Type a line, or a key that is not printed."""
        os.write(self._terminal, f"{keys}\n".encode() if keys.isprintable() else keys.encode())

    line = type

    def expect(self, pattern: str) -> re.Match[str]:
        """Read on until the pattern is there; what came before it is forgotten."""
        deadline = time.monotonic() + BOUND
        while not (found := re.search(pattern, self._seen)):
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            assert ready, f"no {pattern!r} in {self._seen!r}"
            self._seen += os.read(self._terminal, 65536).decode(errors="replace")
        self._seen = self._seen[found.end() :]
        return found

    def end(self) -> tuple[int, str]:
        """The status of the process, once it has ended, and what was written until then."""
        while True:
            ready, _, _ = select.select([self._terminal], [], [], 0.02)
            if ready:
                try:
                    self._seen += os.read(self._terminal, 65536).decode(errors="replace")
                except OSError:  # no process has the terminal any more
                    return self.process.wait(BOUND), self._seen
            elif self.process.poll() is not None:
                return self.process.returncode, self._seen

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def foreground(self) -> int:
        return os.tcgetpgrp(self._terminal)


class Shell(Session):
    """An interactive shell; `run` is `holdfast run` in it."""

    def __init__(self, server: Server, which: str = "bash") -> None:
        super().__init__([which, *INTERACTIVE[which]])
        self.type(
            "stty -echo; run() { " + f"{shlex.join(COMMAND)} --url {server.url} run" + ' "$@"; }'
        )
        self.line("echo rea''dy")
        self.expect("ready")

    def status(self) -> int:
        """The status of the last command."""
        self.line("echo status=$?.")
        return int(self.expect(r"status=(\d+)\.")[1])
