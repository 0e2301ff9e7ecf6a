"""Leases that a watchdog renews, and how to see on a server that it does."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.servers import Server
from tests.support.waiting import eventually

SHORT = 0.6
"""The lease of what gets lost: renewed every 0.2 s, over after 0.6 s."""
KEPT = 3.0
"""The lease of what is to be kept: a machine that is busy for two seconds keeps it."""


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
