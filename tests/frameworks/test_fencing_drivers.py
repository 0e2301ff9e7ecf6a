"""`holdfast.contrib.fencing` with every kind of connection, on PostgreSQL and SQLite."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from holdfast.contrib.fencing import SqlFence, fenced
from tests.frameworks import fencing_proof
from tests.frameworks.postgres import Postgres
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

psycopg = pytest.importorskip("psycopg")
asyncpg = pytest.importorskip("asyncpg")
pytest.importorskip("aiosqlite")
sqlalchemy = pytest.importorskip("sqlalchemy")
sqlalchemy_asyncio = importlib.import_module("sqlalchemy.ext.asyncio")
orm = importlib.import_module("sqlalchemy.orm")
django = pytest.importorskip("django")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

NAME = "report"
LATE, LATER = 41, 42
FENCE = SqlFence()


class Rollback(Exception):
    """Ends a transaction."""


class Way:
    """A connection of one kind, used by one thread; with `alone` each statement is committed."""

    def __init__(self, databases: Databases, alone: bool) -> None:
        self.databases = databases
        self._thread = ThreadPoolExecutor(1)
        self.block: Any = None
        self.connection: Any = self.do(self.open_alone if alone else self.open)

    def begin(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._thread.submit(function, *args)

    def do(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.begin(function, *args).result(60)

    def open(self) -> Any:
        raise NotImplementedError

    def open_alone(self) -> Any:
        return self.open()

    def shut(self) -> None:
        self.connection.close()

    def transaction(self) -> Any:
        """A block of the driver's own."""
        return self.connection.transaction()

    def run(self, statement: str) -> Any:
        self.connection.execute(statement)

    def check(self, token: int) -> Any:
        FENCE.check(self.connection, NAME, token)

    def enter(self) -> None:
        self.block = self.transaction()
        self.block.__enter__()

    def leave(self, error: BaseException | None = None) -> None:
        self.block.__exit__(type(error) if error else None, error, None)

    def enter_and_check(self, token: int) -> Any:
        self.enter()
        self.check(token)

    def bodies(self) -> Any:
        """What the table has, read by another connection."""
        return self.databases.bodies("lite" in type(self).__name__)

    def write_fenced(self, url: str, body: str) -> int:
        with (
            holdfast.Client(url) as client,
            fenced(client.fenced_lock(NAME), FENCE, self.connection) as lock,
        ):
            self.run(f"INSERT INTO report VALUES ('{body}')")
            return int(lock.token or 0)

    def close(self) -> None:
        self.do(self.shut)
        self._thread.shutdown()


