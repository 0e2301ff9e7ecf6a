"""Where a release by force is recorded, each error and note of the loss names the user.

The table: each kind of lock, each call that raises a loss or adds it to another error, before and
after the client knows of the loss, by threads and by tasks.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.contract import permits as of_permits
from tests.contract.conftest import Stage
from tests.contract.permits import Permits
from tests.support.losses import Program, entered, left, refused, until
from tests.support.owners import MakeClient
from tests.support.renewals import KEPT
from tests.support.servers import Server

USER = "night-shift"
BY_OPERATOR = f"it was released by force at 2.* by user 'default', connection {USER}"


class Forced:
    """A lock whose hold an operator releases by force."""

    def __init__(self, stage: Stage, known: bool) -> None:
        self.stage = stage
        self.known = known
        self.client = stage.client(lease=KEPT, tracking="auto" if known else "off")
        self.lock = stage.lock(self.client)
        keys = stage.keys_of()
        self.forced = keys[-1:] if stage.kind.name == "multi_lock" else keys

    def by_operator(self, subject: Any = None) -> Program:
        """Release by force what the lock, or a hold of it, holds: `yield from`."""
        for key in self.forced:
            with holdfast.Client(self.stage.server.url, client_name=USER) as operator:
                assert inspect.force_release(operator, key)
        if self.known:
            subject = subject or self.lock
            yield from until(lambda: subject.lost)

    def check(self, said: object) -> None:
        """It names the user, and of a lock made of several, the member."""
        text = str(said)
        assert "released by force at 2" in text, text
        assert f"by user 'default', connection {USER}" in text
        assert "no longer has it" not in text
        assert "did not find it" not in text
        if len(self.stage.keys_of()) > 1:
            assert any(f"its member '{key.decode()}' on " in text for key in self.forced), text


def _release(forced: Forced, lock: Any) -> Program:
    yield lock.acquire()
    yield from forced.by_operator()
    with refused() as caught:
        yield lock.release()
    forced.check(caught.value)
    assert not forced.known or BY_OPERATOR.partition(".*")[0] in repr(lock)


def _nested_acquire(forced: Forced, lock: Any) -> Program:
    yield lock.acquire()
    yield from forced.by_operator()
    with refused() as caught:
        yield lock.acquire(timeout=5)
    forced.check(caught.value)
    assert lock.lost


def _end_of_block(forced: Forced, lock: Any) -> Program:
    yield entered(lock)
    yield from forced.by_operator()
    with refused() as caught:
        yield left(lock)
    forced.check(caught.value)


def _acquire_in_a_block(forced: Forced, lock: Any) -> Program:
    yield entered(lock)
    yield from forced.by_operator()
    for _ in range(2):
        with refused() as caught:
            yield entered(lock)
        forced.check(caught.value)
    with refused() as caught:
        yield left(lock)
    forced.check(caught.value)


def _note_on_the_error_of_the_body(forced: Forced, lock: Any) -> Program:
    yield entered(lock)
    yield from forced.by_operator()
    error = KeyError("of the body")
    yield left(lock, error)
    [note] = vars(error)["__notes__"]
    forced.check(note)


def _release_of_a_hold(forced: Forced, lock: Any) -> Program:
    hold = yield lock.hold()
    yield from forced.by_operator(hold)
    with refused() as caught:
        yield hold.release()
    forced.check(caught.value)


def _end_of_a_hold(forced: Forced, lock: Any) -> Program:
    hold = yield lock.hold()
    yield from forced.by_operator(hold)
    error = KeyError("of the body")
    yield left(hold, error)
    [note] = vars(error)["__notes__"]
    forced.check(note)


def _detach(forced: Forced, lock: Any) -> Program:
    hold = yield lock.hold()
    yield from forced.by_operator(hold)
    if not getattr(lock._core, "movable_as", False):
        with refused():
            yield hold.release()
        return
    with refused() as caught:
        yield hold.detach()
    forced.check(caught.value)


CALLS = (
    _release,
    _nested_acquire,
    _end_of_block,
    _acquire_in_a_block,
    _note_on_the_error_of_the_body,
    _release_of_a_hold,
    _end_of_a_hold,
    _detach,
)


@pytest.mark.awaited
@pytest.mark.realtime
@pytest.mark.sampled
@pytest.mark.values("known", [False, True], ids=["found", "known"])
@pytest.mark.values("call", CALLS, ids=lambda call: call.__name__.lstrip("_"))
def test_each_error_of_a_loss_names_the_user_who_forced_it(
    alice: Any, stage: Stage, known: bool, call: Callable[[Forced, Any], Program]
) -> None:
    forced = Forced(stage, known)
    alice.do(call, forced, forced.lock)


@pytest.mark.awaited
@pytest.mark.realtime
@pytest.mark.flavours("asyncio")
@pytest.mark.parametrize("fails", [False, True], ids=["returns", "fails"])
def test_so_does_the_error_of_a_body_that_the_loss_cancelled(
    alice: Any, stage: Stage, fails: bool
) -> None:
    forced = Forced(stage, known=True)
    lock = stage.lock(forced.client, cancel_on_lost=True)

    async def body(_: Any) -> None:
        next(forced.by_operator(lock), None)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if fails:
                raise KeyError("of the body") from None
            raise

    expected = KeyError if fails else holdfast.LockLostError
    with pytest.raises(expected) as caught:
        alice.inside(lock, body)
    said = vars(caught.value)["__notes__"][0] if fails else caught.value
    forced.check(said)


def _attach(client: Any, server: Server, lock: Any) -> Program:
    ticket = yield (yield lock.hold()).detach()
    with holdfast.Client(server.url, client_name=USER) as operator:
        assert inspect.force_release(operator, lock.name)
    with refused() as caught:
        yield client.attach(ticket)
    assert re.search(BY_OPERATOR, str(caught.value)), caught.value


@pytest.mark.parametrize("word", ["lock", "fenced_lock"])
def test_so_does_the_error_of_a_ticket(
    alice: Any, server: Server, make_client: MakeClient, word: str
) -> None:
    client = make_client(server.url)
    alice.do(_attach, client, server, getattr(client, word)("orders"))


def _permit_by_release(semaphore: Any, forced: Callable[[], Program]) -> Program:
    permit = yield semaphore.acquire()
    yield from forced()
    with refused() as caught:
        yield semaphore.release(permit)
    return str(caught.value)


def _permit_by_block(semaphore: Any, forced: Callable[[], Program]) -> Program:
    yield entered(semaphore)
    yield from forced()
    with refused() as caught:
        yield left(semaphore)
    return str(caught.value)


def _permit_by_note(semaphore: Any, forced: Callable[[], Program]) -> Program:
    yield entered(semaphore)
    yield from forced()
    error = KeyError("of the body")
    yield left(semaphore, error)
    [note] = vars(error)["__notes__"]
    return note


def _permits_by_one_release(semaphore: Any, forced: Callable[[], Program]) -> Program:
    taken = yield semaphore.acquire_many(2)
    yield from forced()
    yield from until(lambda: semaphore.lost)
    with refused() as caught:
        yield semaphore.release_many(taken)
    return str(caught.value)


@pytest.mark.awaited
@pytest.mark.realtime
@pytest.mark.values("known", [False, True], ids=["found", "known"])
@pytest.mark.values(
    "call",
    [_permit_by_release, _permit_by_block, _permit_by_note, _permits_by_one_release],
    ids=lambda call: call.__name__.lstrip("_"),
)
def test_so_does_the_error_of_a_permit(
    permits: Permits, known: bool, call: Callable[..., Program]
) -> None:
    semaphore = permits.semaphore(2, lease=KEPT, tracking="auto" if known else "off")

    def forced() -> Program:
        with holdfast.Client(permits.server.url, client_name=USER) as operator:
            assert inspect.force_release(operator, of_permits.NAME)
        if known:
            yield from until(lambda: semaphore.lost)

    text = permits.do(call, semaphore, forced)
    assert re.search(BY_OPERATOR, text), text
