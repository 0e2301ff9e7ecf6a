"""Every helper of `holdfast.contrib` that is a context or a decorator, shared and entered again.

A new public name needs a row in `HELPERS`, in `ELSEWHERE`, or among `OTHERS`.
"""

from __future__ import annotations

import asyncio
import pkgutil
import re
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from importlib import import_module
from typing import Any, NamedTuple

import pytest

import holdfast
import holdfast.asyncio
from holdfast import contrib
from tests.frameworks.conftest import ROOT
from tests.frameworks.ways import FENCE, Databases, Django, Psycopg
from tests.support.servers import Server

for package in ("celery", "django", "fastapi", "opentelemetry", "prometheus_client", "psycopg"):
    pytest.importorskip(package)

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

NAME = "shared"
CALLERS, TURNS = 4, 25

REFUSED, NESTED, SKIPPED = "refused", "nested", "skipped"
"""What a second entry by the same caller is: an error, one more hold, or left out."""

Work = Callable[[], Any]


class Helper(NamedTuple):
    """`made` makes what is shared: a function that does some work inside of it."""

    made: Callable[[Stage], Callable[[Work], Any]]
    again: str
    #: Where several callers cannot use it at once: who comes second has this error.
    alone: type[Exception] | tuple[()] = ()


class Stage:
    """A server, databases, and what the rows make of them."""

    def __init__(self, url: str, databases: Databases) -> None:
        self.url = url
        self.databases = databases
        self.client = holdfast.Client(url)
        self._open: list[Any] = []

    def way(self, kind: Any) -> Any:
        self._open.append(kind(self.databases, False))
        return self._open[-1]

    def is_locked(self) -> bool:
        return self.client.lock(NAME).locked()

    def close(self) -> None:
        for way in self._open:
            way.close()
        self.client.close()


def entered(block: AbstractContextManager[Any]) -> Callable[[Work], Any]:
    def run(work: Work) -> Any:
        with block:
            return work()

    return run


def entered_by_tasks(block: AbstractAsyncContextManager[Any]) -> Callable[[Work], Any]:
    async def run(work: Callable[[], Awaitable[Any]]) -> Any:
        async with block:
            return await work()

    return run


def called(decorator: Callable[[Any], Any]) -> Callable[[Work], Any]:
    """Not by `decorator(work)`: the decorated function is what is shared."""

    @decorator
    def run(work: Work) -> Any:
        return work()

    return run


def of_django(helper: str, *, decorates: bool = False) -> Callable[[Stage], Any]:
    def made(stage: Stage) -> Any:
        stage.way(Django)
        module = import_module("holdfast.contrib.django")
        shared = getattr(module, helper)(NAME)
        run = called(shared) if decorates else entered(shared)

        def run_and_close(work: Work) -> Any:
            try:
                return run(work)
            finally:
                connection = import_module("django.db").connection
                if not connection.in_atomic_block:
                    connection.close()

        return run_and_close

    return made


def of_celery(busy: str) -> Callable[[Stage], Any]:
    def made(stage: Stage) -> Any:
        return called(import_module("holdfast.contrib.celery").single(NAME, busy=busy))

    return made


def of_fencing(stage: Stage, *, decorates: bool = False) -> Any:
    fenced = import_module("holdfast.contrib.fencing").fenced
    block = fenced(stage.client.fenced_lock(NAME), FENCE, stage.way(Psycopg).connection)
    return called(block) if decorates else entered(block)


def of_fencing_by_tasks(stage: Stage) -> Any:
    fenced = import_module("holdfast.contrib.fencing").fenced

    async def made() -> Any:
        connect = import_module("psycopg").AsyncConnection.connect
        connection = await connect(stage.databases.conninfo, autocommit=True)
        client = holdfast.asyncio.Client(stage.url)
        return entered_by_tasks(fenced(client.fenced_lock(NAME), FENCE, connection)), [
            connection.close,
            client.close,
        ]

    return made