class AsyncWay(Way):
    """The same, with an event loop in the thread."""

    def __init__(self, databases: Databases, alone: bool) -> None:
        self._loop = asyncio.new_event_loop()
        super().__init__(databases, alone)

    def begin(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        return super().begin(lambda: self._loop.run_until_complete(function(*args)))

    async def open_alone(self) -> Any:
        return await self.open()

    async def shut(self) -> None:
        await self.connection.close()

    async def run(self, statement: str) -> Any:
        await self.connection.execute(statement)

    async def check(self, token: int) -> Any:
        await FENCE.check(self.connection, NAME, token)

    async def enter(self) -> None:
        self.block = self.transaction()
        await self.block.__aenter__()

    async def leave(self, error: BaseException | None = None) -> None:
        await self.block.__aexit__(type(error) if error else None, error, None)

    async def enter_and_check(self, token: int) -> Any:
        await self.enter()
        await self.check(token)

    async def bodies(self) -> Any:
        return super().bodies()

    async def write_fenced(self, url: str, body: str) -> int:
        async with (
            holdfast.asyncio.Client(url) as client,
            fenced(client.fenced_lock(NAME), FENCE, self.connection) as lock,
        ):
            await self.run(f"INSERT INTO report VALUES ('{body}')")
            return int(lock.token or 0)

    def close(self) -> None:
        super().close()
        self._loop.close()


class Psycopg(Way):
    def open(self) -> Any:
        rows = importlib.import_module("psycopg.rows")
        return psycopg.connect(self.databases.conninfo, autocommit=True, row_factory=rows.dict_row)


class PsycopgAsync(AsyncWay):
    async def open(self) -> Any:
        connect = psycopg.AsyncConnection.connect
        return await connect(self.databases.conninfo, autocommit=True)


class Asyncpg(AsyncWay):
    async def open(self) -> Any:
        return await asyncpg.connect(self.databases.url)


class AsyncpgPool(AsyncWay):
    async def open(self) -> Any:
        self.pool = await asyncpg.create_pool(self.databases.url, min_size=1, max_size=1)
        return await self.pool.acquire()

    async def shut(self) -> None:
        await self.connection.close()
        await self.pool.close()


class SqlAlchemy(Way):
    driver = "postgresql+psycopg"

    def engine(self, **options: Any) -> Any:
        url = self.databases.for_sqlalchemy(self.driver)
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool, **options)

    def open(self) -> Any:
        return self.engine().connect()

    def open_alone(self) -> Any:
        return self.engine(isolation_level="AUTOCOMMIT").connect()

    def transaction(self) -> Any:
        return self.connection.begin()

    def run(self, statement: str) -> Any:
        self.connection.execute(sqlalchemy.text(statement))


class SqlAlchemySession(SqlAlchemy):
    def open(self) -> Any:
        return orm.Session(self.engine())

    def open_alone(self) -> Any:
        return orm.Session(self.engine(isolation_level="AUTOCOMMIT"))


class SqlAlchemySqlite(SqlAlchemy):
    driver = "sqlite"


class SqlAlchemyAsync(AsyncWay):
    driver = "postgresql+asyncpg"

    def engine(self, **options: Any) -> Any:
        url = self.databases.for_sqlalchemy(self.driver)
        pool = sqlalchemy.pool.NullPool
        return sqlalchemy_asyncio.create_async_engine(url, poolclass=pool, **options)

    async def open(self) -> Any:
        return await self.engine().connect()

    async def open_alone(self) -> Any:
        return await self.engine(isolation_level="AUTOCOMMIT").connect()

    def transaction(self) -> Any:
        return self.connection.begin()

    async def run(self, statement: str) -> Any:
        await self.connection.execute(sqlalchemy.text(statement))


class SqlAlchemyAsyncSession(SqlAlchemyAsync):
    async def open(self) -> Any:
        return sqlalchemy_asyncio.AsyncSession(self.engine())

    async def open_alone(self) -> Any:
        return sqlalchemy_asyncio.AsyncSession(self.engine(isolation_level="AUTOCOMMIT"))


class SqlAlchemyAsyncSqlite(SqlAlchemyAsync):
    driver = "sqlite+aiosqlite"


class Django(Way):
    alias = "default"

    def open(self) -> Any:
        self.databases.set_up_django()
        from django.db import connections

        return connections[self.alias]

    def transaction(self) -> Any:
        from django.db import transaction

        return transaction.atomic(using=self.alias)

    def run(self, statement: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)


class DjangoProxy(Django):
    def open(self) -> Any:
        super().open()
        from django.db import connection

        return connection


class DjangoSqlite(Django):
    alias = "lite"


WAYS: list[type[Way]] = [
    Psycopg, PsycopgAsync, Asyncpg, AsyncpgPool, SqlAlchemy, SqlAlchemySession, SqlAlchemySqlite,
    SqlAlchemyAsync, SqlAlchemyAsyncSession, SqlAlchemyAsyncSqlite, Django, DjangoProxy,
    DjangoSqlite,
]  # fmt: skip


