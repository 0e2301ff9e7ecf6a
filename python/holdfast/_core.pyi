# The engine, as the bindings in cpp/bindings show it. The public classes check the arguments.
# Owners are numbers, 0 stands for the calling thread; times to wait are seconds, negative for no
# limit; leases are milliseconds. Each operation on the server exists twice: as a method that blocks
# without the GIL, and as a `start_` method for an event loop: see PendingQueue.

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, final, overload

from typing_extensions import Self

from ._arguments import LeaseTime, Seconds

__version__: str

_Limit: TypeAlias = Seconds | None

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
    def set_password_source(self, number: int, /) -> None: ...  # of `holdfast._passwords`
    def set_sentinel_credentials(self, username: str, password: str, /) -> None: ...
    def set_tls(self, verify: bool, ca: str, cert: str, key: str, /) -> None: ...
    def set_system_ca(self, file: str, directory: str, /) -> None: ...

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
    client_name: str | None  # None: host, pid and id; empty: none
    retries: int
    resp3: bool
    replicas_to_wait: int
    asynchronous: bool  # awaited by event loops, not by threads

    def __init__(self) -> None: ...
    def set_pubsub(self, how: str, /) -> None: ...  # "auto", "sharded", "classic", "both"
    def set_tracking(self, how: str, /) -> None: ...  # "auto", "off", "require"
    def set_timeouts(self, connect_ms: int, command_ms: int, /) -> None: ...

@final
class Client:
    # A client of one server; its methods may be called from any thread.

    def __init__(self, options: ClientOptions, /) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def stats(self) -> tuple[Any, ...]: ...  # in the order of holdfast._stats
    # The kind and the name of a ticket; ValueError for text that is not a ticket.
    def read_ticket(self, ticket: str, /) -> tuple[str, bytes]: ...
    def ping(self) -> Any: ...
    def start_ping(self, queue: PendingQueue, /) -> Any: ...
    # For tests of programs: while it is on, its holds are not renewed.
    def pause_renewals(self, on: bool, /) -> None: ...
    # Begins to close it; `timeout_ms`: for pending releases, the command timeout at most.
    def close(self, timeout_ms: int | None = None, release_held: bool = False, /) -> Closing: ...

@final
class Closing:
    def wait(self) -> Any: ...
    def start_wait(self, queue: PendingQueue, /) -> Any: ...
    @property
    def names(self) -> list[bytes]: ...  # of locks that may still be held; before the end: are held

# Commands in a pipeline to the server that serves the name; each must be safe to repeat. A reply is
# bytes, int, None, a list of replies, or an error as an exception.
def send_commands(
    client: Client, name: bytes, commands: Sequence[Sequence[bytes]], /
) -> list[Any]: ...

# A copy: changes to it do not affect the client.
def options_of(client: Client, /) -> ClientOptions: ...
def addresses(endpoint: Endpoint, /) -> list[tuple[str, int, str]]: ...  # host, port, path

# One server of a deployment, and one of its sentinels, with the deployment's credentials and TLS.
def server_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...
def sentinel_at(endpoint: Endpoint, host: str, port: int, /) -> Endpoint: ...
def service_of(endpoint: Endpoint, /) -> str: ...  # of the primary; empty without sentinels
def database_of(endpoint: Endpoint, /) -> int: ...

# verify, ca, cert and key, as options of a client; empty texts: none.
def tls_options(endpoint: Endpoint, /) -> tuple[bool, str, str, str]: ...

# The text of a step, such as "lock/renew"; None: there is no such step.
def script_text(name: str, /) -> bytes | None: ...
def shown(name: bytes, /) -> str: ...

# Of hiredis and of OpenSSL; the latter is empty without TLS.
def versions() -> tuple[str, str]: ...

class Native: ...  # the base of the classes with native methods and of the public classes

