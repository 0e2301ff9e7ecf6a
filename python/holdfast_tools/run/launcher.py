"""The process that becomes the command.

It is forked before the client has threads and connections, and waits for the signal to go on. Then
it becomes the command at once, without any state of the client.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .descendants import Descendants

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Launcher"]

PR_SET_PDEATHSIG = 1
GO = b"\0go"
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
LOCALE = b"LC_CTYPE"
BROKEN = 70


class Launcher:
    """A child in a new process group, which is killed if this process dies.

    To be made by the main thread while it is the only one. The command inherits standard streams,
    further open files, which signals are ignored, and the mask of signals that is given.
    """

    def __init__(
        self, command: Sequence[bytes], mask: Collection[int], with_descendants: bool = True
    ) -> None:
        parent = os.getpid()
        self.descendants = Descendants() if with_descendants else None
        go, self._go = os.pipe()
        self._failure, failure = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            os.close(self._failure)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _become(command, parent, go, failure)
        if self.descendants is not None:
            self.descendants.started()
        os.close(go)
        os.close(failure)
        with suppress(OSError):  # the child does the same: one of the two is first
            os.setpgid(self.pid, self.pid)

    def start(self, environment: Mapping[bytes, bytes]) -> int:
        """Let it become the command, with more environment; an ``errno`` if it cannot, else 0."""
        words = [name + b"=" + value for name, value in environment.items()]
        with suppress(BrokenPipeError):  # it has been killed: its status says so
            os.write(self._go, b"\0".join(words) + GO)
        os.close(self._go)
        failure = os.read(self._failure, 16)  # it is closed when the command begins
        os.close(self._failure)
        self._go = -1
        return int(failure or 0)

    def cancel(self) -> None:
        """End the child if it has not become the command."""
        if self._go < 0:
            return
        os.close(self._go)
        os.close(self._failure)
        self._go = -1
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _become(command: Sequence[bytes], parent: int, go: int, failure: int) -> NoReturn:
    """In the child: become the command after GO, else end."""
    try:
        _restore_signals()
        os.setpgid(0, 0)
        _die_with(parent)
        received = b""
        while part := os.read(go, 65536):
            received += part
        if not received.endswith(GO):
            os._exit(0)
        more = received.removesuffix(GO).split(b"\0")
        environment = {**_environment(), **dict(word.split(b"=", 1) for word in more)}
        os.execvpe(command[0], [*command], environment)
    except OSError as error:
        os.write(failure, b"%d" % (error.errno or errno.EIO))
    except BaseException:  # noqa: BLE001 - nothing of the parent's code may run here
        os.write(failure, b"%d" % errno.EIO)
    os._exit(BROKEN)


def _environment() -> dict[bytes, bytes]:
    """As this process was given it: in the C locale the interpreter sets LC_CTYPE for itself."""
    environment = dict(os.environb)
    with suppress(OSError):
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
        environment.pop(LOCALE, None)
        for word in given:
            name, _, value = word.partition(b"=")
            if name == LOCALE:
                environment[name] = value
    return environment


def _restore_signals() -> None:
    """Set the signals that this interpreter handles to their defaults for the command."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)) or number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)


def _die_with(parent: int) -> None:
    with suppress(AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(BROKEN)
