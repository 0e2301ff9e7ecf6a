# The engine, as the bindings in cpp/bindings show it. The public classes lie above it.
#
# Arguments are taken as they are: whoever calls has checked them. Owners are numbers, 0 stands for
# the calling thread; times to wait are seconds, negative for no limit; leases are milliseconds.
# Whatever talks to the server exists twice: a method that blocks without the GIL and returns the
# answer, and a `start_` method that returns the number under which the queue will tell of it. Both
# fail with the classes of `holdfast._errors`.

from collections.abc import Sequence
from types import TracebackType
from typing import Any, final

from typing_extensions import Self

from ._arguments import LeaseTime, Seconds

__version__: str

@final
class Endpoint:
    # Where a server is, and how to be let in.

    @property
    def text(self) -> str: ...  # for messages: without user and password
    @property
    def deployment(self) -> str: ...
    @property
    def tls(self) -> bool: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> str: ...
    def set_credentials(self, username: str, password: str, /) -> None: ...
    def set_sentinel_credentials(self, username: str, password: str, /) -> None: ...
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
    resp3: bool
    replicas_to_wait: int
    asynchronous: bool  # awaited by event loops, not by threads

    def __init__(self) -> None: ...
    def set_pubsub(self, how: str, /) -> None: ...  # "auto", "sharded", "classic", "both"
    def set_timeouts(self, connect_ms: int, command_ms: int, /) -> None: ...

@final
class Client:
    # A client of one server; its methods may be called from any thread.

    def __init__(self, options: ClientOptions, /) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    # The kind and the name that a ticket is of; ValueError for what is none.
    def read_ticket(self, ticket: str, /) -> tuple[str, bytes]: ...
    # `at_least_ms`: from the first grant on it stays closed for so long, 0: not.
    def lock(self, name: bytes, at_least_ms: int, /) -> Lock: ...
    def fenced_lock(self, name: bytes, at_least_ms: int, /) -> Lock: ...
    # `backoff`: first and greatest rest in ms, and by how much it grows.
    def spin_lock(
        self, name: bytes, at_least_ms: int, backoff: tuple[int, int, float], /
    ) -> Lock: ...
    def fair_lock(self, name: bytes, queue_timeout_ms: int, /) -> Lock: ...
    # The two sides of a read-write lock.
    def read_lock(self, name: bytes, /) -> Lock: ...
    def write_lock(self, name: bytes, /) -> Lock: ...
    def ping(self) -> None: ...
    def start_ping(self, queue: PendingQueue, /) -> int: ...
    # End all waits, stop renewing; the names of what was still held.
    def close(self) -> list[bytes]: ...

# Commands as they are, sent behind each other to the server that answers for the name; each must be
# safe to repeat. A reply is bytes, int, None, a list of replies, or an error as an exception.
def send_commands(
    client: Client, name: bytes, commands: Sequence[Sequence[bytes]], /
) -> list[Any]: ...

# A copy: what it is changed to is nothing to the client.
def options_of(client: Client, /) -> ClientOptions: ...

# Host, port and path of each server that the URL names.
def addresses(endpoint: Endpoint, /) -> list[tuple[str, int, str]]: ...

# One server of a deployment, and one of its sentinels, to be reached as the deployment is.
def server_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...
def sentinel_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...

# What the sentinels call the primary; empty without sentinels.
def service_of(endpoint: Endpoint, /) -> str: ...
def database_of(endpoint: Endpoint, /) -> int: ...

# verify, ca, cert and key, as options of a client; empty texts: none.
def tls_options(endpoint: Endpoint, /) -> tuple[bool, str, str, str]: ...

# The text of a step, such as "lock/renew"; None: there is no such step.
def script_text(name: str, /) -> bytes | None: ...

# Of hiredis and of OpenSSL; the latter is empty without TLS.
def versions() -> tuple[str, str]: ...

class Native:
    # What native methods need; the root of the classes below and of the public classes.
    ...

