"""`holdfast.contrib.fencing` on sqlite3, and what it refuses before it sends anything."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.contrib._blocks import AsyncBlock
from holdfast.contrib.fencing import S3Fence, SqlFence, fenced
from tests.frameworks.fencing_proof import prove
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "report"
LATE, LATER = 41, 42

MODES: list[dict[str, Any]] = [
    {"isolation_level": ""}, {"isolation_level": "EXCLUSIVE"}, {"isolation_level": None},
    *([{"autocommit": True}, {"autocommit": False}] if sys.version_info >= (3, 12) else []),
]  # fmt: skip

End = Callable[[sqlite3.Connection], Any]


def script(connection: sqlite3.Connection) -> None:
    connection.executescript("INSERT INTO report VALUES ('late')")


def commit(connection: sqlite3.Connection) -> None:
    connection.commit()


def rollback(connection: sqlite3.Connection) -> None:
    connection.rollback()


def statement(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


ENDS: list[End] = [script, commit, rollback, statement]


def ends(end: End, mode: dict[str, Any]) -> bool:
    """Whether it ends a transaction in a mode of the connection."""
    if "autocommit" not in mode:
        return True
    return end is statement or (end is not script and mode["autocommit"] is False)


Connect = Callable[..., sqlite3.Connection]
Write = Callable[[Callable[[holdfast.FencedLock, sqlite3.Connection], None]], None]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Connect to one database with the table of the fence; usable by any thread."""
    opened: list[sqlite3.Connection] = []

    def connect(**options: Any) -> sqlite3.Connection:
        path = tmp_path / "database"
        opened.append(sqlite3.connect(path, timeout=30, check_same_thread=False, **options))
        return opened[-1]

    with connect() as connection:
        SqlFence().create(connection)
        connection.execute("CREATE TABLE report (body text)")
    yield connect
    for connection in opened:
        connection.close()


def seen(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute("SELECT name, token FROM holdfast_fence").fetchall()


def test_a_token_passes_again_until_a_greater_one_was_seen(connect: Connect) -> None:
    fence = SqlFence()
    for token in (LATE, LATE, LATER, LATER):
        with connect() as connection:
            fence.check(connection, NAME, token)
    said = "token 41 of 'report' is stale: .* has seen token 42"
    with pytest.raises(holdfast.StaleTokenError, match=said), connect() as connection:
        fence.check(connection, NAME, LATE)
    with connect() as connection:
        fence.check(connection, "another", LATE)
    assert seen(connect()) == [(NAME, LATER), ("another", LATE)]


def test_what_is_rolled_back_was_not_seen(connect: Connect) -> None:
    connection = connect()
    SqlFence().check(connection, NAME, LATER)
    connection.rollback()
    SqlFence().check(connection, NAME, LATE)
    assert seen(connection) == [(NAME, LATE)]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_an_earlier_owner_waits_for_the_end_of_a_later_one_s_transaction(
    end: str, connect: Connect
) -> None:
    later, late = connect(), connect()
    SqlFence().check(later, NAME, LATER)
    with ThreadPoolExecutor(1) as pool:
        begun = threading.Event()
        late.set_trace_callback(lambda statement: begun.set())
        checked = pool.submit(SqlFence().check, late, NAME, LATE)
        assert begun.wait(BOUND)
        assert not checked.done()
        getattr(later, end)()
        error = checked.exception(BOUND)
    assert isinstance(error, holdfast.StaleTokenError) == (end == "commit")


def test_a_table_of_another_name_is_made_once_and_used(connect: Connect) -> None:
    fence = SqlFence("main.Order")  # a reserved word
    connection = connect(isolation_level=None)
    fence.create(connection)
    fence.create(connection)
    connection.execute("BEGIN")
    fence.check(connection, NAME, LATER)
    connection.execute("COMMIT")
    assert connection.execute('SELECT * FROM "Order"').fetchall() == [(NAME, LATER)]
    assert repr(fence) == "SqlFence(table='main.Order')"


def test_a_check_without_a_transaction_is_refused(connect: Connect) -> None:
    connection = connect(isolation_level=None)
    with pytest.raises(RuntimeError, match="no transaction is open"):
        SqlFence().check(connection, NAME, LATER)
    assert seen(connection) == []


@pytest.mark.parametrize(
    "table", ["", "1st", 'a"b', "a;b", "a b", "a.b.c", "a.", "x" * 64, "tablé", "a\n"], ids=ascii
)
def test_a_table_that_is_no_plain_name_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match="table must be a name"):
        SqlFence(table)


