"""A guard behind a slow link."""

from __future__ import annotations

import pytest

from tests.faults.guard.conftest import StartProgram
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

MANY = 1500
SLICE = 2_000
PAUSE = 0.01
"""A link of at most 200,000 bytes per second."""


def test_holds_that_need_seconds_of_the_link_are_freed_and_each_release_is_sent_once(
    start_program: StartProgram, server: Server
) -> None:
    """killed-process."""
    names = [f"lock {number}" for number in range(MANY)]
    with FaultProxy(server.port) as proxy:
        program = start_program(*names, url=proxy.url, lease=240.0)
        before = server.scripts_run() or 0
        proxy.slices(SLICE)
        proxy.delay(PAUSE)
        program.kill()
        eventually(lambda: server.inspect.dbsize() == 0, 3 * BOUND, what="the end of all holds")
        sent = (server.scripts_run() or 0) - before
    assert sent <= MANY * 1.2
