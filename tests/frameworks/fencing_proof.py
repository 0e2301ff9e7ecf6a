"""Stops owners at random points of a real transaction, and counts the late writes.

    python -m tests.frameworks.fencing_proof --points 100000

A point: an owner that has the lock is stopped somewhere between its grant and the end of its
transaction. Its lock is released by force, a later owner gets it and writes, and meanwhile or
afterwards the first one runs again. It does not look at its lock any more, as code that was stopped
after its last look: only the fence, if there is one, is in its way. The database counts itself,
in the statement that writes, how often a token is overwritten by a smaller one.

Owners are processes under SIGSTOP, threads that stop at an instruction of Python, and threads whose
packets to PostgreSQL are held back, then delivered or dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import mmap
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import holdfast
from holdfast.contrib.fencing import SqlFence

MODULE = "tests.frameworks.fencing_proof"
PLACES = ("idle", "before", "begun", "checked", "read", "written", "ended")
"""Where an owner is: it has the lock from `before` on, and its transaction ends after `written`."""
IDLE, BEFORE, BEGUN, CHECKED, READ, WRITTEN, ENDED = range(len(PLACES))
BOUND = 60.0
"""Seconds after which an owner that should run has a fault."""
PATIENCE = 0.004
"""Seconds after which a later owner waits for the earlier one, rather than works."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS account (name text PRIMARY KEY, token bigint NOT NULL, "
    "balance bigint NOT NULL, writes bigint NOT NULL, late bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS entry (name text NOT NULL, token bigint NOT NULL)",
)
READS = "SELECT balance FROM account WHERE name = ?"
WRITES = (
    "UPDATE account SET late = late + CASE WHEN token > ? THEN 1 ELSE 0 END, token = ?, "
    "balance = ?, writes = writes + 1 WHERE name = ?"
)


class Database:
    """Where the owners write: "sqlite:PATH" or "postgresql:CONNINFO"."""

    def __init__(self, where: str) -> None:
        self.kind, _, self.at = where.partition(":")

    def connect(self, port: int | None = None) -> Any:
        """A connection without a transaction; usable by any thread."""
        if self.kind == "sqlite":
            opened = sqlite3.connect(
                self.at, timeout=BOUND, isolation_level=None, check_same_thread=False
            )
            opened.execute("PRAGMA journal_mode=WAL")
            opened.execute("PRAGMA synchronous=OFF")
            return opened
        import psycopg

        other = {} if port is None else {"port": port}
        return psycopg.connect(self.at, autocommit=True, **other)

    def text(self, statement: str) -> str:
        return statement if self.kind == "sqlite" else statement.replace("?", "%s")

    @contextmanager
    def transaction(self, connection: Any) -> Iterator[None]:
        if self.kind != "sqlite":
            with connection.transaction():
                yield
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@dataclass
class Owner:
    """Acquires the lock, and adds one to a balance in a transaction."""

    database: Database
    client: holdfast.Client
    name: str
    fence: SqlFence | None
    port: int | None = None
    place: Any = field(default_factory=lambda: bytearray(2))
    connection: Any = None

    def turn(self, around: Callable[[Callable[[], None]], None] = lambda use: use()) -> str:
        """Do it once; says what came of it. `around` calls what follows the grant."""
        lock = self.client.fenced_lock(self.name)
        try:
            if self.connection is None:
                self.connection = self.database.connect(self.port)
            lock.acquire()
            token = lock.token
            if token is None:
                return "lost"  # stopped before it has read its token
            self.place[0] = BEFORE
            around(lambda: self.use(token))
        except holdfast.StaleTokenError:
            return "refused"
        except self.broken():
            self.connection.close()
            self.connection = None
            return "cut"
        finally:
            self.place[0] = ENDED
            with suppress(holdfast.LockError):
                lock.release()
            self.place[0] = IDLE
            self.place[1] ^= 1  # the turn is over
        return "written"

    def broken(self) -> type[Exception]:
        """What a connection raises that was cut."""
        if self.database.kind == "sqlite":
            return sqlite3.ProgrammingError  # none is
        import psycopg

        return psycopg.OperationalError

    def use(self, token: int) -> None:
        text, connection = self.database.text, self.connection
        hashlib.sha256(bytes(10_000)).digest()  # other work under the lock
        with self.database.transaction(connection):
            self.place[0] = BEGUN
            if self.fence is not None:
                self.fence.check(connection, self.name, token)
            self.place[0] = CHECKED
            [balance] = connection.execute(text(READS), (self.name,)).fetchone()
            self.place[0] = READ
            connection.execute(text("INSERT INTO entry VALUES (?, ?)"), (self.name, token))
            connection.execute(text(WRITES), (token, token, balance + 1, self.name))
            self.place[0] = WRITTEN
        self.place[0] = ENDED

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.client.close()


