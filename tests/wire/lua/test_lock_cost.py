"""The commands that each step runs: the price of a lock on the server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, BOB, Lock

pytestmark = pytest.mark.servers("real")

ON_A_FREE_LOCK: dict[str, tuple[Callable[[Lock], object], str]] = {
    "acquire": (lambda lock: lock.acquire(ALICE), "pttl hset pexpire"),
    "release": (lambda lock: lock.release(ALICE), "hdel"),
    "renew": (lambda lock: lock.renew(ALICE), "hexists hdel"),
    "check": (lambda lock: lock.check(ALICE), "hexists hdel"),
}

ON_A_HELD_LOCK: dict[str, tuple[Callable[[Lock], object], str]] = {
    "acquire by another": (lambda lock: lock.acquire(BOB), "pttl hget"),
    "acquire again": (lambda lock: lock.acquire(ALICE, 1000, 2), "pttl hget hset"),
    "acquire again, longer": (
        lambda lock: lock.acquire(ALICE, 90_000, 2),
        "pttl hget hset pexpire",
    ),
    "release": (lambda lock: lock.release(ALICE), "hdel publish"),
    "release one hold": (lambda lock: lock.release(ALICE, 1), "hexists hset"),
    "renew": (lambda lock: lock.renew(ALICE, 90_000), "hexists pttl pexpire pttl"),
    "renew, with a longer lease": (lambda lock: lock.renew(ALICE, 1000), "hexists pttl"),
    "check": (lambda lock: lock.check(ALICE), "hexists pttl"),
    "extend": (lambda lock: lock.extend(ALICE), "hexists pttl pexpire"),
    "transfer": (lambda lock: lock.transfer(ALICE, BOB), "hexists hset hdel pttl pexpire"),
}


@pytest.fixture
def lock(server: Server) -> Lock:
    return Lock(server.inspect)


@pytest.mark.parametrize("case", ON_A_FREE_LOCK)
def test_commands_on_a_free_lock(lock: Lock, server: Server, case: str) -> None:
    run, commands = ON_A_FREE_LOCK[case]
    assert commands_of(server, lambda: run(lock)) == commands.split()


@pytest.mark.parametrize("case", ON_A_HELD_LOCK)
def test_commands_on_a_held_lock(lock: Lock, server: Server, case: str) -> None:
    run, commands = ON_A_HELD_LOCK[case]
    lock.acquire(ALICE)
    assert commands_of(server, lambda: run(lock)) == commands.split()


def commands_of(server: Server, run: Callable[[], object]) -> list[str]:
    """The commands that scripts ran meanwhile, in order."""
    with server.recording() as recording:
        run()
        return [sent.name.lower() for sent in recording.scripted]