def of_redis_py(stage: Stage) -> Any:
    redis = import_module("redis").Redis.from_url(stage.url)
    lock = import_module("holdfast.contrib.redis_py").Lock(redis, NAME, blocking_timeout=1)
    return entered(lock)


HELPERS = {
    "django.atomic_lock": Helper(of_django("atomic_lock"), REFUSED),
    "django.atomic_lock as a decorator": Helper(of_django("atomic_lock", decorates=True), REFUSED),
    "django.locked": Helper(of_django("locked", decorates=True), NESTED),
    "celery.single": Helper(of_celery("wait"), REFUSED),
    "celery.single with busy='skip'": Helper(of_celery("skip"), SKIPPED),
    "fencing.fenced": Helper(of_fencing, REFUSED, RuntimeError),
    "fencing.fenced as a decorator": Helper(
        lambda stage: of_fencing(stage, decorates=True), REFUSED, RuntimeError
    ),
    "redis_py.Lock": Helper(of_redis_py, REFUSED),
}

ELSEWHERE = {
    "fastapi.Locked": (
        "test_fastapi.py::test_two_dependencies_on_one_name_are_one_hold",
        "test_bank.py::test_a_session_that_commits_behind_its_yield_commits_before_the_release",
    ),
    "fastapi.lifespan": (
        "test_shared_helpers.py::test_a_lifespan_that_is_entered_again_leaves_the_outer_client",
    ),
    "fencing.fenced by tasks": (
        "test_shared_helpers.py::test_tasks_share_a_fenced_block_that_no_task_enters_twice",
    ),
    "redis_py.AsyncLock": (
        "test_shared_helpers.py::test_tasks_share_a_lock_of_redis_py_that_no_task_enters_twice",
    ),
}

OTHERS = {
    "celery.enqueue_once", "django.get_client", "fastapi.get_client", "fencing.FencedObject",
    "fencing.S3Fence", "fencing.SqlFence", "opentelemetry.HoldfastInstrumentor",
    "prometheus.Collector", "prometheus.by_program", "redis_py.async_client_of",
    "redis_py.client_of",
}  # fmt: skip
"""Neither contexts nor decorators."""


def test_each_public_name_has_a_row() -> None:
    names = {
        f"{module.name}.{name}"
        for module in pkgutil.iter_modules(contrib.__path__)
        if not module.name.startswith("_")
        for name in import_module(f"holdfast.contrib.{module.name}").__all__
    }
    rows = {row.partition(" ")[0] for row in (*HELPERS, *ELSEWHERE)}
    assert names == rows | OTHERS
    for name in OTHERS:
        module, _, word = name.partition(".")
        public = getattr(import_module(f"holdfast.contrib.{module}"), word)
        assert not hasattr(public, "__enter__"), name
        assert not hasattr(public, "__aenter__"), name
    for tests in ELSEWHERE.values():
        for file, _, test in (each.partition("::") for each in tests):
            text = (ROOT / "tests/frameworks" / file).read_text()
            assert re.search(rf"^def {test}\(", text, re.MULTILINE), test