class BlockingLock(Native):
    # The methods of locks for threads that no signal interrupts between the grant and the return.

    def _bind(self, lock: Lockable, lease: LeaseTime, wait: float, prepares: bool, /) -> None: ...
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | None = ...,
    ) -> bool: ...
    def release(self) -> None: ...
    def _release_all(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class BlockingSemaphore(Native):
    # The same of semaphores.

    def _bind(self, semaphore: Semaphore, wait: float, /) -> None: ...
    def acquire(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> bool: ...
    def release(self, n: int = 1) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class BlockingPermitSemaphore(Native):
    # The same of permit semaphores.

    def _bind(self, semaphore: PermitSemaphore, lease: LeaseTime, wait: float, /) -> None: ...
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | None = ...,
    ) -> str | None: ...
    def release(self, permit: str) -> None: ...
    def __enter__(self) -> str: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Lockable:
    # What owners acquire and release. It has no state of its own.

    def acquire(
        self,
        owner: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
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
        renewed: bool,
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
    def known_loss(self, owner: int, /) -> str | None: ...  # why; None: not lost
    def known_left(self, owner: int, /) -> float | None: ...  # None: not held

    # Of an acquire that succeeded: its listener is not to be told of the loss any more.
    def forget_listener(self, owner: int, listener: int, /) -> None: ...

@final
class Semaphore:
    # A semaphore of a client, under one name. It has no state of its own.

    def __init__(self, client: Client, name: bytes, /) -> None: ...
    def acquire(self, permits: int, blocking: bool, timeout: float, /) -> bool: ...
    def release(self, permits: int, /) -> int: ...  # the permits free then
    def add_permits(self, permits: int, /) -> int: ...  # the same
    def try_set_permits(self, permits: int, /) -> int: ...  # 1, or 0: it was there
    def drain_permits(self) -> int: ...
    def available_permits(self) -> int | None: ...  # None: it is not there
    def delete(self) -> int: ...  # 1, or 0: it was not there
    def start_acquire(
        self, queue: PendingQueue, permits: int, blocking: bool, timeout: float, /
    ) -> int: ...
    def start_release(self, queue: PendingQueue, permits: int, /) -> int: ...
    def start_add_permits(self, queue: PendingQueue, permits: int, /) -> int: ...
    def start_try_set_permits(self, queue: PendingQueue, permits: int, /) -> int: ...
    def start_drain_permits(self, queue: PendingQueue, /) -> int: ...
    def start_available_permits(self, queue: PendingQueue, /) -> int: ...
    def start_delete(self, queue: PendingQueue, /) -> int: ...

@final
class CountDownLatch:
    # A latch of a client, under one name. It has no state of its own.

    def __init__(self, client: Client, name: bytes, /) -> None: ...
    def wait(self, timeout: float, /) -> bool: ...
    def try_set_count(self, count: int, /) -> int: ...  # 1, or 0: it had one
    def count_down(self) -> int: ...  # the count that is left
    def count(self) -> int | None: ...  # None: it is open
    def delete(self) -> int: ...  # 1, or 0: it was not there
    def start_wait(self, queue: PendingQueue, timeout: float, /) -> int: ...
    def start_try_set_count(self, queue: PendingQueue, count: int, /) -> int: ...
    def start_count_down(self, queue: PendingQueue, /) -> int: ...
    def start_count(self, queue: PendingQueue, /) -> int: ...
    def start_delete(self, queue: PendingQueue, /) -> int: ...

@final
class PermitSemaphore:
    # A semaphore of a client whose permits have ids and expire. Permits are their ids, 16 bytes.

    def __init__(self, client: Client, name: bytes, /) -> None: ...
    # The id of the permit that is taken under a number; each attempt has a number of its own.
    def permit(self, number: int, /) -> bytes: ...
    def acquire(
        self, number: int, blocking: bool, timeout: float, lease_ms: int, renewed: bool, /
    ) -> bool: ...
    def release(self, permit: bytes, /) -> int | None: ...  # 0: it is not out
    def extend(self, permit: bytes, lease_ms: int, /) -> int: ...  # 1, or 0: it is not out
    def try_set_permits(self, permits: int, /) -> int: ...  # 1, or 0: they were set before
    def available_permits(self) -> int: ...
    def delete(self) -> int: ...  # 1, or 0: it was not there
    def start_acquire(
        self,
        queue: PendingQueue,
        number: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
        /,
    ) -> int: ...
    def start_release(self, queue: PendingQueue, permit: bytes, /) -> int: ...
    def start_extend(self, queue: PendingQueue, permit: bytes, lease_ms: int, /) -> int: ...
    def start_try_set_permits(self, queue: PendingQueue, permits: int, /) -> int: ...
    def start_available_permits(self, queue: PendingQueue, /) -> int: ...
    def start_delete(self, queue: PendingQueue, /) -> int: ...

@final
class Lock(Lockable):
    # A lock of a client, under one name.

    def same_as(self, other: Lock, /) -> bool: ...  # one client, one name
    @property
    def movable_as(self) -> str: ...  # by what a ticket calls the kind; "": it cannot be moved

    # The hold gets the field of a ticket, with a lease of its own. Whatever comes of it,
    # end_detach() has to follow: `done` when the ticket has reached the caller.
    def detach(self, owner: int, lease_ms: int, /) -> None: ...
    def start_detach(self, queue: PendingQueue, owner: int, lease_ms: int, /) -> int: ...
    def ticket(self, owner: int, /) -> str: ...  # after detach(); "": it was lost meanwhile
    def end_detach(self, owner: int, done: bool, /) -> None: ...

    # An owner gets the hold of a ticket, which read_ticket() has accepted.
    def attach(
        self, ticket: str, owner: int, lease_ms: int, renewed: bool, listener: int, /
    ) -> bool: ...
    def start_attach(
        self,
        queue: PendingQueue,
        ticket: str,
        owner: int,
        lease_ms: int,
        renewed: bool,
        listener: int,
        /,
    ) -> int: ...
    # After attach(): the hold becomes the ticket's again.
    def give_back(self, ticket: str, owner: int, /) -> None: ...
    def known_reads(self, owner: int, /) -> int: ...  # of a read-write lock's read side
    def known_token(self, owner: int, /) -> int | None: ...  # None: not held, or no fenced lock

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

# Block until there is something to tell: (word, name, owner, listeners, reason).
#
# "lost": a hold is gone. "abandoned": its thread or task ended while it held. "overlong": what the
# owner waits for is held for suspiciously long. None after stop_events().
def next_event() -> tuple[str, bytes, int, list[int], str] | None: ...
def stop_events() -> None: ...

# Whether a thread takes events; what may be lost later starts it by holdfast._events.start().
def set_events_running(running: bool, /) -> None: ...

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
