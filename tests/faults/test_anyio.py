"""A program of anyio on asyncio and on trio: cancelled, killed, cut off and on the wrong loop."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import holdfast
import holdfast.anyio
from tests.faults.conftest import NAME, SHORT, holds
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.flavours("asyncio")

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
OTHER = {"asyncio": "trio", "trio": "asyncio"}


@BACKENDS
def test_a_program_of_anyio_excludes_and_is_cancelled(server: Server, backend: str) -> None:
    """interrupted-acquire: a deadline of anyio ends a wait, and nothing is left."""
    counted: list[int] = []

    async def count(lock: Any) -> None:
        async with lock:
            number = len(counted)
            await anyio.lowlevel.checkpoint()
            counted.append(number)

    async def main() -> None:
        async with holdfast.anyio.Client(server.url) as client:
            lock = client.lock(NAME)
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(count, lock)
            hold = await lock.hold()
            for _ in range(5):
                with anyio.move_on_after(0.01) as scope:
                    await client.fair_lock(NAME).acquire()
                assert scope.cancelled_caught
            await hold.release()
            await anyio.to_thread.run_sync(lambda: eventually(lambda: not server.keys()))

    anyio.run(main, backend=backend)
    assert counted == [*range(20)]


@BACKENDS
def test_a_loss_in_a_program_of_anyio_cancels_its_block(server: Server, backend: str) -> None:
    async def lose(lock: Any) -> None:
        async with lock:
            server.inspect.delete(NAME)
            await anyio.sleep(BOUND)

    async def main() -> None:
        async with holdfast.anyio.Client(server.url, lease=SHORT) as client:
            with pytest.raises(holdfast.LockLostError):
                await lose(client.lock(NAME, cancel_on_lost=True))
            await anyio.lowlevel.checkpoint()  # the task goes on

    anyio.run(main, backend=backend)


@BACKENDS
def test_a_client_of_anyio_is_for_the_loop_of_its_first_use(server: Server, backend: str) -> None:
    client = holdfast.anyio.Client(server.url)
    early = client.lock(NAME)
    assert not early.lost

    async def main(lock: Any) -> None:
        async with lock:
            assert await lock.owned()

    anyio.run(main, early, backend=backend)
    anyio.run(main, client.lock(NAME), backend=backend)
    for lock in (early, client.lock(NAME)):
        with pytest.raises(RuntimeError, match=rf"holdfast\.{OTHER[backend]}\.Client"):
            anyio.run(main, lock, backend=OTHER[backend])
    anyio.run(client.close, backend=backend)


@BACKENDS
def test_a_program_of_anyio_that_is_cut_off_and_killed(
    server: Server, proxy: FaultProxy, start_child: StartChild, backend: str
) -> None:
    """connection-reset, killed-process: it goes on after a cut; its hold ends with its lease."""
    program = """
        import anyio
        import holdfast.anyio

        async def main():
            async with holdfast.anyio.Client(URL, lease=LEASE) as client:
                async with client.lock(NAME):
                    say("held")
                    await anyio.to_thread.run_sync(hear, "go on")
                async with client.lock(NAME):
                    say("again")
                    await anyio.sleep_forever()

        anyio.run(main, backend=BACKEND)
        """
    child = start_child(program, URL=proxy.url, LEASE=SHORT, NAME=NAME, BACKEND=backend)
    child.expect("held")
    proxy.cut()
    child.send("go on")
    child.expect("again")
    proxy.refuse()
    assert holds(server)
    child.kill()
    eventually(lambda: not holds(server))
