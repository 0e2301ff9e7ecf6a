"""Ctrl-C while a task of trio begins or ends a block: nothing is held afterwards."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import trio

import holdfast
import holdfast.anyio
import holdfast.trio
from tests.contract.process.conftest import NAME
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.flavours("asyncio")

PACKAGE = str(Path(holdfast.__file__).parent)

BLOCKS: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock(NAME),
    "lock with on_lost": lambda client: client.lock(NAME, cancel_on_lost=True, on_lost=repr),
    "semaphore": lambda client: client.semaphore(NAME, permits=3),
    "permit semaphore": lambda client: client.permit_semaphore(NAME, permits=3),
    "slots": lambda client: client.slots(NAME, 3),
    "leader": lambda client: client.leader(NAME),
}

FULL: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock(NAME),
    "permit semaphore": lambda client: client.permit_semaphore(NAME, permits=1),
    "slots": lambda client: client.slots(NAME, 1),
}


class Strike:
    """Ctrl-C before the line of the library with that number, of those that run from now on."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.where: str | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> Strike | None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and self.where is None:
            self._left -= 1
            if self._left == 0:
                self.where = f"{frame.f_code.co_name}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self


async def _use(block: Any, strike: Strike) -> None:
    with suppress(KeyboardInterrupt):
        sys.settrace(strike)
        try:
            async with block:
                pass
        finally:
            sys.settrace(None)
        await trio.sleep(0.001)  # one that came at the end


async def _is_free(client: Any) -> bool:
    wait = partial(eventually, lambda: not client.stats().held, within=1)
    with suppress(AssertionError):
        await trio.to_thread.run_sync(wait)
    return not client.stats().held


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("package", [holdfast.trio, holdfast.anyio], ids=["trio", "anyio"])
def test_an_interrupt_at_any_line_of_a_block_leaves_nothing_held(
    server: Server, package: Any, make: Callable[[Any], Any]
) -> None:
    """interrupted-acquire, interrupted-release."""

    async def main() -> int:
        with trio.fail_after(BOUND):
            async with package.Client(server.url) as client:
                block = make(client)
                await _use(block, Strike(0))
                for number in count(1):
                    strike = Strike(number)
                    await _use(block, strike)
                    assert await _is_free(client), strike.where
                    if strike.where is None:
                        return number
        raise AssertionError

    assert trio.run(main) > 10


@pytest.mark.parametrize("make", FULL.values(), ids=FULL)
def test_an_interrupt_ends_the_wait_of_a_block_at_once(
    server: Server, make: Callable[[Any], Any]
) -> None:
    """interrupted-acquire."""
    others = holdfast.Client(server.url)
    held = make(others)
    me = threading.get_ident()

    def strike() -> None:
        eventually(server.subscribed_channels)
        signal.pthread_kill(me, signal.SIGINT)

    async def main() -> None:
        with trio.fail_after(BOUND):
            async with holdfast.trio.Client(server.url) as client:
                with pytest.raises(KeyboardInterrupt):
                    async with make(client):
                        raise AssertionError
                assert not client.stats().held

    with held:
        striking = threading.Thread(target=strike)
        striking.start()
        trio.run(main)
        striking.join()
    others.close()