class Databases:
    """A PostgreSQL server and a file of SQLite."""

    def __init__(self, folder: Path) -> None:
        self.postgres = Postgres()
        at = self.postgres.environment
        self.conninfo = f"host={at['PGHOST']} port={at['PGPORT']} user={at['PGUSER']}"
        self.conninfo += " dbname=postgres"
        self.url = f"postgresql://{at['PGUSER']}@{at['PGHOST']}:{at['PGPORT']}/postgres"
        self.file = folder / "database"

    def for_sqlalchemy(self, driver: str) -> str:
        if driver.startswith("sqlite"):
            return f"{driver}:///{self.file}"
        return self.url.replace("postgresql", driver, 1)

    def bodies(self, lite: bool) -> list[str]:
        opened = sqlite3.connect(self.file) if lite else self.postgres.connect()
        with closing(opened) as connection:
            return [body for [body] in connection.execute("SELECT body FROM report").fetchall()]

    def set_up_django(self) -> None:
        from django.conf import settings

        at = self.postgres.environment
        postgres = {
            "ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "HOST": at["PGHOST"],
            "PORT": at["PGPORT"], "USER": at["PGUSER"],
        }  # fmt: skip
        sqlite = {
            "ENGINE": "django.db.backends.sqlite3", "NAME": self.file, "OPTIONS": {"timeout": 30}
        }  # fmt: skip
        if not settings.configured:
            settings.configure()
        django.setup()
        from django.db import connections

        connections.settings = connections.configure_settings({"default": postgres, "lite": sqlite})


@pytest.fixture(scope="module")
def own_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    databases = Databases(tmp_path_factory.mktemp("fencing"))
    yield databases
    databases.postgres.close()