# For type checkers an RLock, as threading.Condition takes no other class.
class BlockingLock(Native, threading.RLock):  # type: ignore[misc]
    # The methods of locks for threads: no signal interrupts them between the grant and the return.

    def _bind(self, lock: Lockable, lease: LeaseTime, wait: float, /, *how: bool) -> None: ...
    def acquire(
        self, blocking: bool = True, timeout: _Limit = -1, *, lease: _Limit = ...
    ) -> bool: ...
    def release(self, *, wait: bool = True) -> None: ...
    def _release_all(self) -> None: ...
    def __enter__(self) -> Self: ...  # type: ignore[override]
    def __exit__(self, *error: object) -> None: ...

class TaskLock(Native):
    # The methods of locks for tasks: no bytecode runs between a task and the engine.

    def _bind(self, lock: Lockable, lease: LeaseTime, wait: float, /, *how: bool) -> None: ...
    # Without arguments: until it is granted, with the lock's lease.
    @overload
    async def _acquire(self, /) -> bool: ...
    @overload
    async def _acquire(self, blocking: bool, timeout: float, lease: LeaseTime, /) -> bool: ...
    async def _release(self, deferred: bool, /) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, kind: object, exc: object, traceback: object, /) -> None: ...

class BlockingHold(Native):
    # How hold objects for threads end.

    def _bind(self, lock: Lockable, owner: int, /) -> None: ...
    def release(self) -> None: ...
    def _claim(self) -> None: ...  # raises _ended_before() where another call ends the hold
    def _unclaim(self) -> None: ...
    def _mark_detached(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, exc: object, traceback: object, /) -> None: ...

class BlockingSemaphore(Native):  # the same of semaphores
    def _bind(self, semaphore: Counter, wait: float, /) -> None: ...
    def acquire(
        self, blocking: bool = True, timeout: _Limit = None, *, permits: int = 1
    ) -> bool: ...
    def release(self, n: int = 1, *, wait: bool = True) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, exc: object, traceback: object, /) -> None: ...

class BlockingPermitSemaphore(Native):  # the same of permit semaphores
    def _bind(self, semaphore: PermitSemaphore, lease: LeaseTime, wait: float, /) -> None: ...
    def acquire(
        self, blocking: bool = True, timeout: _Limit = None, *, lease: _Limit = ...
    ) -> str | None: ...
    def release(self, permit: str, *, wait: bool = True) -> None: ...
    def __enter__(self) -> str: ...
    def __exit__(self, *error: object) -> None: ...

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
    def release_deferred(self, owner: int, /) -> None: ...  # of one
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
    ) -> Any: ...
    def start_release(self, queue: PendingQueue, owner: int, all_holds: bool, /) -> Any: ...
    def start_release_deferred(self, queue: PendingQueue, owner: int, /) -> Any: ...  # of one
    def start_extend(self, queue: PendingQueue, owner: int, lease_ms: int, /) -> Any: ...
    def start_force_release(self, queue: PendingQueue, /) -> Any: ...
    def start_locked(self, queue: PendingQueue, /) -> Any: ...
    def start_hold_count(self, queue: PendingQueue, owner: int, /) -> Any: ...
    def start_ttl(self, queue: PendingQueue, /) -> Any: ...

    # From the client's memory, without a command to the server.
    def known_count(self, owner: int, /) -> int: ...
    def known_levels(self, owner: int, /) -> list[int]: ...  # ms; 0: renewed
    def known_owners(self) -> list[tuple[int, str]]: ...  # and the kind that ended, or ""
    def known_lost(self, owner: int, /) -> bool: ...
    def known_loss(self, owner: int, /) -> str | None: ...  # why; None: not lost
    def known_left(self, owner: int, /) -> float | None: ...  # None: not held

    # After an acquire: its listener no longer receives the loss.
    def forget_listener(self, owner: int, listener: int, /) -> None: ...

# A lock of the kind `word`; ValueError for an unknown one. `at_least_ms`: the minimum hold time,
# counted from the first grant; 0: none. `backoff`: first and greatest rest in ms, and by how much
# it grows.
def new_lock(
    client: Client,
    word: str,
    name: bytes,
    at_least_ms: int,
    queue_timeout_ms: int,
    backoff: tuple[int, int, float] | None,
    /,
) -> Lock: ...

