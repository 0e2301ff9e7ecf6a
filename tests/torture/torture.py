"""The run: workers over a topology, faults by the schedule, and the verdict over what was written.

Every wait has a bound, and only processes that were started here are stopped and killed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from holdfast import Client
from tests.support.fault_schedule import Fault
from tests.support.servers import Server
from tests.support.waiting import eventually, let_pass
from tests.torture import checker, history
from tests.torture.breaking import Mend, nothing
from tests.torture.checker import Facts, Violation, Window
from tests.torture.guards import times_to_next_grant
from tests.torture.history import SECOND, now
from tests.torture.schedule import KILLS, WORKERS, Step, draw
from tests.torture.store import Store
from tests.torture.subjects import LEASE, LINES, MAY_EXPIRE, MAY_STAY, RULES
from tests.torture.topologies import Topology
from tests.torture.worker import STORES, Order, prepare

_ROOT = Path(__file__).resolve().parents[2]
_START_BOUND = 60.0
_END_BOUND = 60.0
"""Seconds for all owners to end once nothing is broken: each lock is passed on until all had it."""
_BETWEEN_INTERRUPTS = 0.01
_RECOVERY = int(1.0 * SECOND)
"""How long what was broken excuses a sleep: to connect anew, and for what was lost to expire."""
_RECOVERY_FROM_REFUSALS = int(0.3 * SECOND)
"""The same where the connections stayed: what was refused is repeated after a pause."""
_RECOVERY_WITH_A_LEASE = int((LEASE + 1.0) * SECOND)
"""The same where holds may be left over: of a worker, or a release that a replica has not seen."""


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    seconds: float
    processes: int = 4
    threads: int = 2
    tasks: int = 2
    way: str = "program"
    """How a worker is started: see `WAYS`."""
    calm: float = 5.0
    """Seconds without a fault at the end, in which no waiter may sleep on."""


WAYS = {
    "program": ("tests.torture.worker",),
    "guarded": ("tests.torture.worker",),
    "spawn": ("tests.torture.pool", "spawn"),
    "forkserver": ("tests.torture.pool", "forkserver"),
    "gevent": ("tests.torture.gevent_worker",),
}
"""Modules that run a worker, each with its arguments before the order.

