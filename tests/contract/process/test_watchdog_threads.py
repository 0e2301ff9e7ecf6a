"""How many threads renew is the program's to say."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually, stays


@pytest.mark.parametrize("count", [0, -1, 65, 10**9])
def test_a_number_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="count"):
        holdfast.set_watchdog_threads(count)


@pytest.mark.parametrize("count", [True, 2.0, "2", None])
def test_what_is_no_number_is_refused(count: Any) -> None:
    with pytest.raises(TypeError, match="count"):
        holdfast.set_watchdog_threads(count)


def test_clients_share_the_threads_that_were_asked_for(
    server: Server, start_child: StartChild
) -> None:
    """Four clients, one thread that renews them all."""
    child = start_child(
        """
        holdfast.set_watchdog_threads(1)
        clients = [holdfast.Client(URL) for _ in range(4)]
        for number, client in enumerate(clients):
            assert client.lock(f"lock{number}").acquire()
        while hear("count"):
            names = [open(f"/proc/self/task/{task}/comm").read().strip()
                     for task in os.listdir("/proc/self/task")]
            say(sum(name.startswith("holdfast-dog") for name in names))
        """,
        URL=server.url,
    )

    def watchdogs() -> int:
        child.send("count")
        return int(child.next_line())

    eventually(lambda: watchdogs() > 0, what="a thread has its name a moment after its start")
    stays(lambda: watchdogs() == 1, during=0.1)
