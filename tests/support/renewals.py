"""Sees on a server that a watchdog renews a hold."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.servers import Server
from tests.support.waiting import eventually


def see_renewals(server: Server, times: int = 1, key: str | bytes = "myLock") -> None:
    """Wait until the lease of a hold was made longer so often: one that was lost is not."""
    see_longer(lambda: int(server.inspect.pttl(key)), times)


def see_longer(left: Callable[[], float], times: int = 1) -> None:
    """Wait until what is left of a lease grew so often."""
    seen, last = 0, left()

    def are_seen() -> bool:
        nonlocal seen, last
        earlier, last = last, left()
        seen += last > earlier
        return seen == times

    eventually(are_seen, what=f"{times} renewals")
