"""A statement in the transaction of a connection, whatever its driver is.

A driver is found by the type of the connection; none is imported that the program has not imported.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    Committed = Callable[[], None]

__all__ = ["ENDED", "Link", "link_to"]

AUTOCOMMIT = (
    "no transaction is open on this {}, and each statement is committed alone: open a transaction, "
    "and check the token in it"
)
OPEN = (
    "a transaction is open on this {}: commit it or roll it back before fenced(), which has to "
    "end its transaction before it releases the lock"
)
CLOSED = "this {} is closed"
ENDED = (
    "a fenced() block is one transaction, which the block has ended: what it wrote until then may "
    "be committed, what it wrote later is rolled back; commit outside of the block"
)
REFUSED = (
    "a fenced() block is one transaction, which the block may not end, by {}: it is rolled back; "
    "commit outside of the block"
)


class Link:
    """A connection, and the calls of its driver."""

    #: Whether the calls are awaited.
    asynchronous = False
    #: How a statement names its two parameters.
    marks = ("%s", "%s")
    #: "postgresql" or "sqlite", as far as it is supported.
    vendor = "postgresql"
    #: Whether ``transaction`` may end without an error by a rollback, and calls ``committed``.
    tells_commit = False

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def is_open(self) -> bool:
        """Whether a transaction is open; sends nothing."""
        raise NotImplementedError

    def need_transaction(self) -> None:
        """Raise ``RuntimeError`` if the next statement would be committed alone."""
        raise NotImplementedError

    def refuse_open(self) -> None:
        """Raise ``RuntimeError`` if a transaction is open, or the connection is closed."""
        self.refuse_closed()
        if self.is_open():
            raise RuntimeError(OPEN.format(type(self.connection).__name__))

    def is_closed(self) -> bool:
        return bool(getattr(self.connection, "closed", False))

    def refuse_closed(self) -> None:
        if self.is_closed():
            raise RuntimeError(CLOSED.format(type(self.connection).__name__))

    def refuse_autocommit(self, refused: bool) -> None:
        if refused:
            raise RuntimeError(AUTOCOMMIT.format(type(self.connection).__name__))

    def run(self, statement: str) -> Any:
        """Execute a statement without parameters and result."""
        raise NotImplementedError

    def row(self, statement: str, name: str, token: int) -> Any:
        """Execute a statement that returns one row."""
        raise NotImplementedError

    def transaction(
        self, committed: Committed
    ) -> AbstractContextManager[Any] | AbstractAsyncContextManager[Any]:
        """A transaction: committed at the end of the block, rolled back by an error.

        ``committed`` is called after the commit, before what the program has hooked to it, which
        may raise; it need not be called where the driver has no such hooks.
        """
        raise NotImplementedError


class _Psycopg(Link):
    """Psycopg 3. Its row factories and kinds of cursor do not matter here."""

    _cursor = "Cursor"

    def is_open(self) -> bool:
        idle = sys.modules["psycopg"].pq.TransactionStatus.IDLE
        return self.connection.info.transaction_status != idle

    def need_transaction(self) -> None:
        self.refuse_closed()
        if self.pipelined():
            with self.connection.pipeline():  # which executes what was sent: the state is known
                pass
        self.refuse_alone()

    def pipelined(self) -> bool:
        pq = sys.modules["psycopg"].pq
        return self.connection.pgconn.pipeline_status != pq.PipelineStatus.OFF

    def refuse_alone(self) -> None:
        self.refuse_autocommit(self.connection.autocommit and not self.is_open())

    def cursor(self) -> Any:
        psycopg = sys.modules["psycopg"]
        return getattr(psycopg, self._cursor)(self.connection, row_factory=psycopg.rows.tuple_row)

    def run(self, statement: str) -> Any:
        with self.cursor() as cursor:
            cursor.execute(statement)

    def row(self, statement: str, name: str, token: int) -> Any:
        with self.cursor() as cursor:
            return cursor.execute(statement, (name, token)).fetchone()

    def transaction(self, committed: Committed) -> Any:
        return self.connection.transaction()


class _AsyncPsycopg(_Psycopg):
    asynchronous = True
    _cursor = "AsyncCursor"

    def need_transaction(self) -> None:
        self.refuse_closed()
        if not self.pipelined():
            self.refuse_alone()

    async def run(self, statement: str) -> None:
        async with self.cursor() as cursor:
            await cursor.execute(statement)

    async def row(self, statement: str, name: str, token: int) -> Any:
        if self.pipelined():
            async with self.connection.pipeline():
                pass
            self.refuse_alone()
        async with self.cursor() as cursor:
            await cursor.execute(statement, (name, token))
            return await cursor.fetchone()


class _Asyncpg(Link):
    asynchronous = True
    marks = ("$1", "$2")

    def is_open(self) -> bool:
        return self.connection.is_in_transaction()

    def is_closed(self) -> bool:
        return self.connection.is_closed()

    def need_transaction(self) -> None:
        self.refuse_closed()
        self.refuse_autocommit(not self.is_open())

    async def run(self, statement: str) -> None:
        await self.connection.execute(statement)

    async def row(self, statement: str, name: str, token: int) -> Any:
        return await self.connection.fetchrow(statement, name, token)

    def transaction(self, committed: Committed) -> Any:
        return self.connection.transaction()


#: Of a statement that begins or ends a transaction, to an authorizer; a constant of SQLite's C API.
SQLITE_TRANSACTION = 22
#: SQLite's error of a statement that its authorizer refuses.
DENIED = "not authorized"


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

    def row(self, statement: str, name: str, token: int) -> Any:
        cursor = self.connection.cursor()
        cursor.row_factory = None
        [row] = cursor.execute(statement, (name, token)).fetchall()
        return row

    @contextmanager
    def transaction(self, committed: Committed) -> Iterator[None]:
        if not self._driver_begins():
            self.run("BEGIN IMMEDIATE")
        try:
            with self._one_transaction():
                yield
            self._end("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self._end("ROLLBACK")
            raise

    @contextmanager
    def _one_transaction(self) -> Iterator[None]:
        """Refuse the statements of the block that would end it.

        ``executescript()`` commits by itself, and what it runs would be committed alone.
        """
        sqlite3 = sys.modules["sqlite3"]
        refused: list[str] = []

        def authorize(action: int, word: str | None, *_: object) -> int:
            if action != SQLITE_TRANSACTION:
                return sqlite3.SQLITE_OK
            refused.append(str(word))
            return sqlite3.SQLITE_DENY

        self.connection.set_authorizer(authorize)
        try:
            yield
        except sqlite3.DatabaseError as error:
            # The block may have caught that error, and this is another one.
            if not refused or DENIED not in str(error):
                raise
            raise RuntimeError(REFUSED.format(refused[0])) from error
        finally:
            # Before 3.11 Python cannot take it away.
            nothing = None if sys.version_info >= (3, 11) else lambda *_: sqlite3.SQLITE_OK
            self.connection.set_authorizer(nothing)

    def _end(self, word: str) -> None:
        if self._driver_begins():
            getattr(self.connection, word.lower())()
        else:
            self.run(word)  # commit() does nothing with autocommit=True


class _Django(Link):
    tells_commit = True  # the block may have been marked for a rollback

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

    def row(self, statement: str, name: str, token: int) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, [name, token])
            return cursor.fetchone()

    @contextmanager
    def transaction(self, committed: Committed) -> Iterator[None]:
        from django.db import transaction

        block: Any = transaction.atomic(using=self.connection.alias, durable=True)
        with block:
            transaction.on_commit(committed, using=self.connection.alias)
            yield


class _SqlAlchemy(Link):
    """A ``Connection`` or a ``Session``."""

    marks = (":name", ":token")

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        #: What a session uses: a connection may have a transaction that is not the session's.
        self.bound = connection if hasattr(connection, "dialect") else connection.get_bind()
        self.vendor = self.bound.dialect.name

    def is_open(self) -> bool:
        both = (self.connection, self.bound)
        return any(each.in_transaction() for each in both if hasattr(each, "in_transaction"))

    def is_closed(self) -> bool:
        return any(getattr(each, "closed", False) for each in (self.connection, self.bound))

    def need_transaction(self) -> None:
        self.refuse_closed()
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

    def row(self, statement: str, name: str, token: int) -> Any:
        text = sys.modules["sqlalchemy"].text(statement)
        return self.connection.execute(text, {"name": name, "token": token}).one()

    @contextmanager
    def transaction(self, committed: Committed) -> Iterator[None]:
        with self.hearing(committed), self.connection.begin():
            yield

    @contextmanager
    def hearing(self, committed: Committed) -> Iterator[None]:
        """Call ``committed`` before the other listeners to the commit of a session."""
        session = getattr(self.connection, "sync_session", self.connection)
        if not hasattr(session, "get_bind"):
            yield
            return

        def after_commit(session: Any) -> None:
            if not session.in_nested_transaction():
                committed()

        event = sys.modules["sqlalchemy.event"]
        event.listen(session, "after_commit", after_commit, insert=True)
        try:
            yield
        finally:
            event.remove(session, "after_commit", after_commit)


class _AsyncSqlAlchemy(_SqlAlchemy):
    """An ``AsyncConnection`` or an ``AsyncSession``."""

    asynchronous = True

    def need_transaction(self) -> None:
        """The rest is done by the steps below, which have the synchronous connection."""
        self.refuse_closed()

    @asynccontextmanager
    async def transaction(self, committed: Committed) -> AsyncIterator[None]:  # type: ignore[override]
        with self.hearing(committed):
            async with self.connection.begin():
                yield

    async def run(self, statement: str) -> None:
        await self.connection.run_sync(lambda inner: _SqlAlchemy(inner).run(statement))

    async def row(self, statement: str, name: str, token: int) -> Any:
        def steps(inner: Any) -> Any:
            link = _SqlAlchemy(inner)
            link.need_transaction()
            return link.row(statement, name, token)

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