def test_bad_input_is_refused_before_anything_is_sent(connect: Connect) -> None:
    connection = connect()
    sent: list[str] = []
    connection.set_trace_callback(sent.append)
    fence, store = SqlFence(), S3Fence(UnusedStore(), "bucket")
    for call in (
        lambda n, t: fence.check(connection, n, t),
        lambda n, t: store.put(n, b"", token=t),
    ):
        for token in (0, -1, 2**63):
            refused(ValueError, "token", call, NAME, token)
        for token in (None, True, 1.0, "1"):
            refused(TypeError, "token must be int", call, NAME, token)
        for name in ("", "a\0b", b"\xff"):
            refused(ValueError, "(name|key) must", call, name, LATER)
        refused(TypeError, "(name|key) must", call, 7, LATER)
    refused(TypeError, "connection must be one of", fence.check, object(), NAME, LATER)
    refused(TypeError, "connection must be one of", fence.create, None)
    refused(TypeError, "table must be str", SqlFence, 7)
    refused(TypeError, "body must be bytes", store.put, "key", "text", token=LATER)
    for wrong in (object(), Bucket()):
        refused(TypeError, "client must be boto3's", S3Fence, wrong, "bucket")
    refused(ValueError, "bucket", S3Fence, UnusedStore(), "")
    assert sent == []


class UnusedStore:
    def put_object(self) -> None:
        raise AssertionError("nothing was to be sent")

    get_object = put_object


class Bucket:
    """As boto3's resources have it."""

    def put_object(self) -> None:
        raise AssertionError("nothing was to be sent")


def refused(
    error: type[Exception], words: str, call: Callable[..., Any], *args: Any, **more: Any
) -> None:
    with pytest.raises(error, match=words):
        call(*args, **more)


