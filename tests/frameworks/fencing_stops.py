"""Stops owners of `fenced()` past their lease, on every kind of connection and isolation level.

    python -m tests.frameworks.fencing_stops --owners 300

An owner is a process that reads a balance in PostgreSQL and writes it plus one, by the helper that
users have. SIGSTOP stops it at a random point after its grant, until its lease is over; a later
owner gets the lock and writes, before or while the first one goes on. PostgreSQL counts the writes
that replace a greater token, and at the end the updates that are missing in the balance. Without
the fence, by psycopg, owners look at nothing after their grant.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import holdfast
import holdfast.asyncio
from holdfast.contrib.fencing import SqlFence, fenced
from tests.frameworks import ways
from tests.frameworks.fencing_proof import BOUND, PATIENCE, TABLES

KINDS = (
    "Psycopg", "PsycopgAsync", "Asyncpg", "SqlAlchemy", "SqlAlchemySession",
    "SqlAlchemyAsyncSession", "Django",
)  # fmt: skip
LEVELS = ("read committed", "repeatable read", "serializable")
LEASE = 1.0
"""Seconds after which a stopped owner has lost its lock."""
SEEN = "CREATE TABLE seen (owner text PRIMARY KEY, balance bigint NOT NULL)"


def statements(owner: str, name: str, token: int | None) -> Iterator[str]:
    """The read and the write of an owner, which may be stopped in between."""
    if token is None:
        msg = "it was stopped before it has read its token"
        raise holdfast.LockLostError(msg)
    yield f"DELETE FROM seen WHERE owner = '{owner}'"
    yield f"INSERT INTO seen SELECT '{owner}', balance FROM account WHERE name = '{name}'"
    yield (
        f"UPDATE account SET late = late + CASE WHEN token > {token} THEN 1 ELSE 0 END, "
        f"balance = (SELECT balance + 1 FROM seen WHERE owner = '{owner}'), "
        f"token = {token}, writes = writes + 1 WHERE name = '{name}'"
    )


class Owner:
    """Takes turns on an account whose name is that of its lock."""

    def __init__(self, way: Any, client: Any, name: str, owner: str, fence: bool) -> None:
        self._way, self._name, self._owner = way, name, f"{owner} of {name}"
        self._lock = client.fenced_lock(name)
        self._fence = SqlFence() if fence else None

    def turn(self) -> None:
        if self._fence is None:
            self._unfenced()
            return
        with fenced(self._lock, self._fence, self._way.connection):
            for statement in statements(self._owner, self._name, self._lock.token):
                self._way.run(statement)

    def _unfenced(self) -> None:
        with suppress(holdfast.LockError), self._lock:
            token = self._lock.token
            with self._way.transaction():
                for statement in statements(self._owner, self._name, token):
                    self._way.run(statement)

    async def async_turn(self) -> None:
        async with fenced(self._lock, self._fence or SqlFence(), self._way.connection):
            for statement in statements(self._owner, self._name, self._lock.token):
                await self._way.run(statement)

    def outcome(self) -> str:
        """Take a turn; what came of it."""
        is_async = isinstance(self._way, ways.AsyncWay)
        try:
            self._way.do(self.async_turn if is_async else self.turn)
        except holdfast.StaleTokenError:
            return "refused"
        except holdfast.LockLostError:
            return "lost"
        except Exception as error:
            if "could not serialize" not in str(error):
                raise
            return "conflict"
        return "written"


def be_owner(kind: str, database: str, url: str, name: str, fence: str) -> None:
    """The process of an owner: a turn for each line."""
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)
    at = SimpleNamespace(environment=dict(os.environ))
    way = getattr(ways, kind)(ways.Databases(Path(), at, database), False)
    asynchronous = isinstance(way, ways.AsyncWay)
    client: Any = (holdfast.asyncio if asynchronous else holdfast).Client(url, lease=LEASE)
    owner = Owner(way, client, name, "first", fence == "yes")
    for _ in sys.stdin:
        print(owner.outcome(), flush=True)
    os._exit(0)  # its lock may be lost, and its event loop has ended


class Stopped:
    """The process, stopped while it has the lock."""

    def __init__(self, kind: str, place: Place, name: str, fence: bool) -> None:
        command = [sys.executable, "-m", __spec__.name if __spec__ else "", "--owner", kind]
        command += [place.database, place.url, name, "yes" if fence else "no"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            cwd=Path(__file__).parents[2], env={**os.environ, **place.environment},
        )  # fmt: skip
        self._takes = 0.01
        for _ in range(3):  # warm
            self._tell()
            self.answer()

    def _tell(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("turn\n")

    def answer(self) -> str:
        assert self._process.stdout
        answer = self._process.stdout.readline().strip()
        assert answer, "the owner's process has ended"
        return answer

    def stop(self, chance: random.Random, has_lock: Callable[[], bool]) -> bool:
        """Stop it in a turn; ``False``, and the turn is over, if it had no lock then."""
        self._tell()
        time.sleep(chance.random() * self._takes)
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)
        ended = bool(select.select([self._process.stdout], [], [], 0)[0])
        if not ended and has_lock():
            return True
        self._takes *= 0.9 if ended else 1.1
        self.resume()
        self.answer()
        return False

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._process.communicate(timeout=BOUND)


class Place(NamedTuple):
    """Where owners meet."""

    url: str
    environment: dict[str, str]
    database: str


class Row(NamedTuple):
    """Owners of one kind at one level."""

    kind: str
    level: str
    fence: bool
    owners: int
    seed: int


@contextmanager
def later_owner(place: Place, name: str, fence: bool) -> Iterator[Any]:
    """A function that takes the turn of the later owner, and the client of its lock."""
    at = SimpleNamespace(environment=place.environment)
    databases = ways.Databases(Path(), at, place.database)
    way: Any = ways.Psycopg(databases, False)
    client = holdfast.Client(place.url)
    owner = Owner(way, client, name, "later", fence)

    def turn() -> str:
        outcome = "conflict"
        while outcome == "conflict":
            outcome = owner.outcome()
        return outcome

    yield turn, way, client
    way.close()
    client.close()


def stop_owners(place: Place, row: Row) -> Counter[str]:
    """Stop a number of owners, one after the other; the figures."""
    name = f"{row.kind}-{row.level}-{row.fence}".replace(" ", "-")
    chance, figures = random.Random(row.seed), Counter[str]()
    with ExitStack() as stack:
        turn, way, client = stack.enter_context(later_owner(place, name, row.fence))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        way.do(way.run, f"INSERT INTO account VALUES ('{name}', 0, 0, 0, 0)")
        stopped = Stopped(row.kind, place, name, row.fence)
        stack.callback(stopped.close)
        lock = client.fenced_lock(name)
        while figures["stops"] < row.owners:
            if not stopped.stop(chance, lock.locked):
                continue
            until(lambda: not lock.locked())
            later: Future[str] = pool.submit(turn)
            with suppress(NotYet):  # the first one has locked the row
                later.result(chance.random() * 2 * PATIENCE)
            stopped.resume()
            figures[stopped.answer()] += 1
            figures["honest"] += later.result(BOUND) != "written"
            figures["stops"] += 1
        late, lost = way.do(totals, way.connection, name)
    return figures + Counter(late=late, undone=lost)


def until(condition: Callable[[], bool]) -> None:
    bound = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < bound
        time.sleep(0.01)


def totals(connection: Any, name: str) -> tuple[int, int]:
    found = connection.execute(
        "SELECT late, writes - balance AS lost FROM account WHERE name = %s", (name,)
    ).fetchone()
    return found["late"], found["lost"]


def prepare(postgres: Any, level: str) -> str:
    """A database whose transactions have this level; its name."""
    name = level.replace(" ", "_")
    with postgres.connect(autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        change = f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'"
        connection.execute(change)
    with postgres.connect(name) as connection:
        SqlFence().create(connection)
        for table in (TABLES[0], SEEN):
            connection.execute(table)
    return name


def rows_of(owners: int, without: int) -> Iterator[Row]:
    cells = [(kind, level) for level in LEVELS for kind in KINDS]
    for at, (kind, level) in enumerate(cells):
        yield Row(kind, level, True, owners // len(cells) + (at < owners % len(cells)), at)
    yield Row("Psycopg", LEVELS[0], False, without, len(cells))


def run(owners: int, without: int, workers: int) -> int:
    """Print the table; return how much of it is not as promised."""
    from tests.frameworks.postgres import Postgres
    from tests.support.servers import Server

    logging.getLogger("holdfast").setLevel(logging.CRITICAL)  # each loss would be a line
    postgres, total, faults = Postgres(), Counter[str](), 0
    columns = ("stops", "written", "refused", "lost", "conflict", "honest", "late", "undone")
    print("| connection | isolation | fence |", " | ".join(columns), "|")
    print("|---" * (3 + len(columns)) + "|")
    with Server("redis") as server, ThreadPoolExecutor(workers) as pool:
        names = {level: prepare(postgres, level) for level in LEVELS}

        def figures_of(row: Row) -> tuple[Row, Counter[str]]:
            place = Place(server.url, postgres.environment, names[row.level])
            return row, stop_owners(place, row)

        for row, figures in pool.map(figures_of, rows_of(owners, without)):
            cells = [row.kind, row.level, "yes" if row.fence else "no"]
            print("|", " | ".join([*cells, *(str(figures[each]) for each in columns)]), "|")
            sys.stdout.flush()
            wrong = figures["late"] + figures["undone"]
            faults += wrong + figures["honest"] if row.fence else not wrong
            total += figures if row.fence else Counter()
    postgres.close()
    print("with the fence:", dict(total))
    return faults


def main() -> int:
    if sys.argv[1:2] == ["--owner"]:
        be_owner(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=300, help="stopped with the fence")
    parser.add_argument("--without", type=int, default=40, help="stopped without it")
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    return int(run(given.owners, given.without, given.workers) > 0)


if __name__ == "__main__":
    sys.exit(main())
