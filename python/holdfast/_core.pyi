# The engine, as the bindings in cpp/bindings show it. The public classes lie above it.
#
# Arguments are taken as they are: whoever calls has checked them. Owners are numbers, 0 stands for
# the calling thread; times to wait are seconds, negative for no limit; leases are milliseconds.
# Whatever talks to the server exists twice: a method that blocks without the GIL and returns the
# answer, and a `start_` method that returns the number under which the queue will tell of it. Both
# fail with the classes of `holdfast._errors`.

from typing import final

__version__: str

@final
class Endpoint:
    # Where a server is, and how to be let in.

    @property
    def text(self) -> str: ...  # for messages: without user and password
    @property
    def standalone(self) -> bool: ...
    @property
    def tls(self) -> bool: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> str: ...
    def set_credentials(self, username: str, password: str, /) -> None: ...
    def set_tls(self, verify: bool, ca: str, cert: str, key: str, /) -> None: ...

# The endpoint, and the options of the query in order; ValueError for a bad URL.
def parse_url(url: str, /) -> tuple[Endpoint, list[tuple[str, str]]]: ...

@final
class ClientOptions:
    # All that a client is made of.

    endpoint: Endpoint
    id: str  # empty: a fresh UUID
    name_prefix: bytes
    client_name: str
    retries: int
    asynchronous: bool  # awaited by event loops, not by threads

    def __init__(self) -> None: ...
    def set_timeouts(self, connect_ms: int, command_ms: int, /) -> None: ...

@final
class Client:
    # A client of one server; its methods may be called from any thread.

    def __init__(self, options: ClientOptions, /) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def lock(self, name: bytes, /) -> Lock: ...
    def ping(self) -> None: ...
    def start_ping(self, queue: PendingQueue, /) -> int: ...
    # End all waits, stop renewing; the names of what was still held.
    def close(self) -> list[bytes]: ...

class Lockable:
    # What owners acquire and release. It has no state of its own.

    def acquire(
        self,
        owner: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        watched: bool,
        listener: int,
        /,
    ) -> bool: ...
    def release(self, owner: int, all_holds: bool, /) -> None: ...
    def extend(self, owner: int, lease_ms: int, /) -> int: ...  # 1, or 0: not held
    def force_release(self) -> int: ...  # 1, or 0: nobody held it
    def locked(self) -> int: ...  # above 0: held
    def hold_count(self, owner: int, /) -> int | None: ...  # None: no hold
    def ttl(self) -> int: ...  # ms; -1: without a limit; -2: nobody holds it
    def start_acquire(
        self,
        queue: PendingQueue,
        owner: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        watched: bool,
        listener: int,
        /,
    ) -> int: ...
    def start_release(self, queue: PendingQueue, owner: int, all_holds: bool, /) -> int: ...
    def start_extend(self, queue: PendingQueue, owner: int, lease_ms: int, /) -> int: ...
    def start_force_release(self, queue: PendingQueue, /) -> int: ...
    def start_locked(self, queue: PendingQueue, /) -> int: ...
    def start_hold_count(self, queue: PendingQueue, owner: int, /) -> int: ...
    def start_ttl(self, queue: PendingQueue, /) -> int: ...

    # By what the client knows, without asking the server.
    def known_count(self, owner: int, /) -> int: ...
    def known_lost(self, owner: int, /) -> bool: ...
    def known_left(self, owner: int, /) -> float | None: ...  # None: not held

@final
class Lock(Lockable):
    # A lock of a client, under one name.

    def same_as(self, other: Lock, /) -> bool: ...  # one client, one name

@final
class Quorum(Lockable):
    # A lock that is made of others: all of them, or a majority.
    ...

# `name` is for messages.
def multi_lock(members: list[Lock], name: bytes, /) -> Quorum: ...
def red_lock(members: list[Lock], name: bytes, /) -> Quorum: ...

@final
class PendingQueue:
    # The operations under way for one event loop; used on its thread only.

    def __init__(self) -> None: ...
    def fileno(self) -> int: ...  # readable when drain() has something to tell
    # Nobody waits for it any more: drain() will not tell of it.
    def cancel(self, number: int, /) -> None: ...

    # Of each that has ended: its number, and its answer or why there is none.
    def drain(self) -> list[tuple[int, int | None, Exception | None]]: ...

# Block until something happens to a hold: (lost, name, owner, listener, reason).
#
# Not lost means that its thread or task ended while it held. None after stop_events().
def next_event() -> tuple[bool, bytes, int, int, str] | None: ...
def stop_events() -> None: ...

# Wait until no thread is inside a blocking method any more, or for so long.
def see_out(seconds: float, /) -> None: ...

# A number that no owner of this process has had.
def next_owner() -> int: ...

# The number of the calling thread as an owner.
def this_thread() -> int: ...

# A task is done: what it still holds is no longer renewed.
def owner_ended(owner: int, /) -> None: ...

# Grows with each fork(): what was made under another one belongs to an ancestor.
def epoch() -> int: ...

# How many threads renew, for clients made from now on (2).
def set_watchdog_threads(count: int, /) -> None: ...
