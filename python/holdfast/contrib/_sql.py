"""A statement in the transaction of a connection, whatever its driver is.

A driver is found by the type of the connection; none is imported that the program has not imported.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

__all__ = ["Link", "link_to"]

AUTOCOMMIT = (
    "no transaction is open on this {}, and each statement is committed alone: open a transaction, "
    "and check the token in it"
)
OPEN = (
    "a transaction is open on this {}: commit it or roll it back before fenced(), which has to "
    "end its transaction before it releases the lock"
)


class Link:
    """A connection, and the calls of its driver."""

    #: Whether the calls are awaited.
    asynchronous = False
    #: How a statement names its two parameters.
    marks = ("%s", "%s")
    #: "postgresql" or "sqlite", as far as it is supported.
    vendor = "postgresql"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def is_open(self) -> bool:
        """Whether a transaction is open; sends nothing."""
        raise NotImplementedError

    def need_transaction(self) -> None:
        """Raise ``RuntimeError`` if the next statement would be committed alone."""
        raise NotImplementedError

    def refuse_open(self) -> None:
        """Raise ``RuntimeError`` if a transaction is open."""
        if self.is_open():
            raise RuntimeError(OPEN.format(type(self.connection).__name__))

    def refuse_autocommit(self, refused: bool) -> None:
        if refused:
            raise RuntimeError(AUTOCOMMIT.format(type(self.connection).__name__))

    def run(self, statement: str) -> Any:
        """Execute a statement without parameters and result."""
        raise NotImplementedError

    def number(self, statement: str, name: str, token: int) -> Any:
        """Execute a statement that returns one number."""
        raise NotImplementedError

    def transaction(self) -> AbstractContextManager[Any] | AbstractAsyncContextManager[Any]:
        """A transaction: committed at the end of the block, rolled back by an error."""
        raise NotImplementedError


class _Psycopg(Link):
    """Psycopg 3. Its row factories and kinds of cursor do not matter here."""

    _cursor = "Cursor"

    def is_open(self) -> bool:
        idle = sys.modules["psycopg"].pq.TransactionStatus.IDLE
        return self.connection.info.transaction_status != idle

    def need_transaction(self) -> None:
        self.refuse_autocommit(self.connection.autocommit and not self.is_open())

    def cursor(self) -> Any:
        psycopg = sys.modules["psycopg"]
        return getattr(psycopg, self._cursor)(self.connection, row_factory=psycopg.rows.tuple_row)

    def run(self, statement: str) -> Any:
        with self.cursor() as cursor:
            cursor.execute(statement)

    def number(self, statement: str, name: str, token: int) -> Any:
        with self.cursor() as cursor:
            return cursor.execute(statement, (name, token)).fetchone()[0]

    def transaction(self) -> Any:
        return self.connection.transaction()


class _AsyncPsycopg(_Psycopg):
    asynchronous = True
    _cursor = "AsyncCursor"

    async def run(self, statement: str) -> None:
        async with self.cursor() as cursor:
            await cursor.execute(statement)

    async def number(self, statement: str, name: str, token: int) -> Any:
        async with self.cursor() as cursor:
            await cursor.execute(statement, (name, token))
            return (await cursor.fetchone())[0]


class _Asyncpg(Link):
    asynchronous = True
    marks = ("$1", "$2")

    def is_open(self) -> bool:
        return self.connection.is_in_transaction()

    def need_transaction(self) -> None:
        self.refuse_autocommit(not self.is_open())

    async def run(self, statement: str) -> None:
        await self.connection.execute(statement)

    async def number(self, statement: str, name: str, token: int) -> Any:
        return await self.connection.fetchval(statement, name, token)

    def transaction(self) -> Any:
        return self.connection.transaction()


class _Sqlite(Link):
    marks = ("?", "?")
    vendor = "sqlite"

    def is_open(self) -> bool:
        return self.connection.in_transaction and not self._driver_begins()

    def need_transaction(self) -> None:
        if not self.connection.in_transaction:
            self.refuse_autocommit(
                self.connection.isolation_level is None
                or getattr(self.connection, "autocommit", None) is True
            )
            self.run("BEGIN IMMEDIATE")  # a deferred one could be refused at its first write

    def _driver_begins(self) -> bool:
        """Whether a transaction is always open: ``autocommit=False`` of Python 3.12 and newer."""
        return getattr(self.connection, "autocommit", None) is False

    def run(self, statement: str) -> Any:
        self.connection.cursor().execute(statement)

    def number(self, statement: str, name: str, token: int) -> Any:
        cursor = self.connection.cursor()
        cursor.row_factory = None
        [[number]] = cursor.execute(statement, (name, token)).fetchall()
        return number

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if not self._driver_begins():
            self.run("BEGIN IMMEDIATE")
        try:
            yield
            if self.connection.in_transaction:
                self._end("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self._end("ROLLBACK")
            raise

    def _end(self, word: str) -> None:
        if self._driver_begins():
            getattr(self.connection, word.lower())()
        else:
            self.run(word)  # commit() does nothing with autocommit=True


class _Django(Link):
    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.vendor = connection.vendor

    def is_open(self) -> bool:
        # atomic(durable=True) refuses a block within another one itself, except in a TestCase.
        return not self.connection.in_atomic_block and not self.connection.get_autocommit()

    def need_transaction(self) -> None:
        self.refuse_autocommit(self.connection.get_autocommit())

    def run(self, statement: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def number(self, statement: str, name: str, token: int) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, [name, token])
            return cursor.fetchone()[0]

    def transaction(self) -> Any:
        from django.db import transaction

        return transaction.atomic(using=self.connection.alias, durable=True)


class _SqlAlchemy(Link):
    """A ``Connection`` or a ``Session``."""

    marks = (":name", ":token")

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        bound = connection if hasattr(connection, "dialect") else connection.get_bind()
        self.vendor = bound.dialect.name

    def is_open(self) -> bool:
        return self.connection.in_transaction()

    def need_transaction(self) -> None:
        connection = self.connection
        if hasattr(connection, "get_bind"):
            connection = connection.connection()
        elif not connection.in_transaction():
            connection.begin()  # as its first statement does by itself
        driver = connection.connection
        self.refuse_autocommit(getattr(driver.dbapi_connection, "autocommit", None) is True)
        if self.vendor == "sqlite":
            raw = driver.driver_connection
            self.refuse_autocommit(raw.isolation_level is None and not raw.in_transaction)

    def run(self, statement: str) -> Any:
        self.connection.execute(sys.modules["sqlalchemy"].text(statement))

    def number(self, statement: str, name: str, token: int) -> Any:
        text = sys.modules["sqlalchemy"].text(statement)
        return self.connection.execute(text, {"name": name, "token": token}).scalar_one()

    def transaction(self) -> Any:
        return self.connection.begin()


class _AsyncSqlAlchemy(_SqlAlchemy):
    """An ``AsyncConnection`` or an ``AsyncSession``."""

    asynchronous = True

    def need_transaction(self) -> None:
        """Done by the steps below, which have the synchronous connection."""

    async def run(self, statement: str) -> None:
        await self.connection.run_sync(lambda inner: _SqlAlchemy(inner).run(statement))

    async def number(self, statement: str, name: str, token: int) -> Any:
        def steps(inner: Any) -> Any:
            link = _SqlAlchemy(inner)
            link.need_transaction()
            return link.number(statement, name, token)

        return await self.connection.run_sync(steps)


KINDS = (
    ("sqlite3", "Connection", _Sqlite),
    ("psycopg", "Connection", _Psycopg),
    ("psycopg", "AsyncConnection", _AsyncPsycopg),
    ("asyncpg", "Connection", _Asyncpg),
    ("asyncpg.pool", "PoolConnectionProxy", _Asyncpg),
    ("sqlalchemy.engine", "Connection", _SqlAlchemy),
    ("sqlalchemy.orm", "Session", _SqlAlchemy),
    ("sqlalchemy.ext.asyncio", "AsyncConnection", _AsyncSqlAlchemy),
    ("sqlalchemy.ext.asyncio", "AsyncSession", _AsyncSqlAlchemy),
    ("django.db.backends.base.base", "BaseDatabaseWrapper", _Django),
    ("django.utils.connection", "ConnectionProxy", _Django),
)


def link_to(connection: Any) -> Link:
    """The calls for a connection; ``TypeError`` for one that is not supported."""
    for module, name, kind in KINDS:
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(connection, known):
            link: Link = kind(connection)
            break
    else:
        msg = (
            "connection must be one of psycopg 3, asyncpg, sqlite3, SQLAlchemy or Django, "
            f"not {type(connection).__module__}.{type(connection).__qualname__}"
        )
        raise TypeError(msg)
    if link.vendor not in {"postgresql", "sqlite"}:
        msg = f"connection must be to PostgreSQL or SQLite, not {link.vendor}"
        raise TypeError(msg)
    return link
