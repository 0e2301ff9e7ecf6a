"""What a transaction of `holdfast.contrib.fencing` refuses, and what it says after its commit."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from holdfast.contrib.fencing import SqlFence, fenced
from tests.frameworks.conftest import ROOT
from tests.frameworks.ways import (
    FENCE,
    NAME,
    Databases,
    Django,
    SqlAlchemyAsyncSession,
    SqlAlchemySession,
)
from tests.support.servers import Server
from tests.support.waiting import BOUND

psycopg = pytest.importorskip("psycopg")
for driver in ("asyncpg", "aiosqlite", "django", "sqlalchemy"):
    pytest.importorskip(driver)

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

LATER = 42
SESSIONS = (SqlAlchemySession, SqlAlchemyAsyncSession)

Open = Callable[..., Any]


def was_granted(server: Server) -> bool:
    """Whether the lock was acquired."""
    return bool(server.inspect.keys(f"*token*{NAME}*"))


def test_a_closed_connection_is_refused_with_these_words(open_way: Open, server: Server) -> None:
    way = open_way()
    if isinstance(way, (Django, *SESSIONS)):
        pytest.skip("which opens another")
    way.do(way.shut)
    for call in ((way.check, LATER), (way.write_fenced, server.url, "late")):
        with pytest.raises(Exception, match=r"closed|released back") as refused:
            way.do(*call)
        assert "transaction" not in str(refused.value)
    assert not was_granted(server)


def test_a_block_that_has_ended_its_transaction_says_so(open_way: Open, server: Server) -> None:
    """What it wrote until then is committed: "rolled back" would not be true."""
    way = open_way()
    for then in (["COMMIT", "BEGIN"], ["ROLLBACK"]):
        with pytest.raises(RuntimeError, match="is one transaction, which the block has ended"):
            way.do(way.write_fenced, server.url, "first", *then)
        way = open_way()
    with holdfast.Client(server.url) as client:
        assert not client.fenced_lock(NAME).locked()


@pytest.mark.parametrize("error", [holdfast.StaleTokenError, holdfast.LockLostError, KeyError])
@pytest.mark.parametrize("kind", SESSIONS)
def test_an_error_of_a_session_s_hook_after_the_commit_is_its_own(
    kind: Any, error: type[Exception], databases: Databases, server: Server
) -> None:
    way = prepared(kind, databases)

    def hook(*_: object) -> None:
        raise error("of another lock")

    way.do(way.on_commit, hook)
    with pytest.raises(error, match="of another lock") as raised:
        way.do(way.write_fenced, server.url, "first")
    assert raised.value.committed  # type: ignore[attr-defined]
    assert way.do(way.bodies) == ["first"]
    way.close()


@pytest.mark.parametrize("error", [holdfast.StaleTokenError, holdfast.LockLostError, KeyError])
def test_an_error_of_django_s_hook_after_the_commit_is_its_own(
    error: type[Exception], databases: Databases, server: Server
) -> None:
    way = prepared(Django, databases)

    def hook() -> None:
        raise error("of another lock")

    def write() -> None:
        with (
            holdfast.Client(server.url) as client,
            fenced(client.fenced_lock(NAME), FENCE, way.connection),
        ):
            import_module("django.db.transaction").on_commit(hook)
            way.run("INSERT INTO report VALUES ('first')")

    with pytest.raises(error, match="of another lock") as raised:
        way.do(write)
    assert raised.value.committed  # type: ignore[attr-defined]
    assert way.do(way.bodies) == ["first"]
    way.close()


def prepared(kind: Any, databases: Databases) -> Any:
    """A connection of this kind, where the tables are there."""
    with databases.postgres.connect() as connection:
        FENCE.create(connection)
        connection.execute("CREATE TABLE report (body text)")
    return kind(databases, False)


def test_a_session_in_the_transaction_of_its_connection_is_refused(
    databases: Databases, server: Server
) -> None:
    """The block would end without a commit: the connection's transaction stays open."""
    sqlalchemy = import_module("sqlalchemy")
    engine = sqlalchemy.create_engine(databases.for_sqlalchemy("postgresql+psycopg"))
    with holdfast.Client(server.url) as client, engine.connect() as connection, connection.begin():
        session = import_module("sqlalchemy.orm").Session(bind=connection)
        with pytest.raises(RuntimeError, match="a transaction is open"):
            fenced(client.fenced_lock(NAME), FENCE, session).__enter__()
    assert not was_granted(server)
    engine.dispose()


def test_an_asynchronous_session_in_the_transaction_of_its_connection_is_refused(
    databases: Databases, server: Server
) -> None:
    tools = import_module("sqlalchemy.ext.asyncio")
    engine = tools.create_async_engine(databases.for_sqlalchemy("postgresql+asyncpg"))

    async def attempt() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            engine.connect() as connection,
            connection.begin(),
        ):
            session = tools.AsyncSession(bind=connection)
            with pytest.raises(RuntimeError, match="a transaction is open"):
                await fenced(client.fenced_lock(NAME), FENCE, session).__aenter__()
        await engine.dispose()

    asyncio.run(attempt())
    assert not was_granted(server)


