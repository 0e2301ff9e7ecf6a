"""What Redisson keeps on the server, written down independently of the package.

A key of each kind: one shared object as its server sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tests.interop.java_objects import JavaObject
from tests.support.servers import Server


@dataclass(frozen=True)
class SharedKey:
    """What all kinds have in common: a name, and a channel for those who wait."""

    server: Server
    name: str

    CHANNEL: ClassVar[str]
    TRIES: ClassVar[tuple[str, ...]] = ("eval", "evalsha")
    """The commands of which each attempt of a waiter sends one."""

    @property
    def channel(self) -> str:
        """The channel to which waiters subscribe."""
        return f"{self.CHANNEL}:{self.braced}"

    @property
    def braced(self) -> str:
        """The name as it is part of other keys, which are to be in its slot."""
        return self.name if "{" in self.name else f"{{{self.name}}}"

    def exists(self) -> bool:
        """Whether there is such a key."""
        return bool(self.server.inspect.exists(self.name))

    def seconds_left(self) -> float:
        """The time to live of its key, which must have one."""
        left = self.server.inspect.pttl(self.name)
        assert left >= 0, f"{self.name!r} has no time to live: PTTL {left}"
        return float(left) / 1000

    def waiting_clients(self) -> int:
        """How many connections listen for its messages."""
        return self.server.subscribers(self.channel)

    def clients_wait(self, number: int) -> bool:
        """Whether at least `number` connections listen for its messages."""
        return self.waiting_clients() >= number

    def no_client_waits(self) -> bool:
        """Whether no connection listens for its messages."""
        return self.waiting_clients() == 0

    def next_waiter_sleeps(self, java: JavaObject | None = None) -> Callable[[], bool]:
        """Return a condition: the waiter that begins after this call can only be woken from now on.

        The waiter has tried, subscribed and tried again without a grant, as the server's counts
        show; the condition is right only while no other client waits or tries. A waiter in Java
        must be asleep as well, since Redisson loses a message to all that finds it on its way.
        """
        before = self.tries()

        def sleeps() -> bool:
            return self.clients_wait(1) and self.tries() >= before + 2

        return sleeps if java is None else lambda: sleeps() and java.sleeps()

    def tries(self) -> int:
        """How many commands of the kind of an attempt the server has run, for whichever key."""
        stats = self.server.inspect.info("commandstats")
        of_tries = (stats.get(f"cmdstat_{command}") for command in self.TRIES)
        return sum(stat["calls"] - stat["failed_calls"] for stat in of_tries if stat)

    def _number(self) -> int | None:
        value = self.server.inspect.get(self.name)
        return None if value is None else int(value)


class LockKey(SharedKey):
    """A lock: a hash, owner to count."""

    CHANNEL = "redisson_lock__channel"

    def holds(self) -> dict[str, int]:
        """Owner field to hold count; empty when it is free."""
        fields = self.server.inspect.hgetall(self.name)
        return {owner.decode(): int(count) for owner, count in fields.items()}


class FairKey(LockKey):
    """A fair lock: with a queue, and a channel for each waiter."""

    @property
    def queue_key(self) -> str:
        """The list of the waiters."""
        return f"redisson_lock_queue:{self.braced}"

    @property
    def timeouts_key(self) -> str:
        """The sorted set: waiter to the moment when it counts as dead, in ms since 1970."""
        return f"redisson_lock_timeout:{self.braced}"

    def queue(self) -> list[str]:
        """The owner fields of the waiters, first come first."""
        return [owner.decode() for owner in self.server.inspect.lrange(self.queue_key, 0, -1)]

    def has_queued(self, number: int) -> bool:
        """Whether `number` waiters are in the queue."""
        return len(self.queue()) == number

    def end_of_place(self, owner: str) -> float:
        """The moment when a waiter counts as dead, as time.time() tells it."""
        score = self.server.inspect.zscore(self.timeouts_key, owner)
        assert score is not None, f"{owner!r} is not in the queue"
        return float(score) / 1000

    def waiting_clients(self) -> int:
        """How many waiters listen, each on its channel, and are in the queue."""
        start = f"{self.channel}:".encode()
        channels = [each for each in self.server.subscribed_channels() if each.startswith(start)]
        return min(len(channels), len(self.queue()))

    def no_client_waits(self) -> bool:
        """Whether no client listens on a channel of the lock and nothing is left of the queue."""
        start = f"{self.channel}:".encode()
        return not self.server.inspect.exists(self.queue_key, self.timeouts_key) and not any(
            channel.startswith(start) for channel in self.server.subscribed_channels()
        )


class SpinKey(LockKey):
    """A spin lock: its waiters listen to nothing, they try again and again."""

    def clients_wait(self, number: int) -> bool:
        """Nothing to see on the server."""
        return True


class ReadWriteKey(LockKey):
    """A read and write lock: the hash of both has a mode, and each read hold a separate key."""

    CHANNEL = "redisson_rwlock"
    WRITER = ":write"

    def mode(self) -> str | None:
        """The mode: read, write, or None when it is free."""
        value = self.server.inspect.hget(self.name, "mode")
        return None if value is None else str(value.decode())

    def holds(self) -> dict[str, int]:
        """The owner that writes and its hold count."""
        return {
            field.removesuffix(self.WRITER): count
            for field, count in self._fields().items()
            if field.endswith(self.WRITER)
        }

    def readers(self) -> dict[str, int]:
        """The owners that read and their hold counts."""
        fields = self._fields()
        return {field: fields[field] for field in fields if not field.endswith(self.WRITER)}

    def read_holds_left(self, owner: str) -> list[float]:
        """The seconds left of each read hold of an owner, as its separate key says."""
        first = f"{self.braced}:{owner}:rwlock_timeout"
        left = [self.server.inspect.pttl(f"{first}:{number}") for number in range(1, 10)]
        return [milliseconds / 1000 for milliseconds in left if milliseconds >= 0]

    def _fields(self) -> dict[str, int]:
        fields = self.server.inspect.hgetall(self.name)
        return {field.decode(): int(count) for field, count in fields.items() if field != b"mode"}


class SemaphoreKey(SharedKey):
    """A semaphore: a number."""

    CHANNEL = "redisson_sc"

    def permits(self) -> int | None:
        """The free permits, or None when their number is not set."""
        return self._number()


class PermitSemaphoreKey(SemaphoreKey):
    """A semaphore whose permits expire: with a sorted set of those given out."""

    def given(self) -> dict[str, int]:
        """The ids of the permits given out, as 32 hex digits, to their ends in ms since 1970."""
        entries = self.server.inspect.zrange(f"{self.braced}:timeout", 0, -1, withscores=True)
        return {permit.hex(): int(score) for permit, score in entries}


class LatchKey(SharedKey):
    """A count-down latch: a number, of which each attempt of a waiter is a GET."""

    TRIES = ("get",)

    @property
    def channel(self) -> str:
        """The channel, whose name has additional braces whatever the latch is called."""
        return f"redisson_countdownlatch__channel__{{{self.name}}}"

    def count(self) -> int | None:
        """The count, or None when it is down or was never set."""
        return self._number()
