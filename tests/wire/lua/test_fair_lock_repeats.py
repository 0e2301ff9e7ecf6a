"""A step of the fair lock sent twice means the same as sent once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.servers import Server
from tests.wire.lua.fair_steps import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    FAIR_STEPS,
    NAME,
    PATIENCE,
    FairLock,
    listen,
)
from tests.wire.lua.steps import MINUTE


def held_by(owner: bytes, count: int, *waiters: bytes) -> Callable[[FairLock, Server], None]:
    def prepare(lock: FairLock, server: Server) -> None:
        server.inspect.hset(NAME, owner, count)
        server.inspect.pexpire(NAME, 2 * MINUTE)
        free(*waiters)(lock, server)

    return prepare


def free(*waiters: bytes) -> Callable[[FairLock, Server], None]:
    def prepare(lock: FairLock, server: Server) -> None:
        for waiter in waiters:
            lock.stand(waiter, PATIENCE)

    return prepare


STATES: dict[str, Callable[[FairLock, Server], None]] = {
    "free": free(),
    "held": held_by(ALICE, 1),
    "held, with a line": held_by(ALICE, 1, BOB, CAROL),
    "held twice, with a line": held_by(ALICE, 2, BOB, CAROL),
    "held by another": held_by(CAROL, 1),
    "first in line": held_by(CAROL, 1, ALICE, BOB),
    "last in line": held_by(CAROL, 1, BOB, ALICE),
    "free, first in line": free(ALICE, BOB),
    "free, second in line": free(BOB, ALICE),
    "free, others in line": free(BOB, DAVE),
}

REPLIES_OF_A_REPEAT = {
    ("release the last hold", 1): None,
    ("release under either owner", 1): None,
    ("force release", 1): 0,
}
"""Replies that a repeat does not get again: there is nothing left to free."""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("step", FAIR_STEPS)
def test_a_repeat_changes_nothing(server: Server, step: str, state: str) -> None:
    lock = FairLock(server.inspect)
    with listen(server) as listener:
        STATES[state](lock, server)

        reply = FAIR_STEPS[step](lock)
        holds, left, line = lock.holds, lock.left, lock.line
        listener.messages()
        again = FAIR_STEPS[step](lock)

        assert lock.holds == holds
        assert lock.left == pytest.approx(left, abs=2000)
        assert lock.line == line
        assert listener.messages() == []
        expected = REPLIES_OF_A_REPEAT.get((step, reply), reply)
        if step.startswith("move") and reply is not None:
            expected = -1  # how long was left before is known the first time only
        if isinstance(expected, int) and expected > 1:
            assert again == pytest.approx(expected, abs=2000)
        else:
            assert again == expected