@pytest.fixture
def stage(server: Server, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("HOLDFAST_URL", server.url)  # for Celery
    with databases.postgres.connect() as connection:
        FENCE.create(connection)
    databases.set_up_django()
    override = import_module("django.test").override_settings
    stage = Stage(server.url, databases)
    with override(HOLDFAST_URL=server.url):
        yield stage
        import_module("holdfast.contrib.django").get_client().close()
    stage.close()


class Turns:
    """Counts the turns, and how many callers were inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.done = 0

    def turn(self) -> bool:
        self.inside += 1
        self.most = max(self.most, self.inside)
        done = self.done
        import_module("time").sleep(0)  # lets others in where they may come in
        self.done = done + 1
        self.inside -= 1
        return True

    async def async_turn(self) -> bool:
        self.inside += 1
        self.most = max(self.most, self.inside)
        done = self.done
        await asyncio.sleep(0)
        self.done = done + 1
        self.inside -= 1
        return True


@pytest.mark.parametrize("name", HELPERS)
def test_threads_share_it(name: str, stage: Stage) -> None:
    helper, turns = HELPERS[name], Turns()
    run = helper.made(stage)

    def caller(_: int) -> int:
        done = 0
        for _ in range(TURNS):
            with suppress(*([helper.alone] if helper.alone else [])):
                done += bool(run(turns.turn))
        return done

    with ThreadPoolExecutor(CALLERS) as pool:
        done = sum(pool.map(caller, range(CALLERS)))
    assert turns.most == 1
    assert turns.done == done >= 1
    if not helper.alone and helper.again != SKIPPED:
        assert done == CALLERS * TURNS
    assert not stage.is_locked()


@pytest.mark.parametrize("name", HELPERS)
def test_a_second_entry_by_the_same_caller_touches_nothing(name: str, stage: Stage) -> None:
    helper, said = HELPERS[name], []
    run = helper.made(stage)

    def outer() -> str:
        if helper.again == REFUSED:
            with pytest.raises(Exception, match=r"inside of itself|could not be acquired"):
                run(lambda: said.append("inner"))
        else:
            run(lambda: said.append("inner"))
        assert stage.is_locked()
        return "outer"

    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            assert pool.submit(run, outer).result(60) == "outer"
            assert not stage.is_locked()
    assert said == (["inner"] * 2 if helper.again == NESTED else [])


async def shared_by_tasks(run: Callable[[Work], Any], alone: type[Exception] | None) -> Turns:
    turns = Turns()

    async def caller() -> int:
        done = 0
        for _ in range(TURNS):
            with suppress(*([alone] if alone else [])):
                done += bool(await run(turns.async_turn))
        return done

    done = sum(await asyncio.gather(*(caller() for _ in range(CALLERS))))
    assert turns.most == 1
    assert turns.done == done >= 1
    return turns


async def entered_twice_by_a_task(run: Callable[[Work], Any], stage: Stage) -> None:
    said: list[str] = []

    async def inner() -> None:
        said.append("inner")

    async def outer() -> str:
        with pytest.raises(Exception, match=r"inside of itself|could not be acquired"):
            await run(inner)
        assert await asyncio.to_thread(stage.is_locked)
        return "outer"

    for _ in range(2):
        assert await run(outer) == "outer"
    assert said == []


def test_tasks_share_a_fenced_block_that_no_task_enters_twice(stage: Stage) -> None:
    async def both() -> None:
        run, closes = await of_fencing_by_tasks(stage)()
        await shared_by_tasks(run, RuntimeError)
        await entered_twice_by_a_task(run, stage)
        for close in closes:
            await close()

    asyncio.run(both())
    assert not stage.is_locked()


def test_tasks_share_a_lock_of_redis_py_that_no_task_enters_twice(stage: Stage) -> None:
    async def both() -> None:
        redis = import_module("redis.asyncio").Redis.from_url(stage.url)
        kind = import_module("holdfast.contrib.redis_py").AsyncLock
        for one in (kind(redis, NAME), kind(redis, NAME, blocking_timeout=0.05)):
            run = entered_by_tasks(one)
            if one.blocking_timeout is None:
                turns = await shared_by_tasks(run, None)
                assert turns.done == CALLERS * TURNS
            else:
                await entered_twice_by_a_task(run, stage)
        await redis.aclose()

    asyncio.run(both())
    assert not stage.is_locked()


def test_a_lifespan_that_is_entered_again_leaves_the_outer_client(server: Server) -> None:
    from holdfast.contrib.fastapi import lifespan

    app = import_module("fastapi").FastAPI()
    shared = lifespan(server.url)

    async def twice() -> None:
        async with shared(app):
            outer = app.state.holdfast
            async with shared(app):
                assert app.state.holdfast is not outer
                assert await app.state.holdfast.ping()
            assert app.state.holdfast is outer
            assert await outer.ping()

    asyncio.run(twice())
