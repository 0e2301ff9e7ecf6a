"""Fixtures of the Lua tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers import Server
from tests.wire.lua.read_write_lock import CHANNEL, ReadWriteLock
from tests.wire.lua.steps import FencedLock, Listener, Lock


@pytest.fixture(params=[Lock, FencedLock], ids=["lock", "fenced_lock"])
def lock(server: Server, request: pytest.FixtureRequest) -> Lock:
    """A free lock, of each kind that has these steps."""
    lock: Lock = request.param(server.inspect)
    return lock


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    """Someone subscribed to the lock's channel."""
    with Listener(server) as listener:
        yield listener


@pytest.fixture
def rw(server: Server) -> ReadWriteLock:
    """A free read-write lock."""
    return ReadWriteLock(server.inspect)


@pytest.fixture
def rw_listener(server: Server) -> Iterator[Listener]:
    """Someone subscribed to its channel."""
    with Listener(server, CHANNEL) as listener:
        yield listener
