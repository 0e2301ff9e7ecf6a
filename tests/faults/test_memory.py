"""Servers without memory, for every kind of lock; and servers that evict what they hold."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.kinds import Kind
from tests.faults.conftest import LASTING, NAME, left
from tests.support.owners import MakeClient
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

pytestmark = pytest.mark.servers("redis", "valkey")


def fill(server: Server) -> None:
    """Leave the server no memory."""
    server.inspect.config_set("maxmemory", 1)


@pytest.mark.realtime
def test_renewal_and_release_take_no_memory(
    alice: Any, bob: Any, kind: Kind, make_client: MakeClient, private_server: Server
) -> None:
    """out-of-memory: the owner keeps it and can free it.

    Other owners get an error with the reason.
    """
    lock = kind.make(make_client(private_server.url, lease=LASTING), NAME)
    another = kind.make(make_client(private_server.url), "another")
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    fill(private_server)
    see_renewals(private_server, key=kind.keys(NAME)[0])
    assert not alice.do(lambda: lock.lost)
    with pytest.raises(holdfast.ServerError, match="OOM") as refused:
        bob.do(another.acquire)
    assert refused.value.code == "OOM"
    alice.do(lock.release)
    alice.do(lock.release)
    assert not alice.do(lambda: lock.lost)
    assert left(kind, private_server) == set()


def test_a_release_wakes_the_waiter_of_another_client(
    alice: Any, bob: Any, kind: Kind, make_client: MakeClient, private_server: Server
) -> None:
    """out-of-memory: it gets the lock, or an error that the server has no memory.

    It never sleeps on.
    """
    rival = (kind.make_rival or kind.make)(make_client(private_server.url), NAME)
    lock = kind.make(make_client(private_server.url), NAME)
    alice.do(lock.acquire, lease=3600)
    waiting = bob.begin(rival.acquire)
    if kind.listens:
        prefix = kind.channel(NAME)
        eventually(
            lambda: any(each.startswith(prefix) for each in private_server.subscribed_channels())
        )
    fill(private_server)
    alice.do(lock.release)
    error = waiting.exception(BOUND)
    assert error is None or getattr(error, "code", "") == "OOM"
    private_server.inspect.config_set("maxmemory", 0)
    if error is None:
        bob.do(rival.release)
    assert left(kind, private_server) == set()


@pytest.mark.realtime
def test_an_evicted_lock_is_reported_as_a_loss(
    alice: Any, bob: Any, private_server: Server, make_client: MakeClient
) -> None:
    """changed-key: by the next renewal; it is not made again behind the holder's back."""
    told: list[Any] = []
    lock = make_client(private_server.url, lease=3).lock(NAME, on_lost=told.append)
    alice.do(lock.acquire)
    private_server.inspect.config_set("maxmemory-policy", "allkeys-random")
    fill(private_server)
    eventually(lambda: private_server.keys() == set())
    eventually(lambda: alice.do(lambda: lock.lost), within=2)
    eventually(lambda: told == [lock])
    private_server.inspect.config_set("maxmemory", 0)
    stays(lambda: private_server.keys() == set(), during=1.2)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert bob.do(lock.acquire, blocking=False)


def test_a_resize_that_is_refused_changes_nothing(
    alice: Any, private_server: Server, make_client: MakeClient
) -> None:
    """out-of-memory: slots are taken as before."""
    slots = make_client(private_server.url).slots(NAME, ["a", "b"])
    alice.do(alice.do(slots.acquire).release)
    fill(private_server)
    with pytest.raises(holdfast.ServerError, match="OOM"):
        alice.do(slots.resize, 3)
    private_server.inspect.config_set("maxmemory", 0)
    slot = alice.do(slots.acquire)
    assert (slot.index, slot.value) == (0, "a")
