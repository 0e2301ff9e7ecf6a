"""Requests that add one to a balance in PostgreSQL: none is lost where all say that they did it.

Each helper for a framework is asked one question: what is committed, acknowledged or answered when,
and where is the lock then? The answers are a table of docs/guides/fencing.md.
"""

from __future__ import annotations

import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.contrib.fencing import SqlFence
from tests.frameworks.conftest import ROOT, Run, Start, get, manage
from tests.frameworks.postgres import Postgres
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually

pytest.importorskip("celery")
pytest.importorskip("fastapi")
pytest.importorskip("psycopg")
pytest.importorskip("sqlalchemy")
pytest.importorskip("django")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

REQUESTS = 100

HERE = "test_bank.py::"
ROWS = {
    "`fenced()`": f"{HERE}test_a_transaction_within_the_lock_is_committed_before_the_release",
    "`SqlFence.check()`": "test_fencing_drivers.py::test_a_check_without_a_transaction_is_refused",
    "`S3Fence.put()`": "test_fencing.py::test_tokens_never_fall_while_many_write_at_once",
    "`Locked` of FastAPI": (
        f"{HERE}test_a_session_that_commits_behind_its_yield_commits_before_the_release"
    ),
    "`atomic_lock` of Django": f"{HERE}test_a_view_of_django_commits_before_the_release",
    "`locked` of Django": f"{HERE}test_a_view_of_django_commits_before_the_release",
    "`single` of Celery": f"{HERE}test_a_task_of_celery_commits_before_the_release",
    "`enqueue_once` of Celery": f"{HERE}test_a_task_of_celery_commits_before_the_release",
    "`Lock` of `redis_py`": (
        f"{HERE}test_a_transaction_within_the_lock_is_committed_before_the_release"
    ),
    "`HoldfastInstrumentor`, `Collector`": (
        f"{HERE}test_a_transaction_within_the_lock_is_committed_before_the_release"
    ),
}
"""By the first cell of a row of the page's table: the test that shows it."""


def test_each_row_of_the_page_has_a_test() -> None:
    page = (ROOT / "docs/guides/fencing.md").read_text()
    _, _, rest = page.partition("| helper | what is committed |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == list(ROWS)
    for test in ROWS.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests/frameworks" / file).read_text()


@pytest.fixture
def accounts(postgres: Postgres) -> Postgres:
    """The server, with accounts that have a balance of 0."""
    with postgres.connect("shop") as connection:
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)")
        connection.execute("INSERT INTO account SELECT id, 0 FROM generate_series(1, 9) AS id")
    return postgres


def balance(postgres: Postgres, account: int) -> int:
    with postgres.connect("shop") as connection:
        found = connection.execute("SELECT balance FROM account WHERE id = %s", (account,))
        return int(found.fetchone()[0])


def post(url: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60) as answer:
        return int(answer.status)


def post_many(urls: list[str]) -> set[int]:
    """The statuses of requests that are sent at once."""
    with ThreadPoolExecutor(len(urls)) as pool:
        return set(pool.map(post, urls))


def answers(url: str) -> bool:
    try:
        return get(url)[0] == 200
    except OSError:
        return False


@pytest.fixture
def bank(run: Run, server: Server, accounts: Postgres) -> Iterator[str]:
    """The URL of the FastAPI application, in two processes."""
    port = free_port()
    program = run(
        "-m", "uvicorn", "tests.frameworks.bank:app", "--port", str(port), "--workers", "2",
        HOLDFAST_URL=server.url,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    eventually(lambda: answers(f"{url}/pid") or program.process.poll() is not None, within=60)
    assert program.process.poll() is None, program.log
    yield url
    eventually(lambda: not server.inspect.keys("account:*"))


@pytest.mark.parametrize("tasks", ["none", "freed", "held"])
@pytest.mark.parametrize("session", ["thread", "loop"])
def test_a_session_that_commits_behind_its_yield_commits_before_the_release(
    session: str, tasks: str, bank: str, accounts: Postgres
) -> None:
    for account, place in enumerate(("above", "before", "after"), start=1):
        url = f"{bank}/{session}/{place}/{tasks}/{account}"
        assert post_many([url] * REQUESTS) == {200}
        assert balance(accounts, account) == REQUESTS, place


@pytest.mark.parametrize("way", ["fenced/thread", "fenced/loop", "redis_py"])
def test_a_transaction_within_the_lock_is_committed_before_the_release(
    way: str, bank: str, accounts: Postgres
) -> None:
    with accounts.connect("shop") as connection:
        SqlFence().create(connection)
    assert post_many([f"{bank}/{way}/1"] * REQUESTS) == {200}
    assert balance(accounts, 1) == REQUESTS


@pytest.fixture
def shop(run: Run, server: Server, postgres: Postgres) -> list[str]:
    """The URLs of two processes of the Django project, with ATOMIC_REQUESTS."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.frameworks.shop.settings",
        "SHOP_DATABASE": "shop",
        "SHOP_POSTGRESQL": "yes",
        "HOLDFAST_URL": server.url,
    }
    manage(environment, "migrate", "--run-syncdb", "--verbosity", "0")
    with postgres.connect("shop") as connection:
        for view in VIEWS:
            connection.execute("INSERT INTO shop_item (name, count) VALUES (%s, 0)", (view,))
    urls = []
    for _ in range(2):
        port = free_port()
        run("-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}", **environment)
        urls.append(f"http://127.0.0.1:{port}")
    for url in urls:
        eventually(lambda url=url: answers(f"{url}/report/tea"), within=60)
    return urls


VIEWS = ("add", "shared", "decorated", "around", "within")


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_django_commits_before_the_release(
    view: str, shop: list[str], postgres: Postgres
) -> None:
    """`within` would release before the commit of ATOMIC_REQUESTS, and refuses."""
    urls = [f"{url}/{view}/{view}" for url in shop] * (REQUESTS // 2)
    with ThreadPoolExecutor(REQUESTS) as pool:
        answered = list(pool.map(get, urls))
    done = 0 if view == "within" else REQUESTS
    assert Counter(status for status, _ in answered) == {500 if view == "within" else 200: REQUESTS}
    with postgres.connect("shop") as connection:
        found = connection.execute("SELECT count FROM shop_item WHERE name = %s", (view,))
        assert found.fetchone() == (done,)


@pytest.mark.parametrize("task", ["adding", "adding_once"])
def test_a_task_of_celery_commits_before_the_release(
    task: str, start: Start, exports: Any, accounts: Postgres
) -> None:
    """`adding_once` is sent 100 times, and is in the queue, or runs, once at a time."""
    start("prefork", 4)
    if task == "adding_once":
        with ThreadPoolExecutor(8) as pool:
            sent = list(pool.map(lambda _: enqueue(exports), range(REQUESTS)))
        done = sum(result is not None for result in sent)
        assert 1 <= done < REQUESTS
        for result in filter(None, sent):
            result.get(timeout=60)
    else:
        done = REQUESTS
        for _ in range(REQUESTS):
            exports.adding.delay(1)
    eventually(lambda: balance(accounts, 1) >= done, within=60)
    assert balance(accounts, 1) == done


def enqueue(exports: Any) -> Any:
    return exports.enqueue_once(exports.adding_once, (1,), name="account:1", lease=60)