@final
class Counter:
    # A counter of a client, of the kind `word`; ValueError for an unknown one.
    def __init__(self, client: Client, word: str, name: bytes, /) -> None: ...
    # Takes `amount`; of a kind that takes nothing: waits until it is open.
    def acquire(self, amount: int, blocking: bool, timeout: float, /) -> bool: ...
    # A step of the kind by its word; ValueError for an unknown one.
    def call(self, step: str, amount: int, /) -> int: ...
    def value(self) -> int | None: ...  # None: it is not there
    def start_acquire(
        self, queue: PendingQueue, amount: int, blocking: bool, timeout: float, /
    ) -> Any: ...
    def start_call(self, queue: PendingQueue, step: str, amount: int, /) -> Any: ...
    def start_value(self, queue: PendingQueue, /) -> Any: ...

@final
class PermitSemaphore:
    # A client's semaphore with permits that have ids and expire. Permits are their ids, 16 bytes.

    def __init__(self, client: Client, name: bytes, /) -> None: ...
    # The id of the permit that is taken under a number; each attempt uses a new number.
    def permit(self, number: int, /) -> bytes: ...
    def acquire(
        self,
        number: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
        listener: int,
        /,
    ) -> bool: ...
    def release(self, permit: bytes, /) -> int | None: ...  # 0: it is not in use
    def extend(self, permit: bytes, lease_ms: int, /) -> int: ...  # 1, or 0: it is not in use
    def try_set_permits(self, permits: int, /) -> int: ...  # 1, or 0: they were set before
    def value(self) -> int | None: ...  # None: it was never initialized
    def delete(self) -> int: ...  # 1, or 0: it was not there
    def start_acquire(
        self,
        queue: PendingQueue,
        number: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
        listener: int,
        /,
    ) -> Any: ...
    def start_release(self, queue: PendingQueue, permit: bytes, /) -> Any: ...
    def start_extend(self, queue: PendingQueue, permit: bytes, lease_ms: int, /) -> Any: ...
    def start_try_set_permits(self, queue: PendingQueue, permits: int, /) -> Any: ...
    def start_value(self, queue: PendingQueue, /) -> Any: ...
    def start_delete(self, queue: PendingQueue, /) -> Any: ...

@final
class Lock(Lockable):
    def same_as(self, other: Lock, /) -> bool: ...  # one client, one name
    @property
    def movable_as(self) -> str: ...  # the kind's word in a ticket; "": it cannot be moved

    # The hold gets the field of a ticket, with a new lease. end_detach() must follow whether or not
    # it succeeds: `done` when the ticket has reached the caller.
    def detach(self, owner: int, lease_ms: int, /) -> None: ...
    def start_detach(self, queue: PendingQueue, owner: int, lease_ms: int, /) -> Any: ...
    def ticket(self, owner: int, /) -> str: ...  # after detach(); "": it has been lost
    def end_detach(self, owner: int, done: bool, /) -> None: ...

    # An owner gets the hold of a ticket, which read_ticket() has accepted.
    def attach(
        self, ticket: str, owner: int, lease_ms: int, renewed: bool, listener: int, /
    ) -> bool: ...
    def start_attach(self, queue: PendingQueue, ticket: str, /, *heir: int) -> Any: ...
    # After attach(): returns the hold to the ticket.
    def give_back(self, ticket: str, owner: int, /) -> None: ...
    def known_reads(self, owner: int, /) -> int: ...  # of a read-write lock's read side
    def known_token(self, owner: int, /) -> int | None: ...  # None: not held, or not a fenced lock

@final
class Quorum(Lockable):
    # A lock made of other locks: all of them, or a majority.
    ...

# `name` is for messages.
def multi_lock(members: list[Lock], name: bytes, /) -> Quorum: ...
def red_lock(members: list[Lock], name: bytes, /) -> Quorum: ...

