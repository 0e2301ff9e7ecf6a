"""Resources that refuse late owners by fencing tokens: SQL databases and S3.

    fence = SqlFence()

    with fenced(client.fenced_lock("report"), fence, connection):
        connection.execute("UPDATE report SET ...")

The module needs no extra: it uses the driver of the connection that it is given, or boto3's client.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import re
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

from holdfast import FencedLock, LockLostError, StaleTokenError
from holdfast.integration import checked_name, key_of, quoted

from ._blocks import AsyncBlock, Block, Outcome, held, held_async
from ._sql import ENDED, link_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    import holdfast.asyncio
    from holdfast.integration import Name

    from ._sql import Link

__all__ = ["FencedObject", "S3Fence", "SqlFence", "fenced"]

#: Of ``bigint``, and of every counter of Redis.
GREATEST_TOKEN: Final = 2**63 - 1
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,62}"
_TABLE = re.compile(rf"({_IDENTIFIER}\.)?{_IDENTIFIER}", re.ASCII)

_CREATE = "CREATE TABLE IF NOT EXISTS {table} (name text PRIMARY KEY, token bigint NOT NULL)"
#: A table that is there needs neither the right to create one nor a server that takes writes. Two
#: that create it at once: the later one meets the earlier one's entries of the catalogue.
_CREATE_POSTGRESQL = (
    "DO $$ BEGIN IF to_regclass('{table}') IS NULL THEN {create}; END IF; "
    "EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN NULL; END $$"
)
#: The greatest token, ours included, and the number of the transaction, until whose end the row
#: stays locked.
_CHECK = (
    "INSERT INTO {table} AS fence (name, token) VALUES ({name}, {token}) "
    "ON CONFLICT (name) DO UPDATE SET token = {greatest}(fence.token, excluded.token) "
    "RETURNING token, {number}"
)
_DIALECTS = {
    "postgresql": {"greatest": "greatest", "number": "txid_current()"},
    "sqlite": {"greatest": "max", "number": "0"},
}
#: In SQLite a savepoint marks the transaction, which ends with it.
_MARKS = {"sqlite": ("SAVEPOINT holdfast_fenced", "RELEASE holdfast_fenced")}
#: Bytes of a name: what an index of PostgreSQL keeps.
_LONGEST_NAME: Final = 2692


def _checked_token(token: Any) -> int:
    if isinstance(token, bool) or not isinstance(token, int):
        msg = f"token must be int, not {type(token).__name__}: lock.token inside of the block"
        raise TypeError(msg)
    if not 1 <= token <= GREATEST_TOKEN:
        msg = f"token must be from 1 to {GREATEST_TOKEN}, not {token}"
        raise ValueError(msg)
    return token


def _checked_table(table: Any) -> str:
    if not isinstance(table, str):
        msg = f"table must be str, not {type(table).__name__}"
        raise TypeError(msg)
    if not _TABLE.fullmatch(table):
        msg = (
            "table must be a name of at most 63 letters, digits and '_' that begins with no "
            f"digit, with or without a schema before a '.': not {table!r}"
        )
        raise ValueError(msg)
    return table


def _checked_row_name(what: str, name: Any, link: Link) -> str:
    """A name as the table of a database keeps it."""
    text = _checked_text(what, name)
    size = len(text.encode())
    if link.vendor == "postgresql" and size > _LONGEST_NAME:
        msg = f"{what} must have at most {_LONGEST_NAME} bytes, which is an index's row: not {size}"
        raise ValueError(msg)
    return text


def _checked_text(what: str, name: Any) -> str:
    """A name as a database keeps it."""
    try:
        text = checked_name(what, name).decode()
    except UnicodeDecodeError:
        msg = f"{what} must be UTF-8, not {name!r}"
        raise ValueError(msg) from None
    if "\0" in text:
        msg = f"{what} must not contain a null character: {text!r}"
        raise ValueError(msg)
    return text


def _refuse(name: str, token: int, seen: int, where: str) -> None:
    """Raise ``StaleTokenError`` if a greater token was seen."""
    if seen > token:
        msg = (
            f"token {token} of {quoted(name)} is stale: {where} has seen token {seen} of a later "
            "owner; roll back, and acquire the lock again. If every owner is refused, the lock's "
            f"server has lost its counter: `holdfast token NAME --at-least {seen}` sets it"
        )
        raise StaleTokenError(msg)


class SqlFence:
    """The greatest tokens seen, by name, in a table of the database that they protect.

    For connections of psycopg 3, asyncpg, sqlite3, SQLAlchemy (also sessions) and Django, to
    PostgreSQL or SQLite 3.35 and newer; calls with an asynchronous connection are awaited.

    ``table``: letters, digits and ``_``, also with a schema: ``"app.holdfast_fence"``. All that
    write to a resource have to use the same table, in the database of that resource.

    A fence may be used by all threads and tasks; a connection by one at a time, as always.
    """

    def __init__(self, table: str = "holdfast_fence") -> None:
        self._table = _checked_table(table)
        self._quoted = ".".join(f'"{part}"' for part in table.split("."))

    def __repr__(self) -> str:
        return f"SqlFence(table={self._table!r})"

    def create(self, connection: Any) -> Any:
        """Create the table unless it is there: columns ``name`` (primary key) and ``token``.

        In the caller's transaction if one is open or begins by itself: the caller commits it.
        """
        link = link_to(connection)
        create = _CREATE.format(table=self._quoted)
        if link.vendor == "postgresql":
            create = _CREATE_POSTGRESQL.format(table=self._quoted, create=create)
        return link.run(create)

    def check(self, connection: Any, name: Name, token: int) -> Any:
        """Record the token of the caller's grant, or raise ``StaleTokenError``.

        The first statement of a transaction that writes: it locks the row of ``name`` until the
        transaction ends, so that a later owner's check waits for that, and an earlier owner's fails
        after it. What the transaction reads and writes afterwards lies between the two. The same
        token passes again. After ``StaleTokenError`` the transaction has to be rolled back.

        PostgreSQL: correct at each isolation level. At ``READ COMMITTED``, the default, the check
        waits and then decides. At ``REPEATABLE READ`` and ``SERIALIZABLE`` a check that has waited
        for a transaction that was committed raises the driver's serialization error (SQLSTATE
        40001): roll back, and repeat the transaction with the same token. A ``lock_timeout`` bounds
        the wait. Rolling back to a savepoint that was set before the check undoes the check.

        SQLite: a transaction is begun with ``BEGIN IMMEDIATE`` where sqlite3 would begin one. One
        that has only read before the check may get "database is locked": roll back, and repeat it.

        Before anything is sent raises ``TypeError`` or ``ValueError`` for arguments that cannot be
        right, and ``RuntimeError`` where no transaction is open and none begins by itself.
        """
        link = link_to(connection)
        text, token = _checked_row_name("name", name, link), _checked_token(token)
        if link.asynchronous:
            return self._checked_async(link, text, token)
        self._check(link, text, token)
        return None

    async def _checked_async(self, link: Link, name: str, token: int) -> None:
        await self._check_async(link, name, token)

    def _check(self, link: Link, name: str, token: int, begun: int | None = None) -> int:
        """``check``; returns the number of the transaction, which has to be `begun`."""
        _need_transaction(link, begun)
        return self._passed(name, token, begun, link.row(self._statement(link), name, token))

    async def _check_async(
        self, link: Link, name: str, token: int, begun: int | None = None
    ) -> int:
        _need_transaction(link, begun)
        row = await link.row(self._statement(link), name, token)
        return self._passed(name, token, begun, row)

    def _passed(self, name: str, token: int, begun: int | None, row: Sequence[int]) -> int:
        seen, number = row
        if begun not in {None, number}:
            raise RuntimeError(ENDED)
        _refuse(name, token, seen, repr(self))
        return number

    def _statement(self, link: Link) -> str:
        name, token = link.marks
        return _CHECK.format(table=self._quoted, name=name, token=token, **_DIALECTS[link.vendor])


def _need_transaction(link: Link, begun: int | None) -> None:
    try:
        link.need_transaction()
    except RuntimeError:
        if begun is None:
            raise
        raise RuntimeError(ENDED) from None


@overload
def fenced(
    lock: FencedLock, fence: SqlFence, connection: Any
) -> AbstractContextManager[FencedLock]: ...


@overload
def fenced(
    lock: holdfast.asyncio.FencedLock, fence: SqlFence, connection: Any
) -> AbstractAsyncContextManager[holdfast.asyncio.FencedLock]: ...


def fenced(lock: Any, fence: SqlFence, connection: Any) -> Any:
    """A transaction of the lock's owner: a context, asynchronous if lock and connection are.

    Acquires ``lock``, a fenced lock; begins a transaction; checks the token, under the lock's name
    with the client's ``name_prefix``; runs the block; checks the token again, so that a check which
    the block has undone is made good; commits; releases the lock. ``as`` gives the lock. The
    context may be used again, and decorates functions (coroutine functions, if it is asynchronous).

    The transaction was rolled back if the block ends with ``StaleTokenError`` or ``LockLostError``:
    the hold was lost before the commit. What is known only after the commit, a loss or a lock that
    could not be released, is a record of the log and no error here, as the fence has accepted the
    writes. The wait is the lock's: ``LockTimeout`` after ``wait``. An error that came after the
    commit, such as that of a hook, has ``committed``, which is ``True``.

    Raises ``RuntimeError`` if a transaction is open on the connection, or if it is closed, before
    the lock is acquired (Django: within ``atomic()``, after it); if the block has ended the
    transaction: what it wrote until then may be committed, and the rest was rolled back. On sqlite3
    the block cannot end it: the statement fails that would. There the block replaces the
    connection's authorizer (``set_authorizer``), and leaves none.
    """
    asynchronous = _is_for_tasks(lock, fence)
    link = link_to(connection)
    if link.asynchronous != asynchronous:
        kinds = ("threads", "asyncio") if link.asynchronous else ("asyncio", "threads")
        msg = "lock is for {} and connection for {}: both have to be for the same".format(*kinds)
        raise TypeError(msg)
    name = _checked_row_name("the lock's name", key_of(lock), link)
    if asynchronous:
        return AsyncBlock(lock.name, partial(_fenced_async, lock, fence, link, name))
    return Block(lock.name, partial(_fenced, lock, fence, link, name))


def _is_for_tasks(lock: Any, fence: Any) -> bool:
    """Whether the lock is for asyncio; raises where one of the two is something else."""
    from holdfast.asyncio import FencedLock as TaskLock

    if not isinstance(lock, (FencedLock, TaskLock)):
        msg = f"lock must be made by client.fenced_lock(), not {type(lock).__name__}"
        raise TypeError(msg)
    if not isinstance(fence, SqlFence):
        msg = f"fence must be SqlFence, not {type(fence).__name__}"
        raise TypeError(msg)
    return isinstance(lock, TaskLock)


@contextmanager
def _fenced(lock: Any, fence: SqlFence, link: Any, name: str) -> Iterator[Any]:
    link.refuse_open()
    outcome = Outcome(told=link.tells_commit)
    mark, unmark = _MARKS.get(link.vendor, ("", ""))
    with held(lock, outcome):
        link.refuse_open()  # it may have been opened during the wait
        with link.transaction(outcome.commit):
            begun = fence._check(link, name, _token_of(lock))
            if mark:
                link.run(mark)
            yield lock
            if unmark:
                with _same_transaction():
                    link.run(unmark)
            fence._check(link, name, _token_of(lock), begun)


@asynccontextmanager
async def _fenced_async(lock: Any, fence: SqlFence, link: Any, name: str) -> AsyncIterator[Any]:
    link.refuse_open()
    outcome = Outcome(told=link.tells_commit)
    mark, unmark = _MARKS.get(link.vendor, ("", ""))
    async with held_async(lock, outcome):
        link.refuse_open()
        async with link.transaction(outcome.commit):
            begun = await fence._check_async(link, name, _token_of(lock))
            if mark:
                await link.run(mark)
            yield lock
            if unmark:
                with _same_transaction():
                    await link.run(unmark)
            await fence._check_async(link, name, _token_of(lock), begun)


@contextmanager
def _same_transaction() -> Iterator[None]:
    """Release the savepoint of the transaction, which is gone if the transaction is another."""
    try:
        yield
    except Exception as error:
        if "no such savepoint" not in str(error):
            raise
        raise RuntimeError(ENDED) from error


def _token_of(lock: Any) -> int:
    """The newest one: that of a nested grant is greater, and the fence may have seen it."""
    token = lock.token
    if token is None:
        why = f" ({lock.loss})" if lock.loss else ""
        msg = f"{quoted(lock.name)} was lost before the commit{why}: rolled back"
        raise LockLostError(msg)
    return int(token)


class FencedObject(NamedTuple):
    """An object of ``S3Fence``."""

    body: bytes
    token: int


#: The first bytes of each object, of the same length for each token.
_HEADER = b"holdfast-fence %019d\n"
_LENGTH: Final = len(_HEADER % 0)
_HEADER_PATTERN = re.compile(rb"holdfast-fence (\d{19})\n")
#: Another has written it, or removed it, since this one has looked.
_CONFLICTS: Final = {"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"}


#: How often a condition that holds by the looks may fail.
_PATIENCE: Final = 10


class S3Fence:
    """Objects of an S3 bucket that an earlier owner cannot overwrite once a later one has written.

    ``client``: boto3's, of a store with conditional writes (``If-Match`` and ``If-None-Match`` of
    PutObject), such as Amazon S3 and MinIO. A store that ignores them overwrites silently.

    The token is a part of the object: a line of 35 bytes before the body. (An ETag is made from the
    content alone. With the token elsewhere, a later owner that writes the same bytes would not
    change it, and an earlier owner's condition would still hold.) So ``get()`` reads what ``put()``
    writes, and no objects that were written otherwise. An object must not be deleted while earlier
    owners may still write, as its token would be forgotten: write an empty one.

    Errors of the store are raised as boto3 has them. Any thread.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        # A Bucket of boto3's resources has a put_object, too, with other arguments.
        if not all(callable(getattr(client, f"{do}_object", None)) for do in ("put", "get")):
            msg = f"client must be boto3's client of S3, not {type(client).__name__}"
            raise TypeError(msg)
        self._client = client
        self._bucket = _checked_text("bucket", bucket)

    def __repr__(self) -> str:
        return f"S3Fence(bucket={self._bucket!r})"

    def put(self, key: str, body: bytes | bytearray | memoryview, *, token: int) -> None:
        """Write an object, on the condition that it is still the one that was looked at.

        Raises ``StaleTokenError`` if it has a greater token. After another's write in between it
        looks again, so that it ends after as many attempts as there are other writes. A conflict
        without another's write is raised at its tenth repetition. An object without a token is a
        ``ValueError``.
        """
        key, token = _checked_text("key", key), _checked_token(token)
        content = _HEADER % token + _checked_body(body)
        condition: dict[str, str] = {}
        alike = 0
        while True:
            last, condition = condition, self._condition(key, token)
            alike = alike + 1 if condition == last else 0
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, Body=content, **condition)
            except Exception as error:
                if _code(error) not in _CONFLICTS or alike == _PATIENCE:
                    raise
            else:
                return

    def get(self, key: str) -> FencedObject:
        """The body and the token of an object; boto3's ``NoSuchKey`` if there is none."""
        key = _checked_text("key", key)
        content = self._read(key, {})[0]
        return FencedObject(content[_LENGTH:], self._token(key, content))

    def _condition(self, key: str, token: int) -> dict[str, str]:
        """That the object is still as it is now."""
        try:
            head, tag = self._read(key, {"Range": f"bytes=0-{_LENGTH - 1}"})
        except Exception as error:
            if _code(error) == "NoSuchKey":
                return {"IfNoneMatch": "*"}
            if _code(error) != "InvalidRange":
                raise
            head, tag = b"", ""  # an object without a byte
        _refuse(key, token, self._token(key, head), repr(self))
        return {"IfMatch": tag}

    def _read(self, key: str, options: dict[str, str]) -> tuple[bytes, str]:
        found = self._client.get_object(Bucket=self._bucket, Key=key, **options)
        with found["Body"] as body:
            return body.read(), found["ETag"]

    def _token(self, key: str, content: bytes) -> int:
        header = _HEADER_PATTERN.fullmatch(content[:_LENGTH])
        if header is None:
            msg = f"{quoted(key)} in {self!r} has no token: it was not written by S3Fence.put()"
            raise ValueError(msg)
        return int(header[1])


def _checked_body(body: Any) -> bytes:
    if not isinstance(body, (bytes, bytearray, memoryview)):
        msg = f"body must be bytes, not {type(body).__name__}"
        raise TypeError(msg)
    return bytes(body)


def _code(error: Exception) -> str:
    """The store's word for an error of botocore; nothing for others."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
