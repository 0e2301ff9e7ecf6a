"""`holdfast.contrib.fencing` with every kind of connection, on PostgreSQL and SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
from tests.frameworks import fencing_proof
from tests.frameworks.postgres import Postgres
from tests.frameworks.ways import FENCE, NAME, Databases
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

psycopg = pytest.importorskip("psycopg")
sqlalchemy = pytest.importorskip("sqlalchemy")
for driver in ("asyncpg", "aiosqlite", "django"):
    pytest.importorskip(driver)

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

LATE, LATER = 41, 42

Open = Callable[..., Any]


class Rollback(Exception):
    """Ends a transaction."""


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
    """stopped-process: processes, threads and the network."""
    where = f"sqlite:{databases.file}" if kind == "sqlite" else f"postgresql:{databases.conninfo}"
    proved = fencing_proof.prove(stop, where, server.url, points=200, fence=True)
    assert (proved.points, proved.late, proved.lost) == (200, 0, 0)
    unfenced = (
        fencing_proof.prove(stop, where, server.url, points=40, fence=False, seed=seed)
        for seed in range(1, 11)  # the points are random: 40 may all be others
    )
    assert any(each.late for each in unfenced)