class ByTrace:
    """A thread that stops before an instruction of Python."""

    def __init__(self, owner: Owner, chance: random.Random) -> None:
        self.owner, self._chance = owner, chance
        self._pool = ThreadPoolExecutor(1)
        self._turn: Future[str] = Future()
        self._count, self._stop_at, self._events = 0, -1, 1000
        self._paused, self._resumed = threading.Event(), threading.Event()

    def begin(self) -> int:
        """Begin a turn, and return its place where the owner is stopped."""
        self._count, self._stop_at = 0, self._chance.randrange(self._events)
        self._paused.clear()
        self._resumed.clear()
        self._turn = self._pool.submit(self.owner.turn, self._traced)
        self._turn.add_done_callback(lambda turn: self._paused.set())
        assert self._paused.wait(BOUND)
        return int(self.owner.place[0])

    def _traced(self, use: Callable[[], None]) -> None:
        sys.settrace(self._event)
        try:
            use()
            self._events = self._count
        finally:
            sys.settrace(None)

    def _event(self, frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        self._count += 1
        if self._count == self._stop_at:
            self._paused.set()
            assert self._resumed.wait(BOUND)
        return self._event

    def resume(self) -> str:
        """Let the owner run to its end."""
        self._resumed.set()
        return self._turn.result(BOUND)

    def close(self) -> None:
        self._pool.shutdown()
        self.owner.close()


class ByNetwork:
    """A thread whose packets to the database, or those to it, stop; then arrive, or never do."""

    def __init__(self, owner: Owner, chance: random.Random) -> None:
        import psycopg

        self.owner, self._chance = owner, chance
        self._target = int(psycopg.conninfo.conninfo_to_dict(owner.database.at)["port"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        owner.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        self._pool = ThreadPoolExecutor(1)
        self._turn: Future[str] = Future()
        self._mutex = threading.Lock()
        self._count, self._stop_at, self._packets = 0, -1, 12
        self._stopped, self._open = threading.Event(), threading.Event()
        self._drops = False

    def begin(self) -> int:
        self._stopped.clear()
        self._open.clear()
        self._drops = self._chance.random() < 0.5
        self._turn = self._pool.submit(self.owner.turn, self._counted)
        self._turn.add_done_callback(lambda turn: self._stopped.set())
        assert self._stopped.wait(BOUND)
        return int(self.owner.place[0])

    def _counted(self, use: Callable[[], None]) -> None:
        with self._mutex:
            self._count, self._stop_at = 0, self._chance.randrange(self._packets)
        use()
        self._packets = self._count

    def resume(self) -> str:
        self._open.set()
        result = self._turn.result(BOUND)
        self._stop_at = -1
        return result

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far)
            back.join()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while packet := source.recv(65536):
                if self._stops_here():
                    self._stopped.set()
                    self._open.wait(BOUND)
                    if self._drops:
                        break
                target.sendall(packet)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _stops_here(self) -> bool:
        with self._mutex:
            self._count += 1
            return self._count - 1 == self._stop_at

    def close(self) -> None:
        self._listener.close()
        self._pool.shutdown()
        self.owner.close()


class BySignal:
    """A process that is stopped by SIGSTOP, after a time."""

    def __init__(self, owner: Owner, chance: random.Random) -> None:
        self.owner, self._chance = owner, chance
        shared = tempfile.NamedTemporaryFile()  # noqa: SIM115 - the mapping keeps it
        shared.truncate(mmap.PAGESIZE)
        self._place = mmap.mmap(shared.fileno(), mmap.PAGESIZE)
        database, url = owner.database, owner.client.url
        where = f"{database.kind}:{database.at}"
        command = [sys.executable, "-m", MODULE, "--owner", where, url, owner.name]
        command += [shared.name, str(int(owner.fence is not None))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        self._ask()
        shared.close()
        self._takes = 0.003
        for _ in range(20):  # warm
            self._ask()

    def _tell(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("turn\n")

    def _answer(self) -> str:
        assert self._process.stdout
        answer = self._process.stdout.readline().strip()
        assert answer, "the owner's process has ended"
        return answer

    def _ask(self) -> str:
        self._tell()
        return self._answer()

    def begin(self) -> int:
        turn = self._place[1]
        self._tell()
        while self._place[0] in {IDLE, ENDED} and self._place[1] == turn:
            time.sleep(0.00005)
        time.sleep(self._chance.random() * self._takes)
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)
        place = self._place[0]
        # The wanted time is that in which most points hit.
        self._takes *= 0.99 if place in {IDLE, ENDED} else 1.003
        return place

    def resume(self) -> str:
        self._process.send_signal(signal.SIGCONT)
        return self._answer()

    def close(self) -> None:
        self._process.communicate(timeout=BOUND)
        self.owner.close()


STOPS: dict[str, Any] = {"process": BySignal, "thread": ByTrace, "network": ByNetwork}
ROWS = (
    ("process", "sqlite"), ("thread", "sqlite"),
    ("process", "postgresql"), ("thread", "postgresql"), ("network", "postgresql"),
)  # fmt: skip


@dataclass
class Result:
    """The figures of some points."""

    points: int = 0
    late: int = 0
    """Writes with a smaller token than that of the last write."""
    lost: int = 0
    """Updates that a later write has undone."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of the stopped owners."""
    places: Counter[str] = field(default_factory=Counter)
    """Where they were stopped."""

    def __add__(self, other: Result) -> Result:
        return Result(
            self.points + other.points,
            self.late + other.late,
            self.lost + other.lost,
            self.outcomes + other.outcomes,
            self.places + other.places,
        )


def prove(stop: str, where: str, url: str, *, points: int, fence: bool, seed: int = 1) -> Result:
    """Stop owners at this number of points; see the module."""
    database, chance = Database(where), random.Random(seed)
    name = f"{stop}-{seed}-{fence}"
    prepare(database, name)
    used = SqlFence() if fence else None
    first, later = (Owner(database, holdfast.Client(url), name, used) for _ in range(2))
    stopped = STOPS[stop](first, chance)
    result = Result()
    text = database.text("SELECT late, writes - balance FROM account WHERE name = ?")
    late = lost = 0
    with ThreadPoolExecutor(1) as pool:
        while result.points < points:
            place, outcome = one_point(stopped, later, pool, chance)
            before = late, lost
            late, lost = later.connection.execute(text, (name,)).fetchone()
            if fence or BEFORE <= place < ENDED:  # a late write elsewhere would be a fault, too
                result.late += late - before[0]
                result.lost += lost - before[1]
            if BEFORE <= place < ENDED:
                result.points += 1
                result.places[PLACES[place]] += 1
                result.outcomes[outcome] += 1
    stopped.close()
    later.close()
    return result


def prepare(database: Database, name: str) -> None:
    connection = database.connect()
    SqlFence().create(connection)
    for table in TABLES:
        with suppress(Exception):  # another worker makes it
            connection.execute(table)
    new = "INSERT INTO account VALUES (?, 0, 0, 0, 0)"
    connection.execute(database.text(new), (name,))
    connection.close()


def one_point(
    stopped: Any, later: Owner, pool: ThreadPoolExecutor, chance: random.Random
) -> tuple[int, str]:
    """The place where the first owner was stopped, and what came of its turn."""
    place = stopped.begin()
    later.client.fenced_lock(later.name).force_release()
    turn = pool.submit(later.turn)
    with suppress(NotYet):  # the first one has locked the row, or runs again in between
        turn.result(PATIENCE if chance.random() < 0.7 else chance.random() * PATIENCE)
    outcome = stopped.resume()
    assert turn.result(BOUND) == "written"
    return place, outcome


def share(arguments: tuple[str, str, str, int, bool, int]) -> Result:
    """The points of one worker."""
    stop, where, url, points, fence, seed = arguments
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)  # each loss would be a line
    return prove(stop, where, url, points=points, fence=fence, seed=seed)


def row(stop: str, where: str, url: str, *, points: int, fence: bool, workers: int) -> Result:
    """This number of points by several workers, each with its own lock and account."""
    context = multiprocessing.get_context("spawn")
    each = [points // workers + (at < points % workers) for at in range(workers)]
    with tempfile.TemporaryDirectory() as folder, context.Pool(workers) as pool:
        places = [f"{where}:{folder}/{at}" if where == "sqlite" else where for at in range(workers)]
        tasks = [
            (stop, places[at], url, each[at], fence, at + 1) for at in range(workers) if each[at]
        ]
        return sum(pool.map(share, tasks, chunksize=1), Result())


def prove_all(rows: Sequence[tuple[str, str]], points: int, without: int, workers: int) -> int:
    """Print the table of docs/guides/fencing.md; return how much of it is not as promised."""
    from tests.frameworks.postgres import Postgres
    from tests.support.servers import Server

    postgres, faults = Postgres(), 0
    at = postgres.environment
    conninfo = f"host={at['PGHOST']} port={at['PGPORT']} user={at['PGUSER']} dbname=postgres"
    print("| stopped | database | fence | points | refused | cut | late writes | lost updates |")
    print("|---|---|---|---|---|---|---|---|")
    all_places: Counter[str] = Counter()
    with Server("redis") as server:
        for (stop, kind), fence in ((row, fence) for row in rows for fence in (True, False)):
            wanted = (points if fence else without) // len(rows)
            where = kind if kind == "sqlite" else f"{kind}:{conninfo}"
            begun = time.monotonic()
            result = row(stop, where, server.url, points=wanted, fence=fence, workers=workers)
            figures = [result.points, result.outcomes["refused"], result.outcomes["cut"]]
            cells = [stop, kind, "yes" if fence else "no", *figures, result.late, result.lost]
            print("|", " | ".join(map(str, cells)), "|", flush=True)
            taken = time.monotonic() - begun
            print(f"{result.points / taken:.0f} points/s", dict(result.places), file=sys.stderr)
            all_places += result.places
            faults += result.late + result.lost if fence else int(result.late == 0)
    postgres.close()
    print("stopped at:", dict(all_places))
    return faults


def main() -> int:
    if sys.argv[1:2] == ["--owner"]:
        be_owner(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="with the fence")
    parser.add_argument("--without", type=int, default=200, help="points without the fence")
    parser.add_argument("--workers", type=int, default=4)
    names = {f"{stop}-{kind}": (stop, kind) for stop, kind in ROWS}
    parser.add_argument("--rows", nargs="+", choices=names, default=list(names), help="usually all")
    given = parser.parse_args()
    rows = [names[name] for name in given.rows]
    return int(prove_all(rows, given.points, given.without, given.workers) > 0)


def be_owner(arguments: Sequence[str]) -> None:
    """The process of `BySignal`."""
    where, url, name, shared, fence = arguments
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)
    with open(shared, "r+b") as file:  # noqa: PTH123
        place = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    client = holdfast.Client(url)
    used = SqlFence() if fence == "1" else None
    owner = Owner(Database(where), client, name, used, place=place)
    for _ in sys.stdin:
        print(owner.turn(), flush=True)
    client.close()


if __name__ == "__main__":
    sys.exit(main())
