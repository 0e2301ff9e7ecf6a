"""What Redisson keeps on the server for a lock, written down independently of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.servers import Server


@dataclass(frozen=True)
class LockKey:
    """One lock as its server sees it."""

    server: Server
    name: str

    @property
    def channel(self) -> str:
        """The channel on which its release is announced."""
        braced = self.name if "{" in self.name else f"{{{self.name}}}"
        return f"redisson_lock__channel:{braced}"

    def holds(self) -> dict[str, int]:
        """Its hash: owner field to hold count; empty when nobody holds it."""
        fields = self.server.inspect.hgetall(self.name)
        return {owner.decode(): int(count) for owner, count in fields.items()}

    def seconds_left(self) -> float:
        """The time to live of its key, which must have one."""
        left = self.server.inspect.pttl(self.name)
        assert left >= 0, f"{self.name!r} has no time to live: PTTL {left}"
        return float(left) / 1000

    def waiting_clients(self) -> int:
        """How many connections listen for its release."""
        return self.server.subscribers(self.channel)

    def nobody_waits(self) -> bool:
        """Whether no connection listens for its release."""
        return self.waiting_clients() == 0

    def next_waiter_sleeps(self) -> Callable[[], bool]:
        """Return a condition: the waiter that begins after this call can only be woken from now on.

        It has tried, subscribed and tried again in vain. True only while nothing else on the server
        runs scripts.
        """
        before = self._scripts_run()
        return lambda: self.waiting_clients() > 0 and self._scripts_run() >= before + 2

    def _scripts_run(self) -> int:
        stats = self.server.inspect.info("commandstats")
        of_scripts = (stats.get(f"cmdstat_{command}") for command in ("eval", "evalsha"))
        return sum(stat["calls"] - stat["failed_calls"] for stat in of_scripts if stat)
