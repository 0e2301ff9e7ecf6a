"""A step sent twice means the same as sent once: a command whose reply was lost is sent again."""

from __future__ import annotations

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, CAROL, MINUTE, NAME, STEPS, Listener, Lock, about

STATES: dict[str, dict[bytes, int]] = {
    "free": {},
    "held": {ALICE: 1},
    "held twice": {ALICE: 2},
    "held by another": {CAROL: 1},
    "held by the next": {BOB: 1},
}

REPLIES_OF_A_REPEAT = {
    ("release the last hold", 1): None,
    ("release under either owner", 1): None,
    ("force release", 1): 0,
}
"""Replies that a repeat does not get again: there is nothing left to free."""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("step", STEPS)
def test_a_repeat_changes_nothing(
    lock: Lock, server: Server, listener: Listener, step: str, state: str
) -> None:
    if STATES[state]:
        server.inspect.hset(NAME, mapping=STATES[state])
        server.inspect.pexpire(NAME, 2 * MINUTE)

    reply = STEPS[step](lock)
    holds, left = lock.holds, lock.left
    listener.messages()
    again = STEPS[step](lock)

    assert lock.holds == holds
    assert lock.left == pytest.approx(left, abs=2000)
    assert listener.messages() == []
    expected = REPLIES_OF_A_REPEAT.get((step, reply), reply)
    if step == "move" and reply is not None:
        expected = -1  # how long was left before is known the first time only
    if isinstance(expected, int) and expected > 1:
        assert again == pytest.approx(expected, abs=2000)
    else:
        assert again == expected


def test_a_repeat_does_not_add_holds(lock: Lock) -> None:
    for _ in range(3):
        lock.acquire(ALICE)
    for _ in range(3):
        lock.acquire(ALICE, count=2)
    assert lock.holds == {ALICE: b"2"}
    for _ in range(3):
        assert lock.release(ALICE, count=1) == 0
    assert lock.holds == {ALICE: b"1"}


def test_a_repeated_release_does_not_free_the_next_owner(lock: Lock, listener: Listener) -> None:
    lock.acquire(ALICE)
    lock.release(ALICE)
    lock.acquire(BOB)
    listener.messages()
    assert lock.release(ALICE) is None
    assert lock.transfer(ALICE, CAROL) is None
    assert lock.renew(ALICE) == 0
    assert lock.holds == {BOB: b"1"}
    assert listener.messages() == []


def test_a_repeated_transfer_starts_the_next_owners_lease_anew(lock: Lock, server: Server) -> None:
    lock.acquire(ALICE)
    lock.transfer(ALICE, BOB, MINUTE)
    server.inspect.pexpire(NAME, 5000)
    assert lock.transfer(ALICE, BOB, MINUTE) == 1
    assert lock.left == about(MINUTE)
