"""An acquire never hides a loss: inside a block that lost its grant it is refused.

The table: each kind of lock, each way to lose a hold, and what its owner does next, by threads and
by tasks. The grants that are lost outside of blocks are in test_hidden_loss_outside.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import NAME, Stage
from tests.support.actors import Flavour
from tests.support.losses import Program, entered, left, lost_inside, refused, run_out, until
from tests.support.renewals import KEPT


class Loss:
    """One way to lose what `owner` holds in a block of `lock`."""

    def __init__(self, stage: Stage, tracking: str = "auto") -> None:
        self.stage = stage
        self.client = stage.client(lease=KEPT, tracking=tracking)
        self.lock = stage.lock(self.client)
        self.by_other = stage.actor()

    def deleted(self) -> None:
        self.stage.take_away()

    def forced(self) -> None:
        """By another client."""
        self.by_other.begin(self.stage.lock(self.stage.client()).force_release)

    def forced_by_the_same_client(self) -> None:
        self.by_other.begin(self.stage.lock(self.client).force_release)

    def ran_out(self) -> None:
        for key in self.stage.keys_of():
            run_out(self.stage.server, key)

    def overwritten(self) -> None:
        for key in self.stage.keys_of():
            self.stage.server.inspect.set(key, "another program's")

    def clear(self) -> None:
        """Remove what took the place of the lock."""
        for key in self.stage.keys_of():  # in a cluster they are of several slots
            self.stage.server.inspect.delete(key)


CAUSES = ("deleted", "forced", "forced_by_the_same_client", "ran_out", "overwritten")


# ---- What follows inside the block: each is a program, which may only be refused.


def _acquire(loss: Loss, lock: Any) -> Program:
    with refused() as caught:
        yield lock.acquire()
    assert "with" in str(caught.value)


def _acquire_every_way(loss: Loss, lock: Any) -> Program:
    for how in (
        {"blocking": False},
        {"timeout": 0.1},
        {"lease": 5},
        {"blocking": False, "lease": None},
    ):
        with refused():
            yield lock.acquire(**how)


def _acquire_by_another_object(loss: Loss, lock: Any) -> Program:
    with refused():
        yield loss.stage.lock(loss.client, lease=5).acquire()


def _enter(loss: Loss, lock: Any) -> Program:
    for other in (lock, loss.stage.lock(loss.client, wait=1)):
        with refused():
            yield entered(other)


def _release(loss: Loss, lock: Any) -> Program:
    with refused():
        yield lock.release()
    with pytest.raises(holdfast.NotOwnedError) as caught:
        yield lock.release()
    assert caught.type is holdfast.NotOwnedError
    with refused():
        yield lock.acquire()


def _release_not_awaited(loss: Loss, lock: Any) -> Program:
    if lock._may_defer:
        with refused():
            yield lock.release(wait=False)
    with refused():
        yield lock.acquire()


def _call(loss: Loss, lock: Any) -> Program:
    """A decorated function."""
    with refused():
        yield lock(_nothing_of(loss.stage.flavour))()


def _nothing_of(flavour: Flavour) -> Any:
    """A function that a lock of the flavour decorates, and that is not to be called."""

    def called() -> None:
        pytest.fail("it was called")

    async def awaited() -> None:
        called()

    return awaited if flavour.asyncio else called


def _hold(loss: Loss, lock: Any) -> Program:
    """A hold object is another owner: it is granted, and the block's end leaves it alone."""
    hold = yield lock.hold(wait=0)
    assert hold.left is not None
    yield hold.release()


def _nothing(loss: Loss, lock: Any) -> Program:
    yield from ()


FOLLOWS = (
    _nothing,
    _acquire,
    _acquire_every_way,
    _acquire_by_another_object,
    _enter,
    _release,
    _release_not_awaited,
    _call,
    _hold,
)


@pytest.mark.realtime
@pytest.mark.sampled
@pytest.mark.values("cause", CAUSES)
@pytest.mark.values("follow", FOLLOWS, ids=lambda follow: follow.__name__.lstrip("_"))
def test_a_block_that_lost_its_grant_refuses_and_raises_at_its_end(
    alice: Any, stage: Stage, cause: str, follow: Callable[[Loss, Any], Program]
) -> None:
    """acquire-after-loss."""
    loss = Loss(stage)
    lock = loss.lock

    def body(_: Any) -> Program:
        yield from lost_inside(lock, getattr(loss, cause))
        if cause == "overwritten":
            loss.clear()
        yield from follow(loss, lock)
        assert lock.lost
        assert lock.loss is not None
        assert stage.holds() == {}

    with refused():
        alice.inside(lock, body)
    assert alice.do(lock.acquire)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)


@pytest.mark.realtime
def test_without_tracking_it_is_the_same(alice: Any, stage: Stage) -> None:
    loss = Loss(stage, tracking="off")
    lock = loss.lock

    def body(_: Any) -> Program:
        loss.deleted()
        with refused():
            yield entered(lock)
        yield from until(lambda: lock.lost)  # a red lock, once most of its members have answered
        with refused():
            yield entered(lock)
        assert stage.holds() == {}

    with refused():
        alice.inside(lock, body)


