"""The listener of these tests leaves no trace: a release tells how many heard of it."""

from __future__ import annotations

import pytest

from tests.support.servers import Server
from tests.wire.lua.steps import ALICE, CHANNEL, Listener, Lock


@pytest.mark.parametrize("pattern", [b"", b"redisson_*"], ids=["channel", "pattern"])
def test_a_closed_listener_receives_nothing(server: Server, pattern: bytes) -> None:
    lock, listener = Lock(server.inspect), Listener(server, CHANNEL, pattern)
    with pytest.raises(ZeroDivisionError), listener:
        raise ZeroDivisionError
    lock.acquire(ALICE)
    assert lock.release(ALICE) == 1
    assert lock.told == 0
