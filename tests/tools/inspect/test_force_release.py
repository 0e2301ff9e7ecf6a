"""A release by force frees what is held, of any owner, and wakes those who wait."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.servers("redis"),
    pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning"),
]


def locks_of(client: holdfast.Client) -> dict[str, Any]:
    return {
        "lock": client.lock("demo"),
        "fair": client.fair_lock("demo"),
        "fenced": client.fenced_lock("demo"),
        "read": client.read_write_lock("demo").read,
        "write": client.read_write_lock("demo").write,
    }


@pytest.mark.parametrize("kind", ["lock", "fair", "fenced", "read", "write"])
def test_the_next_waiter_gets_it(
    server: Server, client: holdfast.Client, other: holdfast.Client, kind: str
) -> None:
    held = locks_of(client)[kind]
    held.acquire(lease=60)
    waiter = other.read_write_lock("demo").write if kind == "read" else locks_of(other)[kind]
    thread = threading.Thread(target=waiter.acquire)
    thread.start()
    eventually(lambda: inspect.locks(client)[0].waiters == 1, what="the waiter waits")
    assert inspect.force_release(client, "demo")
    thread.join()
    [owner] = inspect.locks(client)[0].owners
    assert owner.id.startswith(other.id)


def test_all_permits_come_back(client: holdfast.Client) -> None:
    semaphore = client.permit_semaphore("demo", lease=60)
    semaphore.try_set_permits(2)
    assert semaphore.acquire()
    assert semaphore.acquire()
    assert inspect.force_release(client, "demo")
    assert semaphore.available_permits() == 2


def test_what_has_no_owners_stays(client: holdfast.Client) -> None:
    client.semaphore("demo").try_set_permits(1)
    with pytest.raises(holdfast.LockError, match="'demo' is a semaphore, not a lock"):
        inspect.force_release(client, "demo")
    assert client.semaphore("demo").available_permits() == 1
    assert not inspect.force_release(client, "free")
