"""In a task of trio the asyncio client says at once what to use, and that works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import holdfast
import holdfast.asyncio
from tests.support.servers import Server

pytestmark = pytest.mark.flavours("asyncio")


async def _inside(lock: Any) -> None:
    async with lock:
        pass


USES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "acquire": lambda client: client.lock("myLock").acquire(),
    "async with": lambda client: _inside(client.lock("myLock")),
    "hold": lambda client: client.lock("myLock").hold(),
    "permit": lambda client: client.permit_semaphore("permits").acquire(),
    "question": lambda client: client.lock("myLock").locked(),
    "ping": lambda client: client.ping(),
}


@pytest.mark.parametrize("use", USES)
def test_a_task_of_trio_gets_an_error_that_says_what_to_use(server: Server, use: str) -> None:
    client = holdfast.asyncio.Client(server.url)

    async def main() -> None:
        await USES[use](client)

    with pytest.raises(RuntimeError) as info:
        trio.run(main)
    for words in ("this is a task of trio", "holdfast.Client", "trio.to_thread.run_sync", "hold()"):
        assert words in str(info.value)
    assert server.keys() == set()


def test_outside_of_any_loop_the_error_is_pythons(server: Server) -> None:
    """Also after trio has run."""

    async def main() -> None:
        await trio.lowlevel.checkpoint()

    trio.run(main)
    client = holdfast.asyncio.Client(server.url)
    with pytest.raises(RuntimeError, match="no running event loop"):
        client.lock("myLock").acquire().send(None)


def test_what_the_error_says_works(server: Server) -> None:
    async def main(client: holdfast.Client) -> None:
        hold = await trio.to_thread.run_sync(lambda: client.lock("myLock").hold(wait=5))
        assert client.lock("myLock").locked()
        await trio.to_thread.run_sync(hold.release)

    with holdfast.Client(server.url) as client:
        trio.run(main, client)
        assert not client.lock("myLock").locked()
