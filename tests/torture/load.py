"""The load run: one server, many owners in two processes, and a machine that is busy.

    python -m tests.torture.load --seconds 3600
    python -m tests.torture.load --acquisitions 1000000 --server valkey

It ends with status 1, and says why, if a call failed, a name had two owners, a number of commands
differs, or a key is left. The first error ends it early.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import Client
from tests.support.servers import REAL_KINDS, Server
from tests.support.waiting import eventually
from tests.torture.load_owners import END_BOUND, PERMITS, PERMITS_NAME, Numbers, Owners
from tests.torture.subjects import MAY_EXPIRE

_ROOT = Path(__file__).resolve().parents[2]
_BUSY_PROCESSES = 2
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
_LOOK = 1.0
"""Seconds between two looks at what goes on."""
_MEMORY = 60.0
"""Seconds for the semaphore's requests to expire: four command timeouts, and some more."""

COUNTED = ("evalsha", "eval", "script|load", "script", "subscribe", "unsubscribe")
"""What `Stats.commands` counts, of all that the load sends, by the server's names.

Scripts, by their SHA1 or with their text, renewals among them; their loading (before Redis 7 its
name is `script`); subscriptions. Neither side counts the greeting of a connection here, nor what a
script calls.
"""


@dataclass(frozen=True)
class Facts:
    """What a run leaves to be judged."""

    errors: Sequence[str]
    held: Mapping[str, int]
    """How often each name was held, as the owners say."""
    counted: Mapping[str, int]
    """How often it was, as the numbers say that the locks guard."""
    sent: int
    """`Stats.commands`, of all clients."""
    received: int
    """The same commands, as the server counts them."""
    keys: Sequence[str]
    """Those that are there when all is given back, but for requests, which expire."""
    lasting: int
    """`DBSIZE` when the requests have expired."""
    permits: int
    """The free permits; all, once they are given back."""


@dataclass(frozen=True)
class Report:
    """What came of a run."""

    seconds: float
    acquisitions: int
    commands: int
    faults: list[str]

    def __str__(self) -> str:
        said = f"{self.seconds:.0f} s, {self.acquisitions:,} acquisitions, {self.commands:,}"
        return "\n".join([f"{said} commands: {'FAILED' if self.faults else 'ok'}", *self.faults])


def judge(facts: Facts) -> list[str]:
    """What is wrong."""
    faults = list(facts.errors)
    faults += [
        f"lost updates: {name!r} was held {facts.held.get(name, 0)} times, counted {counted}"
        for name, counted in facts.counted.items()
        if counted != facts.held.get(name, 0)
    ]
    if facts.sent != facts.received:
        faults.append(f"the clients sent {facts.sent} commands, the server counts {facts.received}")
    if facts.keys:
        faults.append(f"keys are left: {', '.join(facts.keys)}")
    if facts.lasting:
        faults.append(f"the server has {facts.lasting} keys after {_MEMORY:g} s")
    if facts.permits != PERMITS:
        faults.append(f"{facts.permits} of {PERMITS} permits are free")
    return faults


@dataclass(frozen=True)
class Size:
    """When a run ends: after the seconds, or the acquisitions of each of its threads."""

    seconds: float
    acquisitions: int = sys.maxsize
    progress: float = 0.0
    """Seconds between two lines about it; 0: none."""


class Rival:
    """The process that contends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, question: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Load:
    """One run on a server that is up, and used by nothing else."""

    def __init__(self, server: Server, folder: Path, size: Size) -> None:
        self._server = server
        self._numbers = folder / "numbers"
        self._size = size

    def run(self) -> Report:
        Numbers.create(self._numbers)
        before = self._received()
        with ExitStack() as stack:
            client = stack.enter_context(Client(self._server.url))
            client.semaphore(PERMITS_NAME).try_set_permits(PERMITS)
            rival = Rival(stack.enter_context(_process(self._rival())))
            for _ in range(_BUSY_PROCESSES):
                stack.enter_context(_process([sys.executable, "-c", _BUSY]))
            owners = Owners(client, Numbers(self._numbers), self._size.acquisitions)
            started = time.monotonic()
            owners.start_load()
            try:
                self._watch(owners, rival)
            finally:
                owners.join(END_BOUND)
            seconds, stopped = time.monotonic() - started, rival.ask("stop")
            errors = [*owners.errors, *rival.ask("errors")]
            sent, received = self._commands(client, rival, before)
            held = owners.held() + Counter[str](stopped["held"])
            facts = Facts(errors, held, self._counted(), sent, received, *self._left())
        acquisitions = owners.acquisitions + stopped["acquisitions"]
        return Report(seconds, acquisitions, sent, judge(facts))

    def _rival(self) -> list[str]:
        where = [self._server.url, str(self._numbers)]
        return [sys.executable, "-m", "tests.torture.load_rival", *where]

    def _watch(self, owners: Owners, rival: Rival) -> None:
        """Return when the run is to end."""
        started = said = time.monotonic()
        while time.monotonic() - started < self._size.seconds and owners.running:
            owners.stopped.wait(min(_LOOK, self._size.seconds))
            if owners.stopped.is_set() or rival.ask("errors"):
                return
            if self._size.progress and time.monotonic() - said >= self._size.progress:
                said = time.monotonic()
                print(f"{said - started:.0f} s: {owners.acquisitions:,} acquisitions", flush=True)

    def _commands(self, client: Client, rival: Rival, before: int) -> tuple[int, int]:
        """By the clients, and by the server: equal as soon as the last ones have arrived."""

        def now() -> tuple[int, int]:
            return client.stats().commands + rival.ask("commands"), self._received() - before

        def equal() -> bool:
            sent, received = now()
            return sent == received

        with suppress(AssertionError):
            eventually(equal)
        return now()

    def _received(self) -> int:
        stats = self._server.inspect.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in COUNTED)

    def _counted(self) -> dict[str, int]:
        return Numbers(self._numbers).totals()

    def _left(self) -> tuple[list[str], int, int]:
        """The keys that are left, `DBSIZE` later, and the free permits, whose key goes first."""
        permits = int(self._server.inspect.getdel(PERMITS_NAME) or 0)
        keys = [key.decode() for key in sorted(self._server.keys())]
        with suppress(AssertionError):
            eventually(lambda: self._server.inspect.dbsize() == 0, within=_MEMORY)
        left = [key for key in keys if not key.startswith(MAY_EXPIRE)]
        return left, int(self._server.inspect.dbsize()), permits


@contextmanager
def _process(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that reads and writes lines, and is killed at the end."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=_ROOT, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.torture.load")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--acquisitions", type=int, default=sys.maxsize, help="of each thread")
    parser.add_argument("--server", choices=REAL_KINDS, default="redis")
    parser.add_argument("--progress", type=float, default=60, metavar="SECONDS")
    arguments = parser.parse_args()
    size = Size(arguments.seconds, arguments.acquisitions, arguments.progress)
    with Server(arguments.server) as server, tempfile.TemporaryDirectory() as folder:
        report = Load(server, Path(folder), size).run()
    print(report)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
