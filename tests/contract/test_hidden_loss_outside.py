"""A loss outside of blocks: the first acquire after it raises, once, unless a release has."""

from __future__ import annotations

import os
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.conftest import Stage
from tests.support.losses import Program, refused, until
from tests.support.renewals import SHORT
from tests.support.servers import Server
from tests.support.waiting import eventually


def _lose(stage: Stage, client: Any) -> None:
    assert stage.actor().do(stage.lock(client).force_release)


def test_the_first_acquire_after_a_loss_raises_once(alice: Any, stage: Stage) -> None:
    """acquire-after-loss."""
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire)
    _lose(stage, client)
    with refused() as caught:
        alice.do(lock.acquire)
    assert "call release() or acquire again" in str(caught.value)
    assert stage.holds() == {}
    assert alice.do(lambda: lock.lost)
    assert alice.do(lock.acquire, blocking=False)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    assert stage.holds() == {}


@pytest.mark.realtime
def test_a_renewed_lease_that_ran_out_is_a_loss(alice: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(lease=SHORT))
    alice.do(lock.acquire)
    stage.take_away()
    eventually(lambda: alice.do(lambda: lock.lost))
    with refused():
        alice.do(lock.acquire, blocking=False)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


@pytest.mark.awaited
def test_after_a_release_that_has_raised_the_next_acquire_is_granted(
    alice: Any, stage: Stage
) -> None:
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire)
    _lose(stage, client)
    with refused():
        alice.do(lock.release)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


@pytest.mark.awaited
def test_the_release_after_an_acquire_that_has_raised_raises_too(alice: Any, stage: Stage) -> None:
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire)
    _lose(stage, client)
    with refused():
        alice.do(lock.acquire)
    with refused():
        alice.do(lock.release)
    with pytest.raises(holdfast.NotOwnedError) as caught:
        alice.do(lock.release)
    assert caught.type is holdfast.NotOwnedError


@pytest.mark.realtime
def test_a_fixed_lease_that_only_ran_out_is_over(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    alice.do(lock.acquire, lease=0.3)
    eventually(lambda: alice.do(lambda: lock.lost))
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_a_fixed_lease_that_was_forced_is_a_loss(alice: Any, stage: Stage) -> None:
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire, lease=20)
    _lose(stage, client)
    with refused():
        alice.do(lock.acquire, blocking=False)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_a_block_after_a_loss_raises_once_at_its_begin(alice: Any, stage: Stage) -> None:
    client = stage.client()
    lock = stage.lock(client)
    alice.do(lock.acquire)
    _lose(stage, client)
    with refused():
        alice.inside(lock, lambda _: None)
    alice.inside(lock, lambda _: None)
    eventually(lambda: stage.holds() == {})


def test_the_owners_own_force_release_refuses_nothing(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    alice.do(lock.acquire)
    assert alice.do(lock.force_release)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_a_release_that_is_not_awaited_refuses_nothing(alice: Any, stage: Stage) -> None:
    client = stage.client(tracking="off")
    lock = stage.lock(client)
    if not lock._may_defer:
        pytest.skip("its releases are awaited")
    alice.do(lock.acquire)
    stage.take_away()
    alice.begin(lock.release, wait=False).result()
    eventually(lambda: client.stats().lost == 1)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_a_forked_child_has_no_losses(alice: Any, stage: Stage) -> None:
    client = stage.client()
    lock = stage.lock(client)

    def lose_and_fork() -> int:
        lock.acquire()
        _lose(stage, client)
        child = os.fork()
        if child == 0:
            try:
                granted = lock.acquire(timeout=5)
                lock.release()
                os._exit(0 if granted else 1)
            finally:
                os._exit(2)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert alice.do(lose_and_fork) == 0
    with refused():
        alice.do(lock.acquire)


@pytest.mark.flavours("sync")
def test_a_handler_is_not_the_owner_and_may_acquire(alice: Any, stage: Stage) -> None:
    client = stage.client()
    granted: list[bool] = []

    def take(lock: Any) -> None:
        granted.append(lock.acquire(blocking=False))
        lock.release()

    lock = stage.lock(client, on_lost=take)

    def body(_: Any) -> None:
        _lose(stage, client)
        eventually(lambda: granted)
        assert granted == [True]
        with refused():
            lock.acquire()

    with refused():
        alice.inside(lock, body)


def test_a_refused_multi_lock_gives_back_what_it_had_taken(
    alice: Any, bob: Any, client: Any, server: Server
) -> None:
    first, second = client.lock("{n} 1"), client.lock("{n} 2")
    lock = client.multi_lock(first, second)
    alice.do(second.acquire)
    assert bob.do(second.force_release)
    with refused():
        alice.do(lock.acquire)
    eventually(lambda: not server.inspect.exists("{n} 1", "{n} 2"))
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_the_minority_of_a_red_lock_refuses_nothing(
    alice: Any, bob: Any, client: Any, server: Server
) -> None:
    names = ["{n} 1", "{n} 2", "{n} 3"]
    parts = [client.lock(name) for name in names]
    lock = (holdfast.asyncio if client._asynchronous else holdfast).RedLock(*parts)

    def body(_: Any) -> Program:
        forced = bob.begin(parts[2].force_release)
        yield from until(forced.done)
        assert (yield lock.acquire(blocking=False))
        yield lock.release()

    alice.inside(lock, body)
    eventually(lambda: not server.inspect.exists(*names))
    alice.inside(lock, lambda _: None)
