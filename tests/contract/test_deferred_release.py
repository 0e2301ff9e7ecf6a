"""`release(wait=False)`: what the client knows is raised, the rest is reported."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.contract.kinds import KINDS, Kind
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, turns

AWAITED = {"multi_lock", "red_lock"}


@pytest.fixture(params=[kind for kind in KINDS if kind.name not in AWAITED], ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Of the kinds those whose releases can be deferred."""
    kind: Kind = request.param
    return kind


def test_a_deferred_release_frees_the_lock(alice: Any, bob: Any, stage: Stage) -> None:
    lock, rival = stage.lock(), stage.rival(stage.client())
    alice.do(lock.acquire)
    alice.do(lock.acquire)
    alice.do(lock.release, wait=False)
    assert list(stage.holds().values()) == [1]  # one that leaves a hold is awaited
    waiting = stage.wait(bob, rival)
    alice.do(lock.release, wait=False)
    assert waiting.result(BOUND)
    bob.do(rival.release)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release, wait=False)
    assert not alice.do(lambda: lock.lost)


def test_the_end_of_a_block_is_deferred_if_the_client_says_so(alice: Any, stage: Stage) -> None:
    client = stage.client(releases="deferred")
    lock = stage.lock(client)
    for _ in range(50):
        assert alice.inside(lock, lambda held: held.hold_count()) == 1
    eventually(lambda: stage.holds() == {})
    eventually(lambda: client.stats().released == 50)
    assert client.stats().acquired == 50


def test_a_loss_that_is_learnt_later_leaves_the_next_hold_alone(alice: Any, stage: Stage) -> None:
    """deferred-loss: the release finds nothing, while its owner has the lock again already."""
    told: list[Any] = []
    client = stage.client(tracking="off")
    lock = stage.lock(client, on_lost=lambda it: told.append((it, it.lost)))
    alice.do(lock.acquire)
    stage.take_away()

    def release_and_acquire() -> Any:
        released = lock.release(wait=False)
        if released is None:
            return lock.acquire()

        async def later() -> bool:
            await released
            result: bool = await lock.acquire()
            return result

        return later()

    assert alice.do(release_and_acquire)
    eventually(lambda: told)
    assert told == [(lock, True)]
    assert not alice.do(lambda: lock.lost)
    assert alice.do(lock.hold_count) == 1
    alice.do(lock.release)
    assert client.stats().lost == 1


def test_what_the_client_knows_is_raised(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release, wait=False)
    alice.do(lock.acquire)
    alice.do(lock.force_release)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release, wait=False)


@pytest.mark.flavours("asyncio")
def test_a_loss_that_is_learnt_later_cancels_no_task(
    make_client: MakeClient, server: Server
) -> None:
    """deferred-loss."""

    async def main() -> None:
        told = asyncio.Event()
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME, on_lost=lambda _: told.set(), cancel_on_lost=True)
            async with lock:
                server.inspect.delete(NAME)
                await lock.release(wait=False)
                await asyncio.wait_for(told.wait(), 10)
                await turns()
                await lock.acquire()
            assert not lock.lost

    asyncio.run(main())


@pytest.mark.parametrize("value", ["later", "", None, True])
def test_an_unknown_value_of_releases_is_refused(deaf: Any, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="releases"):
        type(deaf)(releases=value)
    with pytest.raises(ValueError, match="releases"):
        type(deaf)("redis://127.0.0.1?releases=later")


@pytest.mark.awaited
def test_what_has_to_be_awaited_refuses_to_be_deferred(
    alice: Any, deaf: Any, make_client: MakeClient
) -> None:
    with pytest.raises(ValueError, match="replicas_to_wait"):
        make_client("redis://127.0.0.2?releases=deferred", replicas_to_wait=1)
    deferring = make_client("redis://127.0.0.2?releases=deferred")
    with pytest.raises(ValueError, match="at_least"):
        deferring.lock(NAME, at_least=5)
    waits_for_replicas = make_client("redis://127.0.0.2", replicas_to_wait=1)
    for what in (
        waits_for_replicas.lock(NAME),
        deaf.lock(NAME, at_least=5),
        deaf.multi_lock(deaf.lock(NAME)),
        deaf.semaphore(NAME),
    ):
        with pytest.raises(ValueError, match="wait=False"):
            alice.do(what.release, wait=False)
    with pytest.raises(ValueError, match="wait=False"):
        alice.do(deaf.permit_semaphore(NAME).release, "0" * 32, wait=False)
    with pytest.raises(TypeError, match="wait"):
        alice.do(deaf.lock(NAME).release, wait=0)
    with pytest.raises(TypeError):
        alice.do(deaf.lock(NAME).release, waits=False)
    deferring.multi_lock(deferring.lock(NAME))  # the client's option is not for it