@pytest.mark.servers("real")
class TestFenced:
    """`fenced()`, with threads."""

    @pytest.fixture
    def client(self, server: Server) -> Iterator[holdfast.Client]:
        with holdfast.Client(server.url, name_prefix="app:") as client:
            yield client

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_the_block_is_committed_with_its_token(
        self, mode: dict[str, Any], connect: Connect, client: holdfast.Client
    ) -> None:
        connection = connect(**mode)
        with fenced(client.fenced_lock(NAME), SqlFence(), connection) as lock:
            connection.execute("INSERT INTO report VALUES ('first')")
            assert connection.in_transaction
            token = lock.token
        assert not lock.locked()
        connection.rollback()  # would undo what was not committed
        assert connection.execute("SELECT * FROM report").fetchall() == [("first",)]
        assert seen(connection) == [("app:" + NAME, token)]

    @pytest.fixture
    def write(self, connect: Connect, client: holdfast.Client) -> Iterator[Write]:
        """Write in a `fenced` block, after a function of the lock and the connection."""
        connection, lock = connect(), client.fenced_lock(NAME)

        def write(first: Callable[[holdfast.FencedLock, sqlite3.Connection], None]) -> None:
            with fenced(lock, SqlFence(), connection):
                first(lock, connection)
                connection.execute("INSERT INTO report VALUES ('late')")

        yield write
        assert not lock.locked()
        assert connection.execute("SELECT * FROM report").fetchall() == []

    def test_an_error_of_the_block_rolls_back(self, write: Write, connect: Connect) -> None:
        with pytest.raises(ZeroDivisionError):
            write(lambda lock, connection: print(1 // 0))
        assert seen(connect()) == []

    def test_a_hold_that_is_lost_before_the_commit_rolls_back(
        self, write: Write, client: holdfast.Client
    ) -> None:
        def lose(lock: holdfast.FencedLock, connection: sqlite3.Connection) -> None:
            client.fenced_lock(NAME).force_release()
            eventually(lambda: lock.lost)

        with pytest.raises(holdfast.LockLostError, match="was lost before the commit"):
            write(lose)

    @pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_a_block_cannot_end_its_transaction(
        self, end: End, mode: dict[str, Any], connect: Connect, client: holdfast.Client
    ) -> None:
        """`executescript()` commits by itself: its writes would be committed alone, and late."""
        connection, lock = connect(**mode), client.fenced_lock(NAME)
        if not ends(end, mode):
            pytest.skip("which does not end one in this mode")

        @fenced(lock, SqlFence(), connection)
        def write() -> None:
            connection.execute("INSERT INTO report VALUES ('before')")
            end(connection)

        refused(RuntimeError, "is one transaction, which the block may not end", write)
        assert not lock.locked()
        assert not connect().execute("SELECT * FROM report").fetchall()
        with fenced(lock, SqlFence(), connection):
            connection.execute("INSERT INTO report VALUES ('again')")
        assert connect().execute("SELECT * FROM report").fetchall() == [("again",)]

    def test_an_error_after_a_refused_commit_that_was_caught_is_its_own(
        self, connect: Connect, client: holdfast.Client
    ) -> None:
        connection, lock = connect(), client.fenced_lock(NAME)

        @fenced(lock, SqlFence(), connection)
        def write() -> None:
            with suppress(sqlite3.DatabaseError):
                connection.commit()
            connection.execute("INSERT INTO holdfast_fence VALUES (NULL, NULL)")

        refused(sqlite3.IntegrityError, "NOT NULL", write)
        assert not lock.locked()

    def test_after_the_commit_a_server_that_is_gone_is_a_record_and_no_error(
        self, connect: Connect, private_server: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A caller that repeats what failed would write twice."""
        connection = connect()
        client = holdfast.Client(private_server.url, retries=0, command_timeout=0.5)
        with fenced(client.fenced_lock(NAME), SqlFence(), connection):
            connection.execute("INSERT INTO report VALUES ('first')")
            private_server.stop()
        with pytest.warns(ResourceWarning, match="while it held 'report'"):
            client.close()
        assert connect().execute("SELECT * FROM report").fetchall() == [("first",)]
        said = "the work under 'report' is done, but its lock could not be released"
        assert said in caplog.text

    def test_a_coroutine_function_is_not_decorated(
        self, connect: Connect, client: holdfast.Client
    ) -> None:
        block = fenced(client.fenced_lock(NAME), SqlFence(), connect())
        refused(TypeError, "not a coroutine function", block, asyncio.sleep)

    def test_what_cannot_be_one_transaction_of_one_owner_is_refused(
        self, connect: Connect, client: holdfast.Client
    ) -> None:
        import holdfast.asyncio

        connection, lock = connect(), client.fenced_lock(NAME)
        task_lock = holdfast.asyncio.Client("redis://nowhere").fenced_lock(NAME)
        refused(
            TypeError, "lock must be made by", fenced, client.lock(NAME), SqlFence(), connection
        )
        refused(TypeError, "fence must be SqlFence", fenced, lock, None, connection)
        refused(TypeError, "lock is for asyncio and", fenced, task_lock, SqlFence(), connection)
        connection.execute("INSERT INTO report VALUES ('earlier')")
        with pytest.raises(RuntimeError, match="a transaction is open"):
            fenced(lock, SqlFence(), connection).__enter__()
        assert not lock.locked()


def test_a_block_is_left_by_the_thread_that_entered_it(connect: Connect, server: Server) -> None:
    said = f"the block of '{NAME}' was not entered by this thread: leave it in the thread that"
    connection = connect()
    with holdfast.Client(server.url) as client, ThreadPoolExecutor(1) as other:
        block = fenced(client.fenced_lock(NAME), SqlFence(), connection)
        for _ in range(2):  # nor by a thread that has entered it before
            other.submit(block.__enter__).result(BOUND)
            connection.execute("INSERT INTO report VALUES ('kept')")
            with pytest.raises(RuntimeError, match=said):
                block.__exit__(None, None, None)
            assert client.fenced_lock(NAME).locked()
            assert connection.in_transaction
            other.submit(block.__exit__, None, None, None).result(BOUND)
            assert not client.fenced_lock(NAME).locked()
            with block:
                connection.execute("INSERT INTO report VALUES ('kept')")
    with connect() as later:
        assert later.execute("SELECT count(*) FROM report").fetchone() == (4,)


def test_a_block_is_left_by_the_task_that_entered_it() -> None:
    inside: list[str] = []

    @asynccontextmanager
    async def entry() -> AsyncIterator[None]:
        inside.append(NAME)
        yield
        inside.remove(NAME)

    async def both() -> None:
        block = AsyncBlock(NAME, entry)
        async with block:
            with pytest.raises(RuntimeError, match=f"'{NAME}' was not entered by this task"):
                await asyncio.create_task(block.__aexit__(None, None, None))
            assert inside
        assert not inside

    asyncio.run(both())


@pytest.mark.servers("redis")
def test_no_late_write_passes_the_fence_when_threads_are_paused_at_random_points(
    server: Server, tmp_path: Path
) -> None:
    """stopped-process.

    And without the fence some do, which shows that the points are those that matter.
    """
    with_fence, without = (
        prove("thread", f"sqlite:{tmp_path}/{fence}", server.url, points=60, fence=fence)
        for fence in (True, False)
    )
    assert (with_fence.points, with_fence.late) == (60, 0)
    assert without.late > 0
