"""A step sent twice means the same as sent once: a command whose reply was lost is sent again."""

from __future__ import annotations

import pytest

from tests.support.servers import Server
from tests.wire.lua.read_write_lock import CHANNEL, STATES, STEPS, ReadWriteLock
from tests.wire.lua.steps import Listener

RELEASES = {
    "release the last read hold",
    "release the last write hold",
    "release under either writer",
    "force the readers",
    "force the writer",
}
"""Their repeat has another reply: there is nothing left to release."""

RENEWAL = "renew the read holds"
"""Its repeat replies with the time that the first one has set."""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("step", STEPS)
def test_a_repeat_changes_nothing(server: Server, step: str, state: str) -> None:
    lock = ReadWriteLock(server.inspect)
    with Listener(server, CHANNEL) as listener:
        for before in STATES[state]:
            before(lock)

        reply = STEPS[step](lock)
        holds, left, timeouts = lock.holds, lock.left, lock.timeouts
        listener.messages()
        again = STEPS[step](lock)

        assert lock.holds == holds
        assert lock.timeouts == timeouts
        assert lock.left == pytest.approx(left, abs=2000)
        assert listener.messages() == []
        if step in RELEASES:
            assert again == (0 if step.startswith("force") else None)
        elif step.startswith("move") and reply is not None:
            assert again == -1  # how long was left before is known the first time only
        elif step == RENEWAL and reply:
            assert again >= reply - 2000
        elif reply is None or reply < 1000:
            assert again == reply
        else:
            assert again == pytest.approx(reply, abs=2000)