@pytest.fixture
def databases(own_databases: Databases) -> Databases:
    """Without tables."""
    own_databases.file.unlink(missing_ok=True)
    with own_databases.postgres.connect(autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS holdfast_fence, report")
    return own_databases


Open = Callable[..., Any]


@pytest.fixture(params=WAYS, ids=lambda kind: kind.__name__)
def open_way(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Open]:
    """Make connections of one kind; the tables are there, made by the first."""
    ways: list[Any] = []

    def open_way(alone: bool = False) -> Any:
        ways.append(request.param(databases, alone))
        return ways[-1]

    first = open_way()
    first.do(first.enter)
    first.do(FENCE.create, first.connection)
    first.do(first.run, "CREATE TABLE report (body text)")
    first.do(first.leave)
    yield open_way
    for way in ways:
        way.close()


@contextmanager
def transaction(way: Any) -> Iterator[None]:
    """Committed, or rolled back by an error."""
    way.do(way.enter)
    try:
        yield
    except BaseException as error:
        way.do(way.leave, error)
        raise
    way.do(way.leave)


def test_a_later_token_is_seen_and_an_earlier_one_refused(open_way: Open) -> None:
    way = open_way()
    for token in (LATE, LATER, LATER):
        with transaction(way):
            way.do(way.check, token)
    said = "token 41 of 'report' is stale: .* has seen token 42"
    with pytest.raises(holdfast.StaleTokenError, match=said), transaction(way):
        way.do(way.check, LATE)


@pytest.mark.parametrize("fails", [False, True], ids=["commit", "rollback"])
def test_an_earlier_owner_waits_for_the_end_of_a_later_one_s_transaction(
    fails: bool, open_way: Open, databases: Databases
) -> None:
    later, late = open_way(), open_way()
    later.do(later.enter)
    later.do(later.check, LATER)
    checked = late.begin(late.enter_and_check, LATE)
    if "Sqlite" not in type(late).__name__:
        eventually(lambda: waits(databases.postgres), within=30)
    assert not checked.done()
    later.do(later.leave, Rollback() if fails else None)
    error = checked.exception(60)
    assert isinstance(error, holdfast.StaleTokenError) == (not fails), error
    late.do(late.leave, error)


def waits(postgres: Postgres) -> bool:
    """Whether a session waits for another one's lock."""
    with postgres.connect() as watcher:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return bool(watcher.execute(waiting).fetchone() == (1,))


def test_a_check_without_a_transaction_is_refused(open_way: Open) -> None:
    way = open_way(alone=True)
    with pytest.raises(RuntimeError, match="no transaction is open"):
        way.do(way.check, LATER)
    other = open_way()
    with transaction(other):
        other.do(other.check, LATE)  # nothing was recorded


def test_a_fenced_block_is_one_transaction(open_way: Open, server: Server) -> None:
    way, other = open_way(), open_way()
    token = way.do(way.write_fenced, server.url, "first")
    with pytest.raises(holdfast.StaleTokenError), transaction(other):
        other.do(other.check, token - 1)
    assert other.do(other.write_fenced, server.url, "second") > token
    assert way.do(way.bodies) == ["first", "second"]


def test_a_fenced_block_in_an_open_transaction_is_refused(open_way: Open, server: Server) -> None:
    way = open_way()
    way.do(way.enter)
    way.do(way.check, 1)
    with pytest.raises(RuntimeError, match=r"transaction is open|durable"):
        way.do(way.write_fenced, server.url, "first")
    way.do(way.leave, Rollback())
    with holdfast.Client(server.url) as client:
        assert not client.fenced_lock(NAME).locked()
    assert way.do(way.bodies) == []


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_check_that_has_waited_is_a_serialization_error_at_higher_levels(
    level: str, databases: Databases
) -> None:
    with databases.postgres.connect() as connection:
        FENCE.create(connection)
        FENCE.check(connection, NAME, 1)
    later, late = (databases.postgres.connect() for _ in range(2))
    late.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
    late.commit()
    FENCE.check(later, NAME, LATER)
    with ThreadPoolExecutor(1) as pool:
        checked = pool.submit(FENCE.check, late, NAME, LATE)
        eventually(lambda: waits(databases.postgres), within=30)
        later.commit()
        assert isinstance(checked.exception(BOUND), psycopg.errors.SerializationFailure)
    late.rollback()
    with pytest.raises(holdfast.StaleTokenError):
        FENCE.check(late, NAME, LATE)
    late.close()
    later.close()


def test_two_that_create_the_table_at_once_both_succeed(databases: Databases) -> None:
    one, other = (databases.postgres.connect() for _ in range(2))
    FENCE.create(one)
    with ThreadPoolExecutor(1) as pool:
        created = pool.submit(FENCE.create, other)
        eventually(lambda: waits(databases.postgres), within=30)
        one.commit()
        created.result(BOUND)
    FENCE.check(other, NAME, LATER)
    other.commit()
    one.close()
    other.close()


def test_a_database_that_is_not_supported_is_refused() -> None:
    pytest.importorskip("sqlalchemy.dialects.mysql")
    engine = sqlalchemy.create_mock_engine("mysql+pymysql://", lambda *statement: None)
    connection = object.__new__(sqlalchemy.engine.Connection)
    connection.dialect = engine.dialect
    with pytest.raises(TypeError, match="PostgreSQL or SQLite, not mysql"):
        FENCE.check(connection, NAME, LATER)


@pytest.mark.parametrize(("stop", "kind"), fencing_proof.ROWS)
def test_no_late_write_passes_the_fence_at_random_points_of_a_transaction(
    stop: str, kind: str, databases: Databases, server: Server
) -> None:
    """2: processes, threads and the network."""
    where = f"sqlite:{databases.file}" if kind == "sqlite" else f"postgresql:{databases.conninfo}"
    proved = fencing_proof.prove(stop, where, server.url, points=200, fence=True)
    assert (proved.points, proved.late, proved.lost) == (200, 0, 0)
    unfenced = (
        fencing_proof.prove(stop, where, server.url, points=40, fence=False, seed=seed)
        for seed in range(1, 11)  # the points are random: 40 may all be others
    )
    assert any(each.late for each in unfenced)
