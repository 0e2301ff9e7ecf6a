"""The guide to fencing tokens, against PostgreSQL and an object store with conditional writes.

`HOLDFAST_TEST_S3` names another object store than moto's: its URL, with the credentials in AWS's
variables.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from tests.frameworks.conftest import Program, free_port
from tests.frameworks.postgres import Postgres
from tests.frameworks.test_guides import examples
from tests.support.servers import Server
from tests.support.waiting import eventually

pytest.importorskip("psycopg")
pytest.importorskip("boto3")
pytest.importorskip("moto")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis"), pytest.mark.timeout(180)]

LATER, LATE = 10**18, 10**18 - 1
"""Tokens greater than those of the locks in the guide."""


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Postgres]:
    """The server of all tests of this module."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """A server with an empty database, where libpq looks for it."""
    with own_postgres.connect(autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        connection.execute("CREATE DATABASE shop")
    for name, value in own_postgres.environment.items():
        monkeypatch.setenv(name, value)
    return own_postgres


@pytest.fixture(scope="module")
def object_store() -> Iterator[str]:
    """The URL of the object store."""
    if url := os.environ.get("HOLDFAST_TEST_S3"):
        yield url
        return
    port = free_port()
    program = Program("-m", "tests.frameworks.object_store", str(port), environment={})
    url = f"http://127.0.0.1:{port}"
    eventually(lambda: answers(url) or program.process.poll() is not None, within=60)
    assert program.process.poll() is None, program.log
    yield url
    program.close()


def answers(url: str) -> bool:
    try:
        urlopen(url, timeout=60).close()
    except HTTPError as error:
        error.close()
    except URLError:
        return False
    return True


@pytest.fixture
def s3(object_store: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """boto3's client of it; the guide's bucket is there, empty, and keeps all versions."""
    import boto3

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", object_store)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, os.environ.get(name, "for-tests-only"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3")
    if "reports" in [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]:
        for version in versions(client):
            client.delete_object(Bucket="reports", **version)
    else:
        client.create_bucket(Bucket="reports")
    client.put_bucket_versioning(Bucket="reports", VersioningConfiguration={"Status": "Enabled"})
    return client


def versions(s3: Any) -> list[dict[str, str]]:
    """All versions of all objects, oldest first."""
    found = s3.list_object_versions(Bucket="reports").get("Versions", [])
    return [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in reversed(found)]


def content(s3: Any, **version: str) -> dict[str, Any]:
    where = {"Key": "daily", **version}
    read: dict[str, Any] = json.load(s3.get_object(Bucket="reports", **where)["Body"])
    return read


@pytest.fixture
def guide(postgres: Postgres, s3: Any, server: Server) -> dict[str, Any]:
    """The names of the guide's program after it has run."""
    program = "\n".join(examples("fencing", server.url))
    assert server.url in program
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as said:
        exec(compile(program, "fencing.md", "exec"), names)
    return {**names, "said": said.getvalue()}


def test_the_guide_s_program_refuses_the_late_writes(
    guide: dict[str, Any], postgres: Postgres, s3: Any
) -> None:
    assert guide["said"] == "a later holder has written already\n" * 2
    with postgres.connect("shop") as connection:
        assert connection.execute("SELECT name, body FROM report").fetchall() == [
            ("daily", "third")
        ]
        greater = "SELECT fence.token > report.token FROM fence, report"
        assert connection.execute(greater).fetchall() == [(True,)]
    assert content(s3)["body"] == "second"
    assert content(s3)["token"] > guide["old"]


def write(guide: dict[str, Any], connection: Any, body: str, token: int) -> None:
    guide["write"](connection, "daily", body, token)


def enter_and_write(guide: dict[str, Any], connection: Any, body: str, token: int) -> None:
    guide["enter"](connection, "report:daily", token)
    connection.execute("UPDATE report SET body = %s WHERE name = 'daily'", (body,))


