"""Sees on a server that a watchdog renews a hold."""

from __future__ import annotations

from tests.support.servers import Server
from tests.support.waiting import eventually


def see_renewals(server: Server, times: int = 1, key: str | bytes = "myLock") -> None:
    """Wait until the lease of a hold was made longer so often: one that was lost is not."""
    seen, last = 0, int(server.inspect.pttl(key))

    def are_seen() -> bool:
        nonlocal seen, last
        earlier, last = last, int(server.inspect.pttl(key))
        seen += last > earlier
        return seen == times

    eventually(are_seen, what=f"{times} renewals of {key!r}")