`guarded`: as a program, each with a guard, and half of the faults kill one.
"""


@dataclass
class Worker:
    """A process full of owners, and its orders.

    `process` ends when the worker does, which multiprocessing may have started.
    """

    index: int
    order: Order
    process: subprocess.Popen[str]
    pid: int = -1
    handle: int = -1
    """The number of the worker's own process, and a descriptor of it, once it is ready."""

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline().strip()]
        if lines[0].isdigit():
            lines.append(self.process.stdout.readline().strip())
        assert lines[-1] == "ready", f"worker {self.order.name}: {self.complaints()}"
        self.pid = int(lines[0]) if lines[1:] else self.process.pid
        self.handle = os.pidfd_open(self.pid)

    def signal(self, number: int) -> None:
        """Send it a signal, if it is there."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def limit(self, free: int) -> Mend:
        """Let it open `free` more descriptors, until the mend."""
        before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        used = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (used + free, before[1]))

        def lift() -> None:
            with suppress(ProcessLookupError):
                resource.prlimit(self.pid, resource.RLIMIT_NOFILE, before)

        return lift

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def complaints(self) -> str:
        return Path(self.order.folder, f"{self.order.name}.errors").read_text()[-4000:]

    def end(self) -> str | None:
        """Have its owners end; what it complained of if that failed."""
        try:
            code = self.process.wait(_END_BOUND)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self.process.returncode
        return f"ended with {code}: {self.complaints()}" if code else None

    def close(self) -> None:
        if self.handle >= 0:
            self.signal(signal.SIGKILL)
            os.close(self.handle)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@dataclass
class Report:
    """What came of a run."""

    violations: list[Violation]
    grants: Counter[str]
    writes: Counter[str]
    results: Counter[str]
    faults: list[str] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    """See `times_to_next_grant`."""

    def __str__(self) -> str:
        lines = [f"faults: {len(self.faults)}", *self.faults]
        lines += [f"grants: {dict(self.grants)}", f"counted: {dict(self.writes)}"]
        times = ", ".join(f"{time / SECOND:.3f}" for time in self.freed)
        lines += [f"from a kill to the next grant: {times}"]
        lines += [f"results: {dict(self.results)}", *map(str, self.violations)]
        return "\n".join(lines)


class Torture:
    """One run over a topology that is up. `folder` is empty, and keeps the histories."""

    def __init__(self, topology: Topology, folder: Path, seed: int, size: Size) -> None:
        self._topology = topology
        self._folder = folder
        self._seed = seed
        self._size = size
        self._workers: list[Worker] = []
        self._started: Counter[int] = Counter()
        self._deaths: dict[str, int] = {}
        self._guarded: set[str] = set()
        self._disturbances: list[Window] = []
        self._begun: list[str] = []
        groups = topology.groups
        kills = [KILLS] * len(groups) if size.way == "guarded" else [WORKERS]
        self._steps = draw(seed, size.seconds, [*kills, *groups])

    def run(self) -> Report:
        """Torture, wait for the end, judge."""
        prepare(self._topology.urls(-1)[0], self._folder)
        with ExitStack() as stack:
            for index in range(self._size.processes):
                self._workers.append(self._start(index, stack))
            for worker in self._workers:
                worker.wait_until_ready()
            for step in self._steps:
                with self._disturbance(step):
                    self._break(step, stack)
                let_pass(step.calm)
            let_pass(self._size.calm)
            violations = self._end_workers()
        return self._report(violations)

    # ---- workers

    def _start(self, index: int, stack: ExitStack) -> Worker:
        self._started[index] += 1
        name = f"{index}.{self._started[index]}"
        size, topology = self._size, self._topology
        where = topology.urls(index), topology.replicas, str(self._folder)
        counts, greenlets = (size.threads, size.tasks), size.way == "gevent"
        order = Order(name, *where, self._seed, *counts, greenlets, self._is_guarded(index))
        if order.guarded:
            self._guarded.add(name)
        errors = stack.enter_context((self._folder / f"{name}.errors").open("w"))
        process = subprocess.Popen(
            [sys.executable, "-m", *WAYS[size.way], json.dumps(asdict(order))],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        worker = Worker(index, order, process)
        stack.callback(worker.close)
        return worker

    def _is_guarded(self, index: int) -> bool:
        """Half of the workers are, of those behind a proxy and of the others."""
        return self._size.way == "guarded" or index % 4 in {0, 3}

    def _end_workers(self) -> list[Violation]:
        for worker in self._workers:
            assert worker.process.stdin is not None
            worker.process.stdin.close()
        complaints = [(worker.order.name, worker.end()) for worker in self._workers]
        return [
            Violation("ended badly", f"worker {name}", now(), complaint)
            for name, complaint in complaints
            if complaint
        ]

    # ---- faults

    def _break(self, step: Step, stack: ExitStack) -> None:
        """One fault after the other begins, and when the last is over they end in that order."""
        mends: list[Mend] = []
        for fault in step.faults:
            mends.append(self._begin(fault, stack))
            let_pass(fault.lasts)
        for mend in mends:
            mend()
        self._topology.settle()

    @contextmanager
    def _disturbance(self, step: Step) -> Iterator[None]:
        begin = now()
        self._begun.append(f"{begin / SECOND:.3f} {step}")
        yield
        names = {fault.name for fault in step.faults if not self._is_seen_to(fault)}
        if names:
            self._disturbances.append(Window(begin, now() + self._recovery(names)))

    def _is_seen_to(self, fault: Fault) -> bool:
        """Of a worker that is killed, a guard releases what it held: that excuses no sleep."""
        return fault.name == "kill_worker" and self._is_guarded(self._number(fault))

    def _number(self, fault: Fault) -> int:
        return int(fault.arguments[0] * len(self._workers))

    def _recovery(self, names: set[str]) -> int:
        if names & WORKERS.keys() or self._topology.replicas:
            return _RECOVERY_WITH_A_LEASE
        return _RECOVERY_FROM_REFUSALS if names == {"refuse_writes"} else _RECOVERY

    def _begin(self, fault: Fault, stack: ExitStack) -> Mend:
        if fault.name not in WORKERS:
            return self._topology.begin(fault)
        number = self._number(fault)
        if fault.name == "interrupt_worker":
            return self._interrupt(self._workers[number], fault.arguments[1])
        worker = self._workers[number]
        if fault.name == "limit_worker":
            return worker.limit(fault.arguments[1])
        if fault.name == "stop_worker":
            worker.signal(signal.SIGSTOP)
            return lambda: worker.signal(signal.SIGCONT)
        return self._kill(number, stack)

    def _interrupt(self, worker: Worker, times: int) -> Mend:
        for _ in range(times):
            worker.signal(signal.SIGINT)
            let_pass(_BETWEEN_INTERRUPTS)
        return nothing

    def _kill(self, number: int, stack: ExitStack) -> Mend:
        worker = self._workers[number]
        worker.kill()
        self._deaths[worker.order.name] = now()

        def replace() -> None:
            self._workers[number] = self._start(worker.index, stack)
            self._workers[number].wait_until_ready()

        return replace

    # ---- the verdict

    def _left_behind(self, may_stay: Sequence[str]) -> list[Violation]:
        """What is there still when the leases of the dead are over."""
        found: list[Violation] = []

        def nothing() -> bool:
            keys: list[str] = []
            for server in self._topology.primaries():
                self._visit_lines(server)
                keys += _lasting_keys(server)
            channels = map(_text, self._topology.channels())
            found[:] = checker.left_behind(keys, channels, may_stay)
            return not found

        try:
            eventually(nothing, within=LEASE + 3)
        except AssertionError:
            return found
        return []

    def _visit_lines(self, server: Server) -> None:
        """The dead stay in a fair lock's line until somebody comes, who drops them."""
        lines = server.inspect.keys(f"{LINES}*")
        with Client(self._topology.urls(-1)[0]) as client:
            for line in map(_text, lines):
                lock = client.fair_lock(line.removeprefix(LINES).strip("{}"))
                if lock.acquire(blocking=False):
                    lock.release()

    def _report(self, violations: list[Violation]) -> Report:
        entries = history.read(sorted(self._folder.glob("*.history")))
        facts = Facts(RULES, self._disturbances, self._deaths, self._guarded)
        everything = checker.operations(entries)
        violations += self._left_behind([*MAY_STAY, *checker.for_good(everything, facts)])
        writes = Counter[str]()
        for path in (self._folder / STORES).iterdir():
            store = Store(path)
            writes[_kind(path.name)] += store.writes()
            if store.lost_updates():
                text = f"{store.lost_updates()} of {store.writes()}"
                violations.append(Violation("lost updates", path.name, 0, text))
        granted = (op for op in everything if op.granted)
        return Report(
            [*checker.judge(entries, facts), *violations],
            Counter(_kind(op.call.subject) for op in granted),
            writes,
            Counter(entry.result for entry in entries if entry.event == "return"),
            self._begun,
            times_to_next_grant(everything, facts),
        )


def _kind(subject: str) -> str:
    return subject.split(maxsplit=1)[0]


def _text(name: bytes) -> str:
    return name.decode(errors="replace")


def _lasting_keys(server: Server) -> list[str]:
    """Its keys without those that may be left to expire, if they will."""
    names = server.inspect.keys("*")
    return [
        _text(name)
        for name in names
        if not (_text(name).startswith(MAY_EXPIRE) and server.inspect.pttl(name) != -1)
    ]
