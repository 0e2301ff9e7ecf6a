"""A hold whose key another program has overwritten is lost at once, and the reason says so."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

LEASE = 6.0
REASON = "its key holds something else: WRONGTYPE"


@pytest.mark.realtime
@pytest.mark.parametrize("tracking", ["auto", "off"])
def test_an_overwritten_lock_is_lost_by_its_next_renewal(
    alice: Any, stage: Stage, tracking: str
) -> None:
    """changed-key."""
    lock = stage.lock(stage.client(lease=LEASE, tracking=tracking))
    alice.do(lock.acquire)
    for key in stage.keys_of():
        assert stage.server.inspect.set(key, "x")
    eventually(lambda: alice.do(lambda: lock.lost))
    assert REASON in alice.do(lambda: lock.loss)
    with pytest.raises(holdfast.LockLostError, match=REASON):
        alice.do(lock.release)


@pytest.mark.realtime
def test_a_permit_whose_times_are_overwritten_is_lost(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    """changed-key."""
    lost: list[str] = []
    client = make_client(server.url, lease=LEASE)
    semaphore = client.permit_semaphore("permits", on_lost=lost.append)
    alice.do(semaphore.try_set_permits, 1)
    permit = alice.do(semaphore.acquire)
    assert server.inspect.set("{permits}:timeout", "x")
    eventually(lambda: lost == [permit])


@pytest.mark.realtime
@pytest.mark.servers("redis", "valkey")
def test_a_lock_of_a_fixed_lease_is_looked_at(alice: Any, stage: Stage) -> None:
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire, lease=3600)
    eventually(lambda: client.stats().tracked == len(stage.keys_of()))
    for key in stage.keys_of():
        assert stage.server.inspect.set(key, "x")
    eventually(lambda: alice.do(lambda: lock.lost))
    assert REASON in alice.do(lambda: lock.loss)