# What one event loop waits for. start_...() returns a number, or for a TaskQueue an awaitable.
class PendingQueue:
    def fileno(self) -> int: ...  # readable when drain() is to be called

class NumberedQueue(PendingQueue):
    def cancel(self, number: int, /) -> None: ...  # drain() will not return it
    def drain(self) -> list[tuple[int, int | None, Exception | None]]: ...

class TaskQueue(PendingQueue):
    # `owners`: the numbers of the loop's tasks.
    def __init__(self, loop: Any, owners: dict[Any, int], /) -> None: ...
    def drain(self, *ignored: object) -> None: ...  # continues the tasks with ended operations
    def idle(self) -> bool: ...  # no task waits
    def leave_loop(self) -> None: ...  # which does not call drain() any more

# Block until there is an event: (word, name, owner, listeners, reason, token, the client's id).
#
# "lost": a hold is gone. "abandoned": its thread or task ended while it held. "overlong": the lock
# that the owner waits for is held for suspiciously long. None once the run was stopped.
def next_event(
    run: int, /
) -> tuple[str, bytes, int, list[int], str, int | None, str, str] | None: ...
def begin_events() -> int: ...  # a run, by its number: a thread is about to call next_event()
def stop_passwords() -> None: ...  # no more calls for them: the interpreter is ending
def stop_events() -> None: ...
def events_running() -> bool: ...  # a run was begun and not stopped

# Returns when no client is open and the engine's threads have ended, or after that time.
def await_end_of_threads(seconds: float, /) -> None: ...
def await_exit(thread_id: int, /) -> None: ...  # of a thread that has returned

# The observer. It is called on the threads of callers, and of event loops, before the call returns.
# An Exception that it raises is reported as unraisable; a KeyboardInterrupt gives the grant back.
# `client`: the id of the lock's client, of a lock made of several the first member's: owners of
# different clients may have the same number.
# `kind` is one of "lock", "fair_lock", "fenced_lock", "spin_lock", "read", "write", "multi_lock"
# and "red_lock".
class _Observer(Protocol):
    # An acquisition is about to begin; what this returns is given to ended().
    def begun(self, kind: str, name: bytes, /) -> Any: ...
    # `outcome`: "acquired", "timed_out", "cancelled" or "failed".
    def ended(self, begun: Any, outcome: str, client: str, owner: int, /) -> None: ...
    # An owner's last hold was given back.
    def released(self, name: bytes, client: str, owner: int, /) -> None: ...
    # A hold is gone; reported once or twice.
    def lost(self, name: bytes, client: str, owner: int, reason: str, /) -> None: ...

# One for the process; None: no observer.
def set_observer(observer: _Observer | None, /) -> None: ...

# Wait until no thread is inside a blocking method, at most for the given time.
def see_out(seconds: float, /) -> None: ...

# A number that no owner of this process has had.
def next_owner() -> int: ...

# The number of the calling thread as an owner.
def this_thread() -> int: ...

# A task is done: its remaining holds are no longer renewed.
#
# `what` it was: "task", "greenlet", ...
def owner_ended(owner: int, what: str, /) -> None: ...

# The system's id of the thread that has that number as an owner; 0: there is none.
def thread_of(owner: int, /) -> int: ...
def begin_exit() -> None: ...  # from now on only the calling thread returns from the engine

@final
class Waitable:  # what a greenlet waits for
    def start(self, queue: NumberedQueue, /) -> int: ...
    def give_back(self) -> None: ...  # of a grant that its caller never gets

# How greenlets wait (NotImplemented: the caller is none), and their numbers (0: the thread's).
def set_greenlets(wait: Callable[[Waitable], Any], owner: Callable[[], int], /) -> None: ...

# Grows with each fork(): objects with another epoch belong to an ancestor process.
def epoch() -> int: ...

# The number of renewing threads, for clients made from now on (2).
def set_watchdog_threads(count: int, /) -> None: ...
