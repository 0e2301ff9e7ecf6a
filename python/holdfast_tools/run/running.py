"""Waits for the lock, runs the command under it, and gives the lock back.

All of it happens on one event loop: signals, the end of the command and of what it has started, the
loss of the lock, the death of the process in front.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import HoldfastError, LockTimeout, NotOwnedError
from holdfast import asyncio as holdfast
from holdfast.integration import guard_by_default, quoted

from .descendants import adopt_orphans
from .ends import INTERRUPTED, after_signal, status_of
from .group import Group
from .held import Held, acquire, settle
from .terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Collection

    from .job import Job
    from .launcher import Launcher

__all__ = ["FORWARDED", "STOPPED", "Family", "run_under"]

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
STOPPED = signal.SIGTTIN
"""By which the guardian stops when the command has been stopped; any other stop is its own."""
ASKS = frozenset({signal.SIGTTIN, signal.SIGTTOU})
"""They stop a process group that needs the terminal."""
STOPS = ASKS | {signal.SIGTSTP}
FROM_KEYS = {128 + int(number): number for number in (signal.SIGINT, signal.SIGQUIT)}
"""By the status of a command that a key of the terminal has ended."""
LATER = "; the release goes on in the background"
"""What the error of a release says, which is not true of a process that ends."""
NOT_FOUND = 127
NOT_EXECUTABLE = 126
LOOK = 0.05
"""Seconds between two looks whether a process group has ended, which no signal reports."""
SOON = 0.05
"""Seconds for which a signal lets the server answer; what is then open is left to the guard."""
CLOSE = 1.0
"""Seconds for the end of a client that has nothing open."""
LAST = 1.0
"""Seconds after SIGKILL until what still exists is left alone."""


class Family(NamedTuple):
    """What the guardian has from the process in front of it."""

    front: int
    """That process."""
    group: int
    """Its process group."""
    alive: int
    """The end of a pipe that is readable when that process is dead."""
    mask: Collection[int]
    """The mask of signals to work with."""


def run_under(job: Job, launcher: Launcher, family: Family) -> int:
    """Run the command under the lock; the exit status. To be called in the guardian's main thread.

    Raises ``ConnectionError`` and ``ServerError`` of an acquisition that fails, ``ValueError`` and
    ``TypeError`` for a bad value; the command has not been started then, and nothing is held.
    """
    adopt_orphans()
    try:
        # Not asyncio.run(): it waits for calls that no server answers. The process ends soon.
        return asyncio.new_event_loop().run_until_complete(_Run(job, launcher, family)())
    finally:
        launcher.cancel()


class _Run:
    """One run."""

    def __init__(self, job: Job, launcher: Launcher, family: Family) -> None:
        self._job = job
        self._launcher = launcher
        self._family = family
        self._shown = quoted(job.name)
        self._group = Group(launcher.pid, launcher.descendants, self._refused)
        self._running = False
        self._lost = False
        self._open = False
        self._interrupted = False
        self._had_terminal = False
        self._held: Held | None = None
        self._handled: list[int] = []
        self._ending: asyncio.Task[None] | None = None

    async def __call__(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._signal: asyncio.Future[int] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._loss: asyncio.Future[None] = self._loop.create_future()
        self._given_up: asyncio.Future[None] = self._loop.create_future()
        for number in FORWARDED:
            self._handle(number, self._signalled, number)
        self._handle(signal.SIGTSTP, self._suspend)
        self._handle(signal.SIGCONT, self._continue)
        self._handle(signal.SIGCHLD, self._look_at_children)
        self._loop.add_reader(self._family.alive, self._abandoned)
        signal.signal(STOPPED, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._family.mask)
        self._terminal = Terminal(self._family.front, self._family.group)
        try:
            guard_by_default()
            if self._launcher.descendants is not None:
                self._launcher.descendants.keep_after_death()
            job = self._job
            about = {"lease": job.lease, "label": job.label}
            given: Any = {word: value for word, value in about.items() if value is not None}
            client = holdfast.Client(job.url, **given)
            status = await self._with(client)
            if not self._open:
                await asyncio.wait({asyncio.ensure_future(client.close())}, timeout=CLOSE)
            return status
        finally:
            self._handle_no_more()

    def _handle(self, number: int, call: object, *arguments: object) -> None:
        """Handle a signal; one that is ignored stays so, for the command too."""
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
            self._loop.add_signal_handler(number, call, *arguments)  # type: ignore[arg-type]
            self._handled.append(number)

    def _handle_no_more(self) -> None:
        """Leave the status as it is: the loop must not close while a signal writes to it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    # ---- the lock

    async def _with(self, client: holdfast.Client) -> int:
        job = self._job
        job.tell(f"waiting for {self._shown}")
        began = time.monotonic()
        try:
            held = await self._acquired(client)
        except LockTimeout as error:
            if isinstance(error.__cause__, HoldfastError):
                raise error.__cause__ from None
            job.tell(f"{self._shown} is busy")
            return job.busy_status
        if held is not None and not self._signal.done():
            job.tell(f"acquired {self._shown} after {time.monotonic() - began:.3f} s")
            return await self._under(held)
        if held is not None:
            await self._released(held)
        return after_signal(self._signal.result())

    async def _acquired(self, client: holdfast.Client) -> Held | None:
        """The hold; None if a signal came first."""
        acquiring = asyncio.create_task(acquire(client, self._job, self._lose))
        either: set[asyncio.Future[Any]] = {acquiring, self._signal}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if acquiring.done():
            return acquiring.result()
        acquiring.cancel()
        settled = asyncio.create_task(self._settled(client, acquiring))
        await asyncio.wait({settled}, timeout=SOON)
        self._open = not settled.done()
        return settled.result() if settled.done() else None

    async def _settled(self, client: holdfast.Client, acquiring: asyncio.Task[Held]) -> Held | None:
        """The hold that came in spite of the end of the wait; else none is left on the server."""
        await asyncio.wait({acquiring})
        if not acquiring.cancelled() and acquiring.exception() is None:
            return acquiring.result()
        await settle(client, self._job)
        return None

    async def _under(self, held: Held) -> int:
        """Run the command, and give the lock back; the exit status."""
        self._held = held
        if self._is_lost(held):
            self._job.complain(f"the lock {self._shown} was lost before the command was started")
            return self._job.lost_status
        failure = self._start(held)
        if failure:
            self._terminal.take(self._launcher.pid)
            await self._released(held)
            command = quoted(self._job.command[0])
            self._job.complain(f"cannot run {command}: {os.strerror(failure)}")
            return NOT_FOUND if failure in {errno.ENOENT, errno.ENOTDIR} else NOT_EXECUTABLE
        self._running = True
        self._handle(signal.SIGWINCH, self._group.signal, signal.SIGWINCH)
        if self._is_lost(held):
            self._lose(again=True)
        await self._finish()
        self._running = False
        self._job.tell(f"the command has ended: releasing {self._shown}")
        return await self._end(held)

    def _start(self, held: Held) -> int:
        """Start the command; an ``errno`` if that fails."""
        environment = {b"HOLDFAST_LOCK": self._job.name}
        if held.token is not None:
            environment[b"HOLDFAST_TOKEN"] = b"%d" % held.token
        descendants = self._launcher.descendants
        if descendants is not None:
            environment[b"HOLDFAST_FD"] = b"%d" % descendants.inherited
            descendants.watch(self._loop, lambda: self._left.set_result(None))
        else:
            self._left.set_result(None)
        self._terminal.give(self._launcher.pid)
        return self._launcher.start(environment)

    async def _end(self, held: Held) -> int:
        released = not self._lost and await self._released(held)
        if released and self._ended.done():
            return self._status(self._ended.result())
        if not released:
            self._job.complain(f"the lock {self._shown} was lost while the command ran")
        return self._job.lost_status

    def _status(self, status: int) -> int:
        """The command's; INTERRUPTED if SIGINT came from the terminal or by this process."""
        shown = status_of(status)
        key = FROM_KEYS.get(shown)
        if key is not None and self._had_terminal:  # else the key has reached the front's group
            with suppress(OSError):
                os.killpg(self._family.group, key)
        meant = key == signal.SIGINT and (self._had_terminal or self._interrupted)
        return INTERRUPTED if meant else shown

    async def _released(self, held: Held) -> bool:
        """Give the lock back; False if it was lost. A signal ends the wait for the server."""
        releasing = asyncio.ensure_future(held.release())
        await asyncio.wait({releasing}, timeout=SOON)
        either: set[asyncio.Future[Any]] = {releasing, self._signal}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        self._open = True
        if not releasing.done():
            self._job.complain("not released, it expires with its lease: a signal came first")
            return True
        try:
            releasing.result()
        except NotOwnedError:
            return False
        except HoldfastError as error:
            why = str(error).replace(LATER, "")
            self._job.complain(f"not released, it expires with its lease: {why}")
            return True
        self._open = False
        self._job.tell(f"released {self._shown}")
        return True

    def _is_lost(self, held: Held) -> bool:
        return self._lost or held.is_lost()

    def _lose(self, *, again: bool = False) -> None:
        """The lock is lost: end the command."""
        if self._lost and not again:
            return
        self._lost = True
        if not self._loss.done():
            self._loss.set_result(None)
        if self._running:
            self._begin_ending()
            self._job.tell(f"{self._shown} is lost: the command gets SIGTERM")

    # ---- the end of the command

    async def _finish(self) -> None:
        """Return when the command and what it has started have ended, or cannot be ended."""
        both: asyncio.Future[Any] = asyncio.gather(self._ended, self._left)
        # From here on Ctrl-C comes to the front, whatever is left in the background.
        self._ended.add_done_callback(self._take_terminal)
        either: set[asyncio.Future[Any]] = {both, self._given_up}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._ending is not None:
            await self._ending

    def _take_terminal(self, _: object) -> None:
        self._had_terminal = self._terminal.take(self._launcher.pid)

    def _begin_ending(self) -> None:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end_all())

    async def _end_all(self) -> None:
        """SIGTERM for the command and what it has started, and SIGKILL after the grace.

        What another user runs cannot be ended: the lock is kept for it, unless it is lost.
        """
        self._group.signal_all(signal.SIGTERM)
        self._group.signal_all(signal.SIGCONT)
        kill_at = time.monotonic() + self._job.grace
        while self._group.is_left() and time.monotonic() < kill_at + LAST:
            await asyncio.sleep(LOOK)
            if time.monotonic() >= kill_at:
                self._group.signal_all(signal.SIGKILL)
        if not self._lost:
            both: asyncio.Future[Any] = asyncio.gather(self._ended, self._left)
            await asyncio.wait({both, self._loss}, return_when=asyncio.FIRST_COMPLETED)
        if not self._given_up.done():
            self._given_up.set_result(None)

    def _abandoned(self) -> None:
        """The process in front was killed: end the command, and keep the lock until it ends."""
        self._loop.remove_reader(self._family.alive)
        if self._running:
            self._begin_ending()
        else:
            self._signalled(signal.SIGTERM)

    def _refused(self) -> None:
        self._job.complain(
            "the command cannot be signalled: it runs as another user; end it as that user"
        )

    # ---- signals

    def _signalled(self, number: int) -> None:
        if self._running:
            self._interrupted = self._interrupted or number == signal.SIGINT
            self._group.signal_all(number)
        elif not self._signal.done():
            self._signal.set_result(number)

    def _look_at_children(self) -> None:
        """Collect the ends and stops of all children: those of orphans come here too."""
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
                self._stopped(os.WSTOPSIG(status))

    def _suspend(self) -> None:
        """SIGTSTP came to the front: the stop of the command, if it runs, stops this process."""
        if self._running:
            self._group.signal(signal.SIGTSTP)
        if self._ended.done() or not self._running:
            self._stop()

    def _stopped(self, number: int) -> None:
        """The command was stopped; one that needs the terminal gets it, if that is here."""
        if number in ASKS and self._terminal.give_to_one_that_waits(self._launcher.pid):
            self._group.signal(signal.SIGCONT)
        else:
            self._stop()

    def _stop(self) -> None:
        """The command was stopped: stop too, and so the front, until SIGCONT comes to both."""
        self._terminal.take(self._launcher.pid)
        os.kill(os.getpid(), STOPPED)

    def _continue(self) -> None:
        """Let the command go on, unless the lease has ended."""
        if not self._running:
            return
        if not self._ended.done():
            self._terminal.give(self._launcher.pid)
        if self._held is not None and self._held.is_lost():
            self._lose()
        self._group.signal(signal.SIGCONT)
