"""What is held when its client is closed is lost when its lease is over; a known loss stays."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

LEASE = 0.4
CLOSED = "its client was closed"

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.filterwarnings("ignore:.*was closed while it held:ResourceWarning"),
]


@pytest.mark.parametrize("lease", [None, LEASE], ids=["renewed", "fixed"])
def test_what_is_held_at_close_is_lost(alice: Any, stage: Stage, lease: float | None) -> None:
    """forgotten-client."""
    lost: list[Any] = []
    client = stage.client(lease=LEASE)
    lock = stage.lock(client, on_lost=lost.append)
    alice.do(lock.acquire, lease=lease)
    alice.do(client.close)
    eventually(lambda: alice.do(lambda: lock.lost))
    assert CLOSED in alice.do(lambda: lock.loss)
    eventually(lambda: lost == [lock])
    with pytest.raises(holdfast.LockLostError, match=CLOSED):
        alice.do(lock.release)


def test_a_hold_object_is_lost(alice: Any, stage: Stage) -> None:
    lost: list[Any] = []
    client = stage.client(lease=LEASE)
    hold = alice.do(stage.lock(client, on_lost=lost.append).hold)
    alice.do(client.close)
    assert not hold.lost
    eventually(lambda: hold.lost)
    assert CLOSED in hold.loss
    eventually(lambda: lost == [hold])


def test_a_loss_that_is_known_stays_known(alice: Any, stage: Stage) -> None:
    """forgotten-client."""
    client = stage.client(lease=LEASE)
    lock = stage.lock(client)
    alice.do(lock.acquire)
    stage.take_away()
    eventually(lambda: alice.do(lambda: lock.lost))
    reason = alice.do(lambda: lock.loss)
    alice.do(client.close)
    assert alice.do(lambda: lock.lost)
    assert alice.do(lambda: lock.loss) == reason


def test_a_permit_is_lost(alice: Any, make_client: MakeClient, server: Server) -> None:
    lost: list[str] = []
    client = make_client(server.url, lease=LEASE)
    semaphore = client.permit_semaphore("permits", on_lost=lost.append)
    alice.do(semaphore.try_set_permits, 2)
    permits = [alice.do(semaphore.acquire), alice.do(semaphore.acquire, lease=LEASE)]
    alice.do(client.close)
    eventually(lambda: sorted(lost) == sorted(permits))
    assert semaphore.lost


@pytest.mark.flavours("sync")
def test_on_lost_is_called_for_a_client_that_is_collected(server: Server) -> None:
    lost: list[str | bytes] = []

    def work() -> weakref.ref[holdfast.Client]:
        with holdfast.Client(server.url, lease=LEASE) as client:
            client.lock("of a lock", on_lost=lambda lock: lost.append(lock.name)).acquire()
            semaphore = client.permit_semaphore("permits", on_lost=lambda _: lost.append("permit"))
            semaphore.try_set_permits(2)
            for _ in range(2):
                semaphore.acquire()
            return weakref.ref(client)

    client = work()
    expected = ["of a lock", "permit", "permit"]
    eventually(lambda: sorted(map(str, lost)) == expected)
    eventually(lambda: gc.collect() >= 0 and client() is None)


def test_a_task_is_cancelled(server: Server) -> None:
    async def main() -> None:
        client = holdfast.asyncio.Client(server.url, lease=LEASE)
        async with client.lock("myLock", cancel_on_lost=True):
            await client.close()
            await asyncio.wait_for(asyncio.Event().wait(), BOUND)

    with pytest.raises(holdfast.LockLostError, match=CLOSED):
        asyncio.run(main())


def test_the_task_that_closes_still_knows_its_loss(server: Server) -> None:
    """Also where nothing is left to report, so that the loop has let go of the library."""

    async def main() -> tuple[str | None, str | None]:
        async with holdfast.asyncio.Client(server.url, lease=LEASE) as client:
            lost = asyncio.Event()
            lock = client.lock("myLock", on_lost=lambda _: lost.set())
            await lock.acquire()
            server.inspect.delete("myLock")
            await asyncio.wait_for(lost.wait(), BOUND)
            before = lock.loss
        return before, lock.loss

    before, after = asyncio.run(main())
    assert before is not None
    assert after == before