@pytest.mark.realtime
@pytest.mark.filterwarnings("ignore:.*was closed while it held:ResourceWarning")
def test_a_block_whose_client_was_closed_raises_at_its_end(alice: Any, stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock

    def nested() -> Program:
        for _ in range(2):
            yield entered(lock)
        yield loss.client.close()
        yield from until(lambda: lock.lost)
        with refused():
            yield lock.acquire(blocking=False)
        for _ in range(2):
            with refused() as caught:
                yield left(lock)
            assert "its client was closed" in str(caught.value)

    alice.do(nested)


@pytest.mark.realtime
def test_a_fixed_lease_of_a_block_that_ran_out_is_a_loss_too(alice: Any, stage: Stage) -> None:
    lock = stage.lock(lease=0.3)

    def body(_: Any) -> Program:
        yield from until(lambda: lock.lost)
        with refused():
            yield lock.acquire()

    with refused():
        alice.inside(lock, body)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_each_of_nested_blocks_raises_at_its_own_end(alice: Any, stage: Stage) -> None:
    """acquire-after-loss."""
    loss = Loss(stage)
    lock = loss.lock

    def nested() -> Program:
        for _ in range(3):
            yield entered(lock)
        yield from lost_inside(lock, loss.forced_by_the_same_client)
        for _ in range(3):
            with refused():
                yield lock.acquire()
            with refused():
                yield left(lock)
        assert (yield lock.acquire(blocking=False))
        yield lock.release()

    alice.do(nested)


def test_the_end_of_a_block_whose_body_failed_is_a_note(alice: Any, stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock

    def body(_: Any) -> Program:
        yield from lost_inside(lock, loss.forced_by_the_same_client)
        raise KeyError("of the body")

    with pytest.raises(KeyError) as caught:
        alice.inside(lock, body)
    notes = getattr(caught.value, "__notes__", ["LockLostError"])
    assert "LockLostError" in notes[0]
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_another_owner_is_not_refused(alice: Any, bob: Any, stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock
    theirs = stage.lock(loss.client)

    def body(_: Any) -> Program:
        yield from lost_inside(lock, loss.forced_by_the_same_client)
        taken = bob.begin(theirs.acquire, blocking=False)
        yield from until(taken.done)
        assert taken.result()

    with refused():
        alice.inside(lock, body)
    assert bob.do(theirs.hold_count) == 1
    bob.do(theirs.release)


def test_the_owners_own_force_release_refuses_nothing(alice: Any, stage: Stage) -> None:
    """acquire-after-loss: the block's end raises, and leaves alone what was acquired meanwhile."""
    lock = stage.lock()

    def body(_: Any) -> Program:
        assert (yield lock.force_release())
        assert lock.lost
        assert (yield lock.acquire(blocking=False))
        assert not lock.lost

    with refused():
        alice.inside(lock, body)
    assert alice.do(lock.hold_count) == 1
    alice.do(lock.release)
    assert stage.holds() == {}


def test_what_was_released_and_taken_again_is_the_blocks_own(alice: Any, stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock

    def body(_: Any) -> Program:
        yield lock.release()
        assert (yield lock.acquire())
        yield from lost_inside(lock, loss.forced_by_the_same_client)
        for call in (lock.acquire, lock.release, lock.acquire):
            with refused():
                yield call()
        with refused():
            yield entered(lock)
        assert stage.holds() == {}

    with refused():
        alice.inside(lock, body)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


@pytest.mark.awaited
def test_a_release_that_finds_the_loss_leaves_its_block_lost(alice: Any, stage: Stage) -> None:
    loss = Loss(stage, tracking="off")
    lock = loss.lock

    def body(_: Any) -> Program:
        loss.deleted()
        for call in (lock.release, lock.acquire):
            with refused():
                yield call()

    with refused():
        alice.inside(lock, body)
    assert alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_a_condition_is_refused_as_its_lock(alice: Any, stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock
    condition = threading.Condition(lock)

    def program() -> None:
        with condition:
            assert not condition.wait(0.01)
            assert stage.lock(loss.client).hold_count() == 1
            assert loss.by_other.do(stage.lock(loss.client).force_release)
            for _ in range(2):
                with refused(), condition:
                    pass
            with pytest.raises(RuntimeError):
                condition.wait(0.01)
            with refused():
                condition.acquire()

    with refused():
        alice.do(program)
    with condition:
        pass


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("kinds", [("read", "write"), ("write", "read")])
def test_reads_and_writes_of_a_name_are_one_owner(
    alice: Any, bob: Any, rw: Any, kinds: tuple[str, str]
) -> None:
    held, other = (getattr(rw, kind) for kind in kinds)

    def program() -> None:
        with held:
            assert bob.do(held.force_release)
            with refused():
                other.acquire()

    with refused():
        alice.do(program)
    assert alice.do(other.acquire, blocking=False)
    alice.do(other.release)


def test_losses_end_with_their_owner(stage: Stage) -> None:
    loss = Loss(stage)
    lock = loss.lock

    def leave_it_open() -> Program:
        yield entered(lock)
        yield from lost_inside(lock, loss.forced_by_the_same_client)

    first = stage.actor()
    first.do(leave_it_open)
    first.end()
    second = stage.actor()
    assert second.do(lock.acquire, blocking=False)
    second.do(lock.release)


@pytest.mark.parametrize("busy", ["skip", "raise", "wait"])
def test_a_decorator_raises_whatever_it_does_when_busy(
    alice: Any, bob: Any, client: Any, flavour: Flavour, busy: str
) -> None:
    """A call that may be skipped is not skipped for a loss."""
    lock = client.lock(NAME)
    function = client.locked(NAME, busy=busy)(_nothing_of(flavour))

    def body(_: Any) -> Program:
        yield from lost_inside(lock, lambda: bob.begin(client.lock(NAME).force_release))
        with refused():
            yield function()

    with refused():
        alice.inside(lock, body)
