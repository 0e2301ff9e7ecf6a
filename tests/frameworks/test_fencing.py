"""The guide to fencing tokens, against PostgreSQL and an object store with conditional writes.

The object store is MinIO if `minio` is on PATH, else moto's. `HOLDFAST_TEST_S3` names another: its
URL, with the credentials in AWS's variables.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

import holdfast
from holdfast.contrib.fencing import S3Fence
from tests.frameworks.conftest import Program
from tests.frameworks.postgres import Postgres
from tests.frameworks.test_guides import examples
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually

pytest.importorskip("psycopg")
pytest.importorskip("asyncpg")
pytest.importorskip("boto3")
pytest.importorskip("moto")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

SECRET = "for-tests-only"
LATER, LATE = 10**18, 10**18 - 1
"""Tokens greater than those of the locks in the guide."""


@pytest.fixture(scope="module")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the object store."""
    if url := os.environ.get("HOLDFAST_TEST_S3"):
        yield url
        return
    port = free_port()
    program = store_on(port, str(tmp_path_factory.mktemp("minio")))
    url = f"http://127.0.0.1:{port}"
    eventually(lambda: answers(url) or program.process.poll() is not None, within=60)
    assert program.process.poll() is None, program.log
    yield url
    program.close()


def store_on(port: int, folder: str) -> Program:
    minio = shutil.which("minio")
    if minio is None:
        return Program("-m", "tests.frameworks.object_store", str(port), environment={})
    command = [minio, "server", "--quiet", "--address", f"127.0.0.1:{port}", folder]
    run = f"import os; os.execv({minio!r}, {command!r})"
    keys = {"MINIO_ROOT_USER": SECRET, "MINIO_ROOT_PASSWORD": SECRET}
    return Program("-c", run, environment=keys)


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
        monkeypatch.setenv(name, os.environ.get(name, SECRET))
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


@pytest.fixture
def store(s3: Any) -> S3Fence:
    return S3Fence(s3, "reports")


def test_the_guide_s_program_refuses_the_late_writes(
    postgres: Postgres, s3: Any, server: Server
) -> None:
    program = "\n".join(examples("fencing", server.url))
    assert server.url in program
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as said:
        exec(compile(program, "fencing.md", "exec"), names)
    refusals = said.getvalue().splitlines()
    assert len(refusals) == 2
    assert all("is stale" in line for line in refusals)
    with postgres.connect("shop") as connection:
        assert connection.execute("SELECT * FROM report").fetchall() == [("daily", "fourth")]
        fences = connection.execute("SELECT * FROM holdfast_fence").fetchall()
    assert fences == [("report:daily", fences[0][1])]
    assert names["token"] > fences[0][1] > 0


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


@pytest.mark.parametrize("text", [b"later", b"the same"], ids=["other", "same"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_a_later_owner_that_writes_between_the_look_and_the_write_is_not_overwritten(
    text: bytes, is_new: bool, store: S3Fence, s3: Any
) -> None:
    if not is_new:
        store.put("daily", b"the same", token=LATE)
    overtaken = Overtaken(s3, lambda: store.put("daily", text, token=LATER))
    with pytest.raises(holdfast.StaleTokenError, match=f"'daily' is stale: .* {LATER} of a later"):
        S3Fence(overtaken, "reports").put("daily", b"late", token=LATE)
    assert store.get("daily") == (text, LATER)


def test_an_earlier_owner_that_writes_in_between_is_overwritten(store: S3Fence, s3: Any) -> None:
    overtaken = Overtaken(s3, lambda: store.put("daily", b"late", token=LATE))
    S3Fence(overtaken, "reports").put("daily", b"later", token=LATER)
    assert store.get("daily") == (b"later", LATER)


def test_an_object_that_is_removed_in_between_is_written(store: S3Fence, s3: Any) -> None:
    store.put("daily", b"first", token=LATE)
    overtaken = Overtaken(s3, lambda: s3.delete_object(Bucket="reports", Key="daily"))
    S3Fence(overtaken, "reports").put("daily", b"second", token=LATE)
    assert store.get("daily") == (b"second", LATE)


def test_the_same_token_writes_again_any_bytes(store: S3Fence) -> None:
    for body in (b"", bytes(range(256)), bytearray(b"x" * 100_000), memoryview(b"\n")):
        store.put("folder/daily \u00e4", body, token=LATER)
        assert store.get("folder/daily \u00e4").body == bytes(body)


def test_tokens_never_fall_while_many_write_at_once(store: S3Fence, s3: Any) -> None:
    tokens = list(range(LATER, LATER + 40))
    random.Random(1).shuffle(tokens)

    def attempt(token: int) -> bool:
        try:
            store.put("daily", b"report", token=token)
        except holdfast.StaleTokenError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        written = list(itertools.compress(tokens, pool.map(attempt, tokens)))
    kept = [token_of(s3, version) for version in versions(s3)]
    assert kept == sorted(kept)
    assert kept[-1] == max(tokens)
    assert set(written) == set(kept)


def token_of(s3: Any, version: dict[str, str]) -> int:
    with s3.get_object(Bucket="reports", **version)["Body"] as body:
        return int(body.read()[15:34])


@pytest.mark.parametrize("content", [b"", b"of another program", b"holdfast-fence 7\n"])
def test_an_object_without_a_token_is_refused_and_stays(
    content: bytes, store: S3Fence, s3: Any
) -> None:
    s3.put_object(Bucket="reports", Key="daily", Body=content)
    with pytest.raises(ValueError, match=r"'daily' in .* has no token"):
        store.put("daily", b"late", token=LATER)
    with pytest.raises(ValueError, match="has no token"):
        store.get("daily")
    with s3.get_object(Bucket="reports", Key="daily")["Body"] as body:
        assert body.read() == content


def test_errors_of_the_store_are_boto3_s(store: S3Fence, s3: Any) -> None:
    with pytest.raises(s3.exceptions.NoSuchKey):
        store.get("daily")
    with pytest.raises(s3.exceptions.NoSuchBucket):
        S3Fence(s3, "absent").put("daily", b"", token=LATER)


def test_a_condition_that_fails_for_ever_is_raised(store: S3Fence, s3: Any) -> None:
    store.put("daily", b"first", token=LATE)
    attempts: list[None] = []

    class Wrong(Overtaken):
        def put_object(self, **options: Any) -> Any:
            attempts.append(None)
            return s3.put_object(**{**options, "IfMatch": '"another"'})

    with pytest.raises(s3.exceptions.ClientError, match="PreconditionFailed"):
        S3Fence(Wrong(s3, lambda: None), "reports").put("daily", b"second", token=LATER)
    assert 2 <= len(attempts) <= 20
