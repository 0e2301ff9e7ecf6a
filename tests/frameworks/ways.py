"""A connection of each kind that `holdfast.contrib.fencing` knows, to PostgreSQL and SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import holdfast
import holdfast.asyncio
from holdfast.contrib.fencing import SqlFence, fenced
from tests.frameworks.postgres import Postgres

NAME = "report"
FENCE = SqlFence()


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

    def write_fenced(self, url: str, body: str, *then: str) -> int:
        with (
            holdfast.Client(url) as client,
            fenced(client.fenced_lock(NAME), FENCE, self.connection) as lock,
        ):
            self.run(f"INSERT INTO report VALUES ('{body}')")
            for statement in then:
                self.run(statement)
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

    async def write_fenced(self, url: str, body: str, *then: str) -> int:
        async with (
            holdfast.asyncio.Client(url) as client,
            fenced(client.fenced_lock(NAME), FENCE, self.connection) as lock,
        ):
            await self.run(f"INSERT INTO report VALUES ('{body}')")
            for statement in then:
                await self.run(statement)
            return int(lock.token or 0)

    def close(self) -> None:
        super().close()
        self._loop.close()


class Psycopg(Way):
    def open(self) -> Any:
        rows = import_module("psycopg.rows").dict_row
        connect = import_module("psycopg").connect
        return connect(self.databases.conninfo, autocommit=True, row_factory=rows)


class PsycopgAsync(AsyncWay):
    async def open(self) -> Any:
        connect = import_module("psycopg").AsyncConnection.connect
        return await connect(self.databases.conninfo, autocommit=True)


class Asyncpg(AsyncWay):
    async def open(self) -> Any:
        return await import_module("asyncpg").connect(self.databases.url)


class AsyncpgPool(AsyncWay):
    async def open(self) -> Any:
        self.pool = await import_module("asyncpg").create_pool(
            self.databases.url, min_size=1, max_size=1
        )
        return await self.pool.acquire()

    async def shut(self) -> None:
        self.pool.terminate()


class SqlAlchemy(Way):
    driver = "postgresql+psycopg"

    def engine(self, **options: Any) -> Any:
        url = self.databases.for_sqlalchemy(self.driver)
        pool = import_module("sqlalchemy.pool").NullPool
        return import_module("sqlalchemy").create_engine(url, poolclass=pool, **options)

    def open(self) -> Any:
        return self.engine().connect()

    def open_alone(self) -> Any:
        return self.engine(isolation_level="AUTOCOMMIT").connect()

    def transaction(self) -> Any:
        return self.connection.begin()

    def run(self, statement: str) -> Any:
        self.connection.execute(import_module("sqlalchemy").text(statement))


class SqlAlchemySession(SqlAlchemy):
    def on_commit(self, hook: Callable[..., None]) -> None:
        import_module("sqlalchemy.event").listen(self.connection, "after_commit", hook)

    def open(self) -> Any:
        return import_module("sqlalchemy.orm").Session(self.engine())

    def open_alone(self) -> Any:
        return import_module("sqlalchemy.orm").Session(self.engine(isolation_level="AUTOCOMMIT"))


class SqlAlchemySqlite(SqlAlchemy):
    driver = "sqlite"


class SqlAlchemyAsync(AsyncWay):
    driver = "postgresql+asyncpg"

    def engine(self, **options: Any) -> Any:
        url = self.databases.for_sqlalchemy(self.driver)
        pool = import_module("sqlalchemy.pool").NullPool
        create = import_module("sqlalchemy.ext.asyncio").create_async_engine
        return create(url, poolclass=pool, **options)

    async def open(self) -> Any:
        return await self.engine().connect()

    async def open_alone(self) -> Any:
        return await self.engine(isolation_level="AUTOCOMMIT").connect()

    def transaction(self) -> Any:
        return self.connection.begin()

    async def run(self, statement: str) -> Any:
        await self.connection.execute(import_module("sqlalchemy").text(statement))


class SqlAlchemyAsyncSession(SqlAlchemyAsync):
    async def on_commit(self, hook: Callable[..., None]) -> None:
        event = import_module("sqlalchemy.event")
        event.listen(self.connection.sync_session, "after_commit", hook)

    async def open(self) -> Any:
        return import_module("sqlalchemy.ext.asyncio").AsyncSession(self.engine())

    async def open_alone(self) -> Any:
        return import_module("sqlalchemy.ext.asyncio").AsyncSession(
            self.engine(isolation_level="AUTOCOMMIT")
        )


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
    """A database of a PostgreSQL server, which this or another process runs, and of SQLite."""

    def __init__(self, folder: Path, postgres: Postgres | Any, name: str = "postgres") -> None:
        self.postgres = postgres
        self.name = name
        at = postgres.environment
        self.conninfo = f"host={at['PGHOST']} port={at['PGPORT']} user={at['PGUSER']}"
        self.conninfo += f" dbname={name}"
        self.url = f"postgresql://{at['PGUSER']}@{at['PGHOST']}:{at['PGPORT']}/{name}"
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
            "ENGINE": "django.db.backends.postgresql", "NAME": self.name, "HOST": at["PGHOST"],
            "PORT": at["PGPORT"], "USER": at["PGUSER"],
        }  # fmt: skip
        sqlite = {
            "ENGINE": "django.db.backends.sqlite3", "NAME": self.file, "OPTIONS": {"timeout": 30}
        }  # fmt: skip
        if not settings.configured:
            settings.configure()
        import_module("django").setup()
        from django.db import connections

        connections.settings = connections.configure_settings({"default": postgres, "lite": sqlite})