def test_a_check_in_a_pipeline_without_a_transaction_is_refused(databases: Databases) -> None:
    """A pipeline commits at each of its ends: a write of 5 could follow one of 6."""
    with databases.postgres.connect(autocommit=True) as connection:
        FENCE.create(connection)
        with connection.pipeline():
            connection.execute("SELECT 1")
            with pytest.raises(RuntimeError, match="no transaction is open"):
                FENCE.check(connection, NAME, LATER)
            with connection.transaction():
                FENCE.check(connection, NAME, 5)
        assert connection.execute("SELECT token FROM holdfast_fence").fetchall() == [(5,)]


def test_a_check_in_an_asynchronous_pipeline_without_a_transaction_is_refused(
    databases: Databases,
) -> None:
    async def attempt() -> None:
        connect = psycopg.AsyncConnection.connect
        async with await connect(databases.conninfo, autocommit=True) as connection:
            await FENCE.create(connection)
            async with connection.pipeline():
                await connection.execute("SELECT 1")
                with pytest.raises(RuntimeError, match="no transaction is open"):
                    await FENCE.check(connection, NAME, LATER)
                async with connection.transaction():
                    await FENCE.check(connection, NAME, 5)

    asyncio.run(attempt())
    with databases.postgres.connect() as connection:
        assert connection.execute("SELECT token FROM holdfast_fence").fetchall() == [(5,)]


CREATES = """
import sys
import psycopg
from holdfast.contrib.fencing import SqlFence
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    for at in range(40):
        sys.stdin.readline()
        SqlFence(f"fence_{at}").create(connection)
        print("created", flush=True)
"""


def test_programs_that_create_the_table_at_the_same_time_all_succeed(databases: Databases) -> None:
    command = [sys.executable, "-c", CREATES, databases.conninfo]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        programs = [
            stack.enter_context(subprocess.Popen(command, cwd=ROOT, bufsize=1, **pipes))
            for _ in range(6)
        ]
        said = []
        for _ in range(40):
            for program in programs:
                program.stdin.write("now\n")
            said += [program.stdout.readline() for program in programs]
    assert said == ["created\n"] * 240
    with databases.postgres.connect(autocommit=True) as connection:
        for at in range(40):
            connection.execute(f"DROP TABLE fence_{at}")


def test_a_table_that_is_there_needs_no_right_to_create_one(databases: Databases) -> None:
    with databases.postgres.connect(autocommit=True) as connection:
        FENCE.create(connection)
        connection.execute("CREATE ROLE writer")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute("SET ROLE writer")
        FENCE.create(connection)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            SqlFence("another").create(connection)
        connection.execute("RESET ROLE")
        connection.execute("DROP ROLE writer")
        connection.execute("SET default_transaction_read_only = on")  # as on a standby
        FENCE.create(connection)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            SqlFence("another").create(connection)


def test_a_name_that_no_index_keeps_is_refused_before_anything_is_sent(
    databases: Databases, server: Server
) -> None:
    chance = random.Random(1)
    fits = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=2692))
    with databases.postgres.connect() as connection, holdfast.Client(server.url) as client:
        FENCE.create(connection)
        FENCE.check(connection, fits, LATER)
        for name in (fits + "a", "ä" * 1347):
            with pytest.raises(ValueError, match="at most 2692 bytes"):
                FENCE.check(connection, name, LATER)
            with pytest.raises(ValueError, match="at most 2692 bytes"):
                fenced(client.fenced_lock(name), FENCE, connection)


def test_after_the_commit_a_server_that_is_gone_is_no_error_for_a_task(
    databases: Databases, private_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with databases.postgres.connect() as connection:
        FENCE.create(connection)
        connection.execute("CREATE TABLE report (body text)")

    async def write() -> None:
        connect = psycopg.AsyncConnection.connect
        client = holdfast.asyncio.Client(private_server.url, retries=0, command_timeout=0.5)
        async with (
            await connect(databases.conninfo, autocommit=True) as connection,
            fenced(client.fenced_lock(NAME), FENCE, connection),
        ):
            await connection.execute("INSERT INTO report VALUES ('first')")
            private_server.stop()
        with pytest.warns(ResourceWarning, match="while it held 'report'"):
            await client.close()

    asyncio.run(asyncio.wait_for(write(), BOUND))
    assert databases.bodies(lite=False) == ["first"]
    assert "the work under 'report' is done" in caplog.text


def test_boto3_s_bucket_is_no_client() -> None:
    boto3 = pytest.importorskip("boto3")
    from holdfast.contrib.fencing import S3Fence

    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    bucket = boto3.resource("s3", region_name="us-east-1", **keys).Bucket("reports")
    with pytest.raises(TypeError, match="client must be boto3's client"):
        S3Fence(bucket, "reports")
