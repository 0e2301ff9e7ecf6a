"""The process that was started by the user: it stands before the guardian, which does the work.

The guardian holds the lock and is the parent of the command. If this process is killed, the
guardian ends the command and keeps the lock until it has ended.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from .ends import die_of, end
from .launcher import Launcher
from .running import FORWARDED, STOPPED, Family, run_under
from .voice import Voice

if TYPE_CHECKING:
    from collections.abc import Collection

    from .job import Job

__all__ = ["run"]

PASSED_ON = (*FORWARDED, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
BROKEN = 70


def run(job: Job) -> int:
    """Run the command under the lock, and end this process. To be called in the only thread.

    What goes wrong before the command is started is reported by `job.explain`, whose result is the
    status then, and nothing is held; it is returned where this process could start no other. If
    SIGINT has ended the wait or the command, it ends this process, too, unless it was ignored.
    """
    try:
        return _run(job)
    except OSError as error:  # a pipe or a process is refused
        return job.explain(error)


def _run(job: Job) -> int:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    dies = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    alive, still = os.pipe()
    group, tell = os.pipe()
    guardian = os.fork()
    if guardian == 0:
        os.close(still)
        os.close(group)
        _guard(job, (alive, tell), mask)
    os.close(alive)
    os.close(tell)
    command = int(os.read(group, 16) or 0)
    os.close(group)
    front = _Front(guardian)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = front.wait()
    if not os.WIFSIGNALED(status):
        end(os.WEXITSTATUS(status))  # to take down the interpreter lasts some 40 ms
    number = os.WTERMSIG(status)
    if number == signal.SIGINT:  # its end; the signal itself does not end it
        return die_of(number) if dies else 128 + number
    if command:  # else it was killed before the command's process was made
        with suppress(OSError):
            os.killpg(command, signal.SIGKILL)
    job.complain("the process that held the lock was killed: the command was killed too")
    return 128 + number


def _guard(job: Job, pipes: tuple[int, int], mask: Collection[int]) -> NoReturn:
    """In the guardian: all of the work."""
    alive, tell = pipes
    status = BROKEN
    voice = Voice()
    try:
        front = os.getpgrp()
        os.setpgid(0, 0)
        family = Family(os.getppid(), front, alive, mask)
        launcher = Launcher(job.command, mask, job.descendants)
        os.write(tell, b"%d" % launcher.pid)
        os.close(tell)
        aside = replace(job, tell=voice.later(job.tell), complain=voice.later(job.complain))
        status = run_under(aside, launcher, family)
        voice.finish()
    except Exception as error:  # noqa: BLE001 - each becomes one line
        voice.finish()
        status = job.explain(error)
    finally:
        end(status)


class _Front:
    """Passes signals on to the guardian, and stops when the guardian says so by a stop."""

    def __init__(self, guardian: int) -> None:
        self._guardian = guardian
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, no status is kept
        for number in PASSED_ON:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._guardian, number)

    def wait(self) -> int:
        """The guardian's status, as of ``waitpid``; as process 1 this also collects orphans."""
        while True:
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if pid != self._guardian:
                continue
            if not os.WIFSTOPPED(status):
                return status
            if os.WSTOPSIG(status) == STOPPED and not self._goes_on():
                self._stop()

    def _goes_on(self) -> bool:
        """Whether the stop is over already, where the system can say so."""
        if not hasattr(os, "waitid"):
            return False
        options = os.WCONTINUED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._guardian, options) is not None

    def _stop(self) -> None:
        """Stop too, as the whole job would, until it is continued."""
        own = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
        for number in own:
            signal.signal(number, signal.SIG_DFL)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Here it was continued; or it never stopped, where no shell could continue it.
        for number, handler in own.items():
            signal.signal(number, handler)
        # Once: a second one would undo the next Ctrl-Z.
        self._signalled(signal.SIGCONT, None)
