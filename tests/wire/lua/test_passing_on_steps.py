"""What the steps answer and leave behind that pass a hold on, and that keep a lock closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.servers import Server
from tests.wire.lua import fair_steps
from tests.wire.lua import read_write_lock as rw
from tests.wire.lua.steps import (
    ALICE,
    BOB,
    CAROL,
    CHANNEL,
    KEEPER,
    MINUTE,
    NAME,
    Listener,
    Lock,
    Message,
    about,
)

DAVE = fair_steps.DAVE


@dataclass(frozen=True)
class Kind:
    """The steps of one kind of lock, and what is heard of them."""

    hold: Callable[[Any, bytes], object]
    """Gives the lock to an owner for two minutes."""
    move: Callable[..., Any]
    release_either: Callable[[Any, bytes, bytes], Any]
    owners: Callable[[Any], set[bytes]]
    heard: list[Message]
    make: Callable[[Any], Any]
    listen: Callable[[Server], Listener]
    before: Callable[[Any], object] = lambda _lock: None
    """Adds a waiter, where the step sends a message only to waiters."""


def _write_owners(lock: Any) -> set[bytes]:
    fields = dict(lock.holds)
    assert fields.pop(b"mode", b"write") == b"write"
    return {field.removesuffix(b":write") for field in fields}


KINDS = {
    "lock": Kind(
        hold=lambda lock, owner: lock.acquire(owner, 2 * MINUTE),
        move=Lock.move,
        release_either=Lock.release_either,
        owners=lambda lock: set(lock.holds),
        heard=[Message("message", CHANNEL, b"0")],
        make=Lock,
        listen=Listener,
    ),
    "fair_lock": Kind(
        hold=lambda lock, owner: lock.acquire(owner, 2 * MINUTE),
        move=fair_steps.FairLock.move,
        release_either=fair_steps.FairLock.release_either,
        owners=lambda lock: set(lock.holds),
        heard=fair_steps.word_to(DAVE),
        make=fair_steps.FairLock,
        listen=fair_steps.listen,
        before=lambda lock: lock.acquire(DAVE, queue_timeout=10 * MINUTE),
    ),
    "write_lock": Kind(
        hold=lambda lock, owner: lock.write_acquire(owner, 2 * MINUTE),
        move=rw.ReadWriteLock.write_move,
        release_either=rw.ReadWriteLock.write_release_either,
        owners=_write_owners,
        heard=rw.BY_WRITER,
        make=rw.ReadWriteLock,
        listen=lambda server: Listener(server, rw.CHANNEL),
    ),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest.fixture
def lock(kind: Kind, server: Server) -> Any:
    """A free lock of the kind."""
    return kind.make(server.inspect)


def test_a_move_gives_the_hold_to_the_next_owner(kind: Kind, lock: Any, server: Server) -> None:
    kind.hold(lock, ALICE)
    assert kind.move(lock, ALICE, BOB, 5 * MINUTE) == about(2 * MINUTE)
    assert kind.owners(lock) == {BOB}
    assert lock.left == about(5 * MINUTE)
    assert kind.move(lock, BOB, CAROL, 5 * MINUTE) == about(5 * MINUTE)
    assert kind.owners(lock) == {CAROL}
    assert server.keys() == {NAME}


def test_a_move_to_a_shorter_lease_is_published(kind: Kind, lock: Any, server: Server) -> None:
    kind.hold(lock, ALICE)
    kind.before(lock)
    with kind.listen(server) as listener:
        kind.move(lock, ALICE, BOB, 5 * MINUTE)
        assert listener.messages() == []
        kind.move(lock, BOB, CAROL, MINUTE)
        assert listener.messages() == kind.heard


def test_a_repeated_move_says_so_and_sets_the_lease_anew(
    kind: Kind, lock: Any, server: Server
) -> None:
    kind.hold(lock, ALICE)
    kind.move(lock, ALICE, BOB, MINUTE)
    server.inspect.pexpire(NAME, 5000)
    assert kind.move(lock, ALICE, BOB, MINUTE) == -1
    assert kind.owners(lock) == {BOB}
    assert lock.left == about(MINUTE)


def test_what_is_held_by_neither_is_not_moved(kind: Kind, lock: Any, server: Server) -> None:
    assert kind.move(lock, ALICE, BOB, MINUTE) is None
    assert server.keys() == set()
    kind.hold(lock, CAROL)
    assert kind.move(lock, ALICE, BOB, MINUTE) is None
    assert kind.owners(lock) == {CAROL}
    assert lock.left == about(2 * MINUTE)


@pytest.mark.parametrize("holder", [ALICE, BOB], ids=["owner", "other"])
def test_a_release_under_either_owner_frees_the_lock(
    kind: Kind, lock: Any, server: Server, holder: bytes
) -> None:
    kind.hold(lock, holder)
    kind.before(lock)
    with kind.listen(server) as listener:
        assert kind.release_either(lock, ALICE, BOB) == 1
        assert lock.left == -2
        assert listener.messages() == kind.heard
        assert kind.release_either(lock, ALICE, BOB) is None
        assert listener.messages() == []


def test_a_release_under_either_owner_frees_no_others(kind: Kind, lock: Any) -> None:
    kind.hold(lock, CAROL)
    assert kind.release_either(lock, ALICE, BOB) is None
    assert kind.owners(lock) == {CAROL}


def test_a_retained_lock_is_closed_for_everybody(server: Server, listener: Listener) -> None:
    lock = Lock(server.inspect)
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, MINUTE, count=2)
    assert lock.retain(ALICE, ALICE, KEEPER, 3 * MINUTE) == 1
    assert lock.holds == {KEEPER: b"1"}
    assert lock.left == about(3 * MINUTE)
    assert listener.messages() == [Message("message", CHANNEL, b"0")]
    for owner in (ALICE, BOB):
        assert lock.acquire(owner) == about(3 * MINUTE)
    assert lock.release(ALICE) is None


def test_a_repeated_retain_changes_nothing(server: Server, listener: Listener) -> None:
    lock = Lock(server.inspect)
    assert lock.retain(ALICE, BOB, KEEPER, MINUTE) is None
    assert server.keys() == set()
    lock.acquire(BOB)
    assert lock.retain(ALICE, BOB, KEEPER, MINUTE) == 1
    listener.messages()
    assert lock.retain(ALICE, BOB, KEEPER, 5 * MINUTE) == 1
    assert lock.left == about(MINUTE)
    assert listener.messages() == []


def test_a_lock_of_others_is_not_retained(server: Server) -> None:
    lock = Lock(server.inspect)
    lock.acquire(CAROL, MINUTE)
    assert lock.retain(ALICE, BOB, KEEPER, 5 * MINUTE) is None
    assert lock.holds == {CAROL: b"1"}
    assert lock.left == about(MINUTE)