@pytest.mark.parametrize("way", [write, enter_and_write])
def test_a_late_writer_waits_for_an_unfinished_later_one_and_is_refused(
    way: Callable[..., None], guide: dict[str, Any], postgres: Postgres
) -> None:
    with meeting(way, guide, postgres) as (later, result):
        later.commit()
        with pytest.raises(RuntimeError, match="a later holder"):
            result.result(30)
    assert body(postgres) == "later"


@pytest.mark.parametrize("way", [write, enter_and_write])
def test_a_late_writer_may_write_when_the_later_one_is_rolled_back(
    way: Callable[..., None], guide: dict[str, Any], postgres: Postgres
) -> None:
    with meeting(way, guide, postgres) as (later, result):
        later.rollback()
        result.result(30)
    assert body(postgres) == "late"


class meeting:  # noqa: N801 - used as a function
    """A later writer that has not committed, and a late one that waits for it."""

    def __init__(self, way: Callable[..., None], guide: dict[str, Any], postgres: Postgres) -> None:
        self._way, self._guide, self._postgres = way, guide, postgres
        self._pool = ThreadPoolExecutor(1)
        self._later = postgres.connect("shop")

    def __enter__(self) -> Any:
        self._way(self._guide, self._later, "later", LATER)
        result = self._pool.submit(self._late)
        eventually(self._waits, within=30)
        return self._later, result

    def _late(self) -> None:
        with self._postgres.connect("shop") as late:
            self._way(self._guide, late, "late", LATE)

    def _waits(self) -> bool:
        with self._postgres.connect() as watcher:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            return bool(watcher.execute(waiting).fetchone() == (1,))

    def __exit__(self, *_: object) -> None:
        self._later.close()
        self._pool.shutdown()


def body(postgres: Postgres) -> str:
    with postgres.connect("shop") as connection:
        [text] = connection.execute("SELECT body FROM report").fetchone()
        return str(text)


class Overtaken:
    """An S3 client before whose first write another writes."""

    def __init__(self, s3: Any, other: Callable[[], None]) -> None:
        self._s3 = s3
        self._others = [other]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s3, name)

    def put_object(self, **options: Any) -> Any:
        if self._others:
            self._others.pop()()
        return self._s3.put_object(**options)


@pytest.mark.parametrize("text", ["later", "the same"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_a_later_holder_that_writes_between_the_look_and_the_write_is_not_overwritten(
    text: str, is_new: bool, guide: dict[str, Any], s3: Any
) -> None:
    put = guide["put"]
    if is_new:
        for version in versions(s3):
            s3.delete_object(Bucket="reports", **version)
    else:
        put(s3, "reports", "daily", "the same", LATE)
    overtaken = Overtaken(s3, lambda: put(s3, "reports", "daily", text, LATER))
    with pytest.raises(RuntimeError, match="a later holder"):
        put(overtaken, "reports", "daily", "late", LATE)
    assert content(s3) == {"token": LATER, "body": text}


def test_an_earlier_holder_that_writes_in_between_is_overwritten(
    guide: dict[str, Any], s3: Any
) -> None:
    put = guide["put"]
    overtaken = Overtaken(s3, lambda: put(s3, "reports", "daily", "late", LATE))
    put(overtaken, "reports", "daily", "later", LATER)
    assert content(s3) == {"token": LATER, "body": "later"}


def test_tokens_never_fall_while_many_write_at_once(guide: dict[str, Any], s3: Any) -> None:
    tokens = list(range(LATER, LATER + 40))
    random.Random(1).shuffle(tokens)

    def attempt(token: int) -> bool:
        try:
            guide["put"](s3, "reports", "daily", "report", token)
        except RuntimeError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        written = list(itertools.compress(tokens, pool.map(attempt, tokens)))
    kept = [content(s3, **version)["token"] for version in versions(s3)]
    assert kept == sorted(kept)
    assert kept[-1] == max(tokens)
    assert set(written) == set(kept) & set(tokens)
