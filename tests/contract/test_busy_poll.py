"""A caller looks for its reply before it sleeps, where that may be quicker: when it never does."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.servers import Server

ENOUGH = 60
"""Acquires and releases in which a client has tried to look."""

THREAD = """
    if ONE_CPU:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    client = holdfast.Client(URL, busy_poll=HOW)
    lock = client.lock("myLock")
    for _ in range(ENOUGH):
        with lock:
            pass
    figures = client.stats()
    assert figures.busy_polls_right <= figures.busy_polls
    say(figures.busy_polls > 0)
"""
TASK = """
    if ONE_CPU:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    async def tick():
        while True:
            await asyncio.sleep(0)

    async def main():
        ticking = asyncio.create_task(tick()) if TICKS else None
        async with holdfast.asyncio.Client(URL, busy_poll=HOW) as client:
            lock = client.lock("myLock")
            for _ in range(ENOUGH):
                async with lock:
                    pass
            figures = client.stats()
            assert figures.busy_polls_right <= figures.busy_polls
            say(figures.busy_polls > 0)
        if ticking is not None:
            ticking.cancel()

    asyncio.run(main())
"""

pytestmark = [
    pytest.mark.servers("redis"),
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
        reason="on one CPU no client looks",
    ),
]


@pytest.mark.parametrize("program", [THREAD, TASK], ids=["thread", "task"])
@pytest.mark.parametrize(
    ("given", "looks"),
    [
        ({"HOW": "auto", "ONE_CPU": False}, True),
        ({"HOW": "off", "ONE_CPU": False}, False),
        ({"HOW": "auto", "ONE_CPU": True}, False),
    ],
    ids=["auto", "off", "one CPU"],
)
def test_a_caller_looks_where_it_may(
    start_child: Any, server: Server, program: str, given: dict[str, Any], looks: bool
) -> None:
    child = start_child(program, URL=server.url, ENOUGH=ENOUGH, TICKS=False, **given)
    child.expect(str(looks))
    assert child.wait() == 0


def test_a_task_looks_only_while_its_loop_has_nothing_else_to_do(
    start_child: Any, server: Server
) -> None:
    child = start_child(TASK, URL=server.url, HOW="auto", ONE_CPU=False, ENOUGH=ENOUGH, TICKS=True)
    child.expect("False")
    assert child.wait() == 0
