"""A fixed sample of the sweep over refused system calls; `nox -s sweep` makes all of it."""

from __future__ import annotations

import pytest

from tests.faults.sweep import sweep
from tests.support.refusals import Refusals
from tests.support.servers import Server

pytestmark = pytest.mark.servers("real")


@pytest.mark.parametrize(
    ("mode", "call", "numbers"),
    [
        ("sync", "eventfd", [2]),
        ("sync", "epoll_ctl", [4]),
        ("sync", "pthread_create", [2]),
        ("sync", "socket+", [1]),
        ("sync", "recv", [3]),
        ("sync", "mmap", [2]),
        ("asyncio", "epoll_create1", [1]),
        ("asyncio", "timerfd_create", [2]),
        ("asyncio", "pthread_create", [3]),
        ("asyncio", "send", [4]),
        ("asyncio", "poll", [2]),
        ("name", "pthread_create", [1, 2, 3]),
        ("name", "eventfd", [1, 2, 3]),
        ("guard", "recvmsg", [1]),
        ("guard", "recv", [2]),
    ],
)
def test_a_refused_call_is_an_error_of_the_library_and_the_program_works_afterwards(
    server: Server, refusals: Refusals, mode: str, call: str, numbers: list[int]
) -> None:
    """process-limits."""
    swept = sweep(refusals.shim, server.url, mode, call, numbers)
    assert len(swept.lines) == len(numbers), swept.lines
    assert not swept.wrong
