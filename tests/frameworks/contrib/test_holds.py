"""Programs in which a lock is released elsewhere than it was acquired."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

fastapi = pytest.importorskip("fastapi", reason="FastAPI comes with the extra fastapi")
httpx = pytest.importorskip("httpx", reason="httpx comes with FastAPI's test client")

pytestmark = pytest.mark.servers("redis")

NAME = "myLock"

pytest_plugins = ["pytester"]


@pytest.fixture
def client(server: Server) -> Iterator[holdfast.Client]:
    with holdfast.Client(server.url) as client:
        yield client


def served(app: fastapi.FastAPI) -> httpx.AsyncClient:
    """A client of the application, without a network between them."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app")


def is_free(server: Server, name: str = NAME) -> bool:
    return not server.inspect.exists(name)


async def test_a_sync_dependency_of_fastapi_with_yield(
    client: holdfast.Client, server: Server
) -> None:
    """Each half of it runs in any free thread of the pool."""
    app = fastapi.FastAPI()
    threads: set[int] = set()

    def locked() -> Iterator[holdfast.Hold]:
        threads.add(threading.get_ident())
        with client.lock(NAME).hold(wait=BOUND) as hold:
            yield hold
            threads.add(threading.get_ident())

    held = fastapi.Depends(locked)

    @app.get("/")
    async def read(hold: Any = held) -> bool:
        # The pool's threads are busy for a moment: another one ends the dependency.
        busy = [asyncio.to_thread(threading.Event().wait, 0.01) for _ in range(4)]
        await asyncio.gather(*busy)
        return hold.left is not None

    async with served(app) as web:
        for _ in range(10):
            assert (await web.get("/")).json() is True
            assert is_free(server)
    assert threads


async def test_a_streaming_response(client: holdfast.Client, server: Server) -> None:
    """Each part of the body comes from another thread."""
    app = fastapi.FastAPI()

    @app.get("/")
    def read() -> fastapi.responses.StreamingResponse:
        hold = client.lock(NAME).hold()

        def body() -> Iterator[str]:
            with hold:
                for _ in range(20):
                    yield "held " if hold.left else "lost "

        return fastapi.responses.StreamingResponse(body())

    async with served(app) as web:
        assert (await web.get("/")).text == 20 * "held "
        assert is_free(server)


def test_a_fixture_of_pytest_asyncio(server: Server, pytester: pytest.Pytester) -> None:
    """It is set up and torn down by other tasks than the test's."""
    pytester.makepyfile(
        f"""
        import holdfast.asyncio, pytest, pytest_asyncio

        @pytest_asyncio.fixture
        async def hold():
            async with holdfast.asyncio.Client({server.url!r}) as client:
                async with await client.lock({NAME!r}).hold() as hold:
                    yield hold
                assert not await client.lock({NAME!r}).locked()

        @pytest.mark.asyncio
        async def test_it_is_held(hold):
            assert hold.left and await hold.lock.locked()
            assert not await hold.lock.owned()
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert is_free(server)


async def test_two_acquisitions_by_gather(server: Server) -> None:
    """Each runs in a task that has ended when the hold is used."""
    async with holdfast.asyncio.Client(server.url) as client:
        locks = client.lock("one"), client.lock("two")
        first, second = await asyncio.gather(*(lock.hold() for lock in locks))
        assert first.left
        assert second.left
        await asyncio.gather(first.release(), second.release())
        assert is_free(server, "one")
        assert is_free(server, "two")


def test_a_helper_thread_looks_at_lost(client: holdfast.Client, server: Server) -> None:
    hold = client.lock(NAME).hold()
    seen: list[str | None] = []

    def look() -> None:
        eventually(lambda: hold.lost)
        seen.append(hold.loss)

    helper = threading.Thread(target=look)
    helper.start()
    assert client.lock(NAME).force_release()
    helper.join(BOUND)
    assert seen == ["it was released by force"]
    with pytest.raises(holdfast.LockLostError):
        hold.release()


def test_a_process_finishes_what_another_started(server: Server, start_child: StartChild) -> None:
    starter = start_child(
        """
        client = holdfast.Client(URL)
        hold = client.fenced_lock(NAME).hold()
        say("token", hold.token)
        say("ticket", hold.detach(60))
        """,
        URL=server.url,
        NAME=NAME,
    )
    [token], [ticket] = starter.expect("token"), starter.expect("ticket")
    assert starter.wait() == 0
    assert not is_free(server)
    finisher = start_child(
        """
        client = holdfast.Client(URL)
        with client.attach(hear()) as hold:
            say("token", hold.token)
            hear("go")
        say("done")
        """,
        URL=server.url,
    )
    finisher.send(ticket)
    assert finisher.expect("token") == [token]
    with holdfast.Client(server.url) as client:
        assert not client.lock(NAME).acquire(blocking=False)
    finisher.send("go")
    finisher.expect("done")
    assert is_free(server)
