# The engine, as the bindings in cpp/bindings show it. The public classes lie above it.
#
# Arguments are not checked here: the callers check them. Owners are numbers, 0 stands for the
# calling thread; times to wait are seconds, negative for no limit; leases are milliseconds. Each
# operation on the server exists twice: as a method that blocks without the GIL and returns the
# result, and as a `start_` method that returns the number of the operation, whose result the queue
# delivers. Both raise the classes of `holdfast._errors`.

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, final

from typing_extensions import Self

from ._arguments import LeaseTime, Seconds

__version__: str

@final
class Endpoint:
    # The addresses of a deployment, with the credentials and the TLS options.

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

# Of the histograms in Client.stats(), in seconds.
def histogram_bounds() -> tuple[float, ...]: ...

# The endpoint, and the options of the query in order; ValueError for a bad URL.
def parse_url(url: str, /) -> tuple[Endpoint, list[tuple[str, str]]]: ...

@final
class ClientOptions:
    # The options of a client.

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
    # The counters, then the histograms, in the order of holdfast._stats.
    def stats(self) -> tuple[Any, ...]: ...
    # The kind and the name of a ticket; ValueError for text that is not a ticket.
    def read_ticket(self, ticket: str, /) -> tuple[str, bytes]: ...
    # `at_least_ms`: the minimum hold time, counted from the first grant; 0: none.
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
    # End all waits, stop renewing; returns the names of the locks that were still held.
    def close(self) -> list[bytes]: ...

# Commands in a pipeline to the server that serves the name; each must be safe to repeat. A reply is
# bytes, int, None, a list of replies, or an error as an exception.
def send_commands(
    client: Client, name: bytes, commands: Sequence[Sequence[bytes]], /
) -> list[Any]: ...

# A copy: changes to it do not affect the client.
def options_of(client: Client, /) -> ClientOptions: ...

# Host, port and path of each server that the URL names.
def addresses(endpoint: Endpoint, /) -> list[tuple[str, int, str]]: ...

# One server of a deployment, and one of its sentinels, with the deployment's credentials and TLS.
def server_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...
def sentinel_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...

# The sentinels' name for the primary; empty without sentinels.
def service_of(endpoint: Endpoint, /) -> str: ...
def database_of(endpoint: Endpoint, /) -> int: ...

# verify, ca, cert and key, as options of a client; empty texts: none.
def tls_options(endpoint: Endpoint, /) -> tuple[bool, str, str, str]: ...

# The text of a step, such as "lock/renew"; None: there is no such step.
def script_text(name: str, /) -> bytes | None: ...

# Of hiredis and of OpenSSL; the latter is empty without TLS.
def versions() -> tuple[str, str]: ...

class Native:
    # The base of the classes with native methods and of the public classes.
    ...

class BlockingLock(Native):
    # The methods of locks for threads: no signal interrupts them between the grant and the return.

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
    # A lock of any kind: owners acquire and release it. The client keeps its state.

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
    def force_release(self) -> int: ...  # 1, or 0: it was free
    def locked(self) -> int: ...  # above 0: held
    def hold_count(self, owner: int, /) -> int | None: ...  # None: no hold
    def ttl(self) -> int: ...  # ms; -1: without a limit; -2: it is free
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

    # From the client's memory, without a command to the server.
    def known_count(self, owner: int, /) -> int: ...
    def known_lost(self, owner: int, /) -> bool: ...
    def known_loss(self, owner: int, /) -> str | None: ...  # why; None: not lost
    def known_left(self, owner: int, /) -> float | None: ...  # None: not held

    # After an acquire: its listener no longer receives the loss.
    def forget_listener(self, owner: int, listener: int, /) -> None: ...

@final
class Semaphore:
    # A semaphore of a client, under one name. Its state is on the server.

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
    # A latch of a client, under one name. Its state is on the server.

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
    # The id of the permit that is taken under a number; each attempt uses a new number.
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

    # The hold gets the field of a ticket, with a new lease. end_detach() must follow whether or not
    # it succeeds: `done` when the ticket has reached the caller.
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
    # A lock made of other locks: all of them, or a majority.
    ...

# `name` is for messages.
def multi_lock(members: list[Lock], name: bytes, /) -> Quorum: ...
def red_lock(members: list[Lock], name: bytes, /) -> Quorum: ...

@final
class PendingQueue:
    # The pending operations of one event loop; used on its thread only.

    def __init__(self) -> None: ...
    def fileno(self) -> int: ...  # readable when drain() has a result
    # The caller no longer waits for it: drain() will not return it.
    def cancel(self, number: int, /) -> None: ...

    # For each completed operation: its number, and its result or its error.
    def drain(self) -> list[tuple[int, int | None, Exception | None]]: ...

# Block until there is an event: (word, name, owner, listeners, reason).
#
# "lost": a hold is gone. "abandoned": its thread or task ended while it held. "overlong": the lock
# that the owner waits for is held for suspiciously long. None after stop_events().
def next_event() -> tuple[str, bytes, int, list[int], str] | None: ...
def stop_events() -> None: ...

# Whether a thread takes events; holdfast._events.start() starts it with the first acquisition.
def set_events_running(running: bool, /) -> None: ...

# Who is called on the threads of callers, and of event loops, before these know of what has
# happened. An Exception that it raises is reported as unraisable; a KeyboardInterrupt gives back
# what was granted. `kind` is one of "lock", "fair_lock", "fenced_lock", "spin_lock", "read",
# "write", "multi_lock" and "red_lock".
class Observer(Protocol):
    # An acquisition is about to begin; what this returns is given to ended().
    def begun(self, kind: str, name: bytes, /) -> Any: ...
    # `outcome`: "acquired", "timed_out", "cancelled" or "failed".
    def ended(self, begun: Any, outcome: str, owner: int, /) -> None: ...
    # An owner's last hold was given back.
    def released(self, name: bytes, owner: int, /) -> None: ...
    # A hold is gone; said once or twice.
    def lost(self, name: bytes, owner: int, reason: str, /) -> None: ...

# One for the process; None: nobody.
def set_observer(observer: Observer | None, /) -> None: ...

# Wait until no thread is inside a blocking method, at most for the given time.
def see_out(seconds: float, /) -> None: ...

# A number that no owner of this process has had.
def next_owner() -> int: ...

# The number of the calling thread as an owner.
def this_thread() -> int: ...

# A task is done: its remaining holds are no longer renewed.
def owner_ended(owner: int, /) -> None: ...

# Grows with each fork(): objects with another epoch belong to an ancestor process.
def epoch() -> int: ...

# How many threads renew, for clients made from now on (2).
def set_watchdog_threads(count: int, /) -> None: ...
