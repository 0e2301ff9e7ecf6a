"""Waits for the lock, runs the command under it, and gives the lock back.

All of it happens on one event loop: signals, the end of the command, the loss of the lock.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast import asyncio as holdfast
from holdfast._errors import HoldfastError, LockTimeout, NotOwnedError

from .held import Held, acquire, settle
from .launcher import Launcher
from .terminal import Terminal

if TYPE_CHECKING:
    from .job import Job

__all__ = ["run"]

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
STOPS = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
NOT_FOUND = 127
NOT_EXECUTABLE = 126
LOOK = 0.05
"""Seconds between two looks whether a process group has ended, which no signal reports."""


def run(job: Job) -> int:
    """Run the command under the lock; the exit status. To be called in the main thread.

    Raises ``ConnectionError`` and ``ServerError`` of an acquisition that fails, ``ValueError`` and
    ``TypeError`` for a bad value; the command has not been started then, and nothing is held.
    """
    launcher = Launcher(job.command)
    try:
        return asyncio.run(_Run(job, launcher)())
    finally:
        launcher.cancel()


class _Run:
    """One run."""

    def __init__(self, job: Job, launcher: Launcher) -> None:
        self._job = job
        self._launcher = launcher
        self._terminal = Terminal()
        self._shown = job.name.decode(errors="backslashreplace")
        self._running = False
        self._lost = False
        self._held: Held | None = None

    async def __call__(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._signal: asyncio.Future[int] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        for number in FORWARDED:
            self._handle(number, self._signalled, number)
        self._handle(signal.SIGCHLD, self._look_at_children)
        url, lease = self._job.url, self._job.lease
        client = holdfast.Client(url) if lease is None else holdfast.Client(url, lease=lease)
        try:
            return await self._with(client)
        finally:
            await client.close()

    def _handle(self, number: int, call: object, *arguments: object) -> None:
        """Handle a signal; one that is ignored stays so, for the command too."""
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
            self._loop.add_signal_handler(number, call, *arguments)  # type: ignore[arg-type]

    # ---- the lock

    async def _with(self, client: holdfast.Client) -> int:
        job = self._job
        job.tell(f"waiting for {self._shown!r}")
        began = time.monotonic()
        try:
            held = await self._acquired(client)
        except LockTimeout as error:
            if isinstance(error.__cause__, HoldfastError):
                raise error.__cause__ from None
            job.tell(f"{self._shown!r} is busy")
            return job.busy_status
        if held is not None and not self._signal.done():
            job.tell(f"acquired {self._shown!r} after {time.monotonic() - began:.3f} s")
            return await self._under(held)
        if held is not None:
            await self._released(held)
        return 128 + self._signal.result()

    async def _acquired(self, client: holdfast.Client) -> Held | None:
        """The hold; None if a signal came first."""
        acquiring = asyncio.create_task(acquire(client, self._job, self._lose))
        either: set[asyncio.Future[Any]] = {acquiring, self._signal}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not acquiring.done():
            acquiring.cancel()
            await asyncio.wait({acquiring})
            if acquiring.cancelled() or acquiring.exception() is not None:
                await settle(client, self._job)
                return None
        return acquiring.result()

    async def _under(self, held: Held) -> int:
        """Run the command, and give the lock back; the exit status."""
        self._held = held
        environment = {b"HOLDFAST_LOCK": self._job.name}
        if held.token is not None:
            environment[b"HOLDFAST_TOKEN"] = b"%d" % held.token
        self._terminal.give(self._launcher.pid)
        failure = self._launcher.start(environment)
        if failure:
            self._terminal.take(self._launcher.pid)
            await self._released(held)
            command = os.fsdecode(self._job.command[0])
            self._job.complain(f"cannot run {command!r}: {os.strerror(failure)}")
            return NOT_FOUND if failure in {errno.ENOENT, errno.ENOTDIR} else NOT_EXECUTABLE
        self._running = True
        self._handle(signal.SIGTSTP, self._stop_group)
        self._handle(signal.SIGCONT, self._continue)
        self._handle(signal.SIGWINCH, self._signal_group, signal.SIGWINCH)
        if self._lost or held.is_lost():
            self._lose(again=True)
        status = await self._ended
        self._running = False
        self._terminal.take(self._launcher.pid)
        return await self._end(held, status)

    async def _end(self, held: Held, status: int) -> int:
        if self._lost:
            await self._end_of_group()
        elif await self._released(held):
            return _status_of(status)
        self._job.complain(f"the lock {self._shown!r} was lost while the command ran")
        return self._job.lost_status

    async def _released(self, held: Held) -> bool:
        """Give the lock back; False if it was lost."""
        try:
            await held.release()
        except NotOwnedError:
            return False
        except HoldfastError as error:
            self._job.complain(f"not released, it expires with its lease: {error}")
            return True
        self._job.tell(f"released {self._shown!r}")
        return True

    def _lose(self, *, again: bool = False) -> None:
        """The lock is lost: end the command's process group."""
        if self._lost and not again:
            return
        self._lost = True
        if self._running:
            self._job.tell(f"{self._shown!r} is lost: the command gets SIGTERM")
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)
            self._loop.call_later(self._job.grace, self._signal_group, signal.SIGKILL)

    async def _end_of_group(self) -> None:
        """Wait until the command's whole process group has ended; SIGKILL ends it in the end."""
        deadline = time.monotonic() + self._job.grace + 1
        while self._signal_group(0) and time.monotonic() < deadline:  # noqa: ASYNC110 - no event
            await asyncio.sleep(LOOK)

    # ---- signals

    def _signalled(self, number: int) -> None:
        if not self._running:
            if not self._signal.done():
                self._signal.set_result(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._launcher.pid, number)

    def _signal_group(self, number: int) -> bool:
        """Whether the group still exists."""
        try:
            os.killpg(self._launcher.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _look_at_children(self) -> None:
        """Collect the ends and stops of all children: process 1 also gets those of orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid != self._launcher.pid:
                continue
            if not os.WIFSTOPPED(status):
                self._ended.set_result(status)
            elif self._running and os.WSTOPSIG(status) in STOPS:
                self._stop()

    def _stop_group(self) -> None:
        self._signal_group(signal.SIGTSTP)

    def _stop(self) -> None:
        """The command was stopped: stop too, as the whole job would, until it is continued."""
        self._terminal.take(self._launcher.pid)
        self._loop.remove_signal_handler(signal.SIGTSTP)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Here it was continued; or it never stopped, where no shell could continue it.
        self._handle(signal.SIGTSTP, self._stop_group)
        self._continue()

    def _continue(self) -> None:
        """Let the command go on, unless the lease has ended."""
        if not self._running:
            return
        self._terminal.give(self._launcher.pid)
        if self._held is not None and self._held.is_lost():
            self._lose()
        self._signal_group(signal.SIGCONT)


def _status_of(status: int) -> int:
    """The exit status as a shell reports it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
