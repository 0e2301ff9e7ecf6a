# The engine, as the bindings in cpp/bindings show it. The public classes check the arguments.
# Owners are numbers, 0 stands for the calling thread; times to wait are seconds, negative for no
# limit; leases are milliseconds. Each operation on the server is an Exchange, to be begun once; its
# type argument is the result.

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, final, overload

from holdfast._engine.arguments import LeaseTime, Terms

__version__: str

_Result_co = TypeVar("_Result_co", covariant=True)

class Exchange(Generic[_Result_co]):
    # One exchange with the servers, begun by wait() or start().

    def wait(self) -> _Result_co: ...  # blocks, without the GIL
    # Of the text of its LockLostError, the arguments of explained_text(); None: nothing to ask.
    def loss_of(self, text: str, /) -> tuple[Any, ...] | None: ...
    def give_back(self) -> None: ...  # of a grant that its caller never gets

@final
class Endpoint:
    # The addresses of a deployment, with the credentials and the TLS options.

    # `deployment`: "standalone", "sentinel" or "cluster"; `addresses`: host, port, path.
    def __init__(
        self,
        deployment: str,
        tls: bool,
        addresses: list[tuple[str, int, str]],
        service: str,
        database: int,
        /,
    ) -> None: ...
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
    def set_password_source(self, number: int, /) -> None: ...  # of `holdfast._clients.callables`
    def set_address_table(self, entries: list[tuple[str, int, str, int]], /) -> None: ...
    def set_address_source(self, number: int, /) -> None: ...  # of `holdfast._clients.callables`
    def set_sentinel_credentials(self, username: str, password: str, /) -> None: ...
    def set_tls(self, verify: bool, ca: str, cert: str, key: str, /) -> None: ...
    def set_system_ca(self, file: str, directory: str, /) -> None: ...

def histogram_bounds() -> tuple[float, ...]: ...  # in Client.stats(), in seconds

# The endpoint, and the options of the query in order; ValueError for a bad URL.

@final
class ClientOptions:  # the options of a client
    endpoint: Endpoint
    id: str  # empty: a fresh UUID
    name_prefix: bytes
    client_name: str | None  # None: "holdfast"; empty: connections have no name
    retries: int
    resp3: bool
    busy_poll: bool
    replicas_to_wait: int
    asynchronous: bool  # awaited by event loops, not by threads
    guard: str  # the path of its executable; empty: no guard
    @property
    def tracking(self) -> str: ...  # "auto", "off", "require"
    def __init__(self) -> None: ...
    def set_pubsub(self, how: str, /) -> None: ...  # "auto", "sharded", "classic", "both"
    def set_reauthenticate(self, ms: int, /) -> None: ...
    def set_tracking(self, how: str, /) -> None: ...  # "auto", "off", "require"
    # None: none; and the lease of the key that has it.
    def set_label(self, label: str | None, lease_ms: int, /) -> None: ...
    def set_timeouts(self, connect_ms: int, command_ms: int, /) -> None: ...

@final
class Client:  # of one server; its methods may be called from any thread
    def __init__(self, options: ClientOptions, /) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    guard_pid: int  # the process of its guard; 0: none, or it has ended
    def stats(self) -> tuple[Any, ...]: ...  # in the order of holdfast._engine.stats
    # The kind and the name of a ticket; ValueError for text that is not a ticket.
    # Kind, name and owner.
    def read_ticket(self, ticket: str, /) -> tuple[str, bytes, str]: ...
    def ping(self) -> Exchange[Any]: ...
    # More is known of why that owner has lost its holds of the name: the reason from now on.
    def explain_loss(self, name: bytes, owner: int, reason: str, /) -> None: ...
    # For tests of programs: while it is on, its holds are not renewed.
    def pause_renewals(self, on: bool, /) -> None: ...
    # Begins to close it; `timeout_ms`: for pending releases, the command timeout at most.
    def close(self, timeout_ms: int | None, release_held: bool, /) -> Closing: ...

@final
class Closing(Exchange[Any]):
    @property
    def names(self) -> list[bytes]: ...  # of locks that may still be held; before the end: are held

@final
class CallersTime:  # what its caller gives a call, from the beginning of that on
    ...

# `blocking`, `timeout`: as of an acquire; a wait of 0 s is a try.
def callers_time(client: Client, blocking: bool, timeout: float, /) -> CallersTime: ...

# Of a caller whose time is over: for an answer at once.
def time_over(client: Client, /) -> CallersTime: ...

# Commands in a pipeline to the server that serves the name, at least one; each must be safe to
# repeat. A reply is bytes, int, None, a list of replies, or an error as an exception.
def commands_of(
    client: Client, name: bytes, commands: Sequence[Sequence[bytes]], time: CallersTime, /
) -> Exchange[list[Any]]: ...

# A step of lua/, by its word, "lock/ttl"; the name (empty: the first key) says which server,
# and stands in errors. ValueError: no such script, or another number of parameters.
def step_of(
    client: Client,
    name: bytes,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[bytes | str | int],
    time: CallersTime,
    /,
) -> Exchange[Any]: ...

# The same of a step whose reply is a number; its caller gets an error after the command timeout,
# and then it goes on in the background for the lease.
def lasting_step_of(
    client: Client,
    name: bytes,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[bytes | str | int],
    lease_ms: int,
    /,
) -> Exchange[int]: ...

@final
class Keeping:
    # Of an acquisition, which is given back, without a wait, at the end of the context unless it
    # was passed on, and with the last reference, or by close(), unless it was kept. Between
    # begin_use() and end_use() close() leaves it to its lease, as a hold: the program works under
    # it. keep(), begin_use() and the end of the context raise ConnectionError where close() has
    # given it back.
    @property
    def acquire(self) -> Exchange[Any]: ...
    @property
    def kept(self) -> bool: ...
    def keep(self) -> None: ...
    def begin_use(self) -> None: ...
    def end_use(self) -> None: ...
    def pass_on(self) -> None: ...
    def undo(self) -> None: ...  # gives it back, also what was kept
    def __enter__(self) -> Keeping: ...
    def __exit__(self, *error: object) -> None: ...

# What acquires a lock in a call, which may have further exchanges; to be made before it is sent.
def keeping(
    lock: Lockable,
    owner: int,
    lease_ms: int,
    renewed: bool,
    to: int,
    time: CallersTime,
    terms: Terms | None,
    /,
) -> Keeping: ...

# The same of `count` permits, which `expects` expects from now on, see expect_permit(); also the
# exchange that takes them, their ids, and the owner's number of the first, whose successors have
# the others: see permit_id().
def granting(
    semaphore: PermitSemaphore,
    expects: object,
    count: int,
    blocking: bool,
    lease_ms: int,
    renewed: bool,
    to: int,
    time: CallersTime,
    label: str | None,  # None: the semaphore's
    terms: Terms | None,
    report: object,
    /,
) -> tuple[Keeping, Exchange[Any], list[str], int]: ...

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

# By word: what stands before and after the name, and whether braces always do.
def derived_keys() -> dict[str, tuple[bytes, bytes, bool]]: ...
def kinds() -> list[str]: ...  # the words of locks, of the sides of locks, and of counters

# Of hiredis and of OpenSSL; the latter is empty without TLS.
def versions() -> tuple[str, str]: ...

# The native method with another text: its signature and its docstring.
def described(method: Callable[..., Any], text: str, /) -> Callable[..., Any]: ...

# The base of the classes with native methods and of the public classes. What these declare by
# holdfast/_locks/base.py has its signature there.
class Native: ...

# For type checkers an RLock, as threading.Condition takes no other class.
class BlockingLock(Native, threading.RLock):  # type: ignore[misc]
    # The methods of locks for threads: no signal interrupts them between the grant and the return.
    # `wait`: seconds of `with`. `how`: _prepare() and _released() are to be called; `with` does not
    # wait for the answer to its release.
    def _bind(self, lock: Lockable, lease: LeaseTime, wait: float, /, *how: bool) -> None: ...
    acquire: Any
    release: Any
    __enter__: Any
    __exit__: Any
    def _release_all(self) -> None: ...

class TaskLock(Native):
    # The methods of locks for tasks: no bytecode runs between a task and the engine.
    # `how`: its holds are watched; _refuse_upgrade() is to be called; `async with` does not wait
    # for the answer to its release.
    def _bind(self, lock: Lockable, lease: LeaseTime, wait: float, /, *how: bool) -> None: ...
    # Without arguments: until it is granted, with the lock's lease.
    @overload
    async def _acquire(self, /) -> bool: ...
    @overload
    async def _acquire(self, blocking: bool, timeout: float, lease: LeaseTime, /) -> bool: ...
    async def _release(self, deferred: bool, /) -> None: ...
    __aenter__: Any
    __aexit__: Any

class BlockingHold(Native):
    # How hold objects for threads end.

    def _bind(self, lock: Lockable, owner: int, /) -> None: ...
    release: Any
    __enter__: Any
    __exit__: Any
    def _claim(self) -> None: ...  # raises _ended_before() where another call ends the hold
    def _unclaim(self) -> None: ...
    def _mark_detached(self) -> None: ...

class BlockingSemaphore(Native):  # the same of semaphores
    def _bind(self, semaphore: Counter, wait: float, /) -> None: ...
    acquire: Any
    release: Any
    __enter__: Any
    __exit__: Any

class BlockingPermitSemaphore(Native):  # the same of permit semaphores
    # `how`: seconds to wait, the listener for losses, whether _reporter() is to be called.
    def _bind(self, of: PermitSemaphore, lease: LeaseTime, /, *how: float) -> None: ...
    acquire: Any
    acquire_many: Any
    release: Any
    __enter__: Any
    __exit__: Any
    # A block begins with a permit that was acquired otherwise; and: it does not begin after all.
    def _keep(self, keeping: Keeping, permit: str, /) -> None: ...
    def _undo(self, keeping: Keeping, permit: str, /) -> None: ...

class Lockable:
    # A lock of any kind: owners acquire and release it. The client keeps its state.

    # `to`: the listener.
    def acquire(
        self,
        owner: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
        to: int,
        label: str | None,  # None: the lock's
        /,
    ) -> Exchange[bool]: ...
    # The same of a `with` block that begins.
    def begin_block(
        self,
        owner: int,
        blocking: bool,
        timeout: float,
        lease_ms: int,
        renewed: bool,
        to: int,
        label: str | None,
        /,
    ) -> Exchange[bool]: ...
    def release(self, owner: int, all_holds: bool, /) -> Exchange[None]: ...
    def release_deferred(self, owner: int, /) -> Exchange[None]: ...  # of one
    def end_block(self, owner: int, deferred: bool, /) -> Exchange[None]: ...
    def extend(self, owner: int, lease_ms: int, /) -> Exchange[int]: ...  # 1, or 0: not held
    def force_release(self, by: int, /) -> Exchange[int]: ...  # 1, or 0: it was free
    def locked(self) -> Exchange[int]: ...  # above 0: held
    def hold_count(self, owner: int, /) -> Exchange[int | None]: ...  # None: no hold
    def ttl(self) -> Exchange[int]: ...  # ms; -1: without a limit; -2: it is free

    # From the client's memory, without a command to the server.
    def known_count(self, owner: int, /) -> int: ...
    def acquires(self, owner: int, /) -> bool: ...  # an acquire is under way
    def known_levels(self, owner: int, /) -> list[int]: ...  # ms; 0: renewed
    def known_owners(self) -> list[tuple[int, str]]: ...  # and the kind that ended, or ""
    def known_lost(self, owner: int, /) -> bool: ...
    def known_loss(self, owner: int, /) -> str | None: ...  # why; None: not lost
    def known_left(self, owner: int, /) -> float | None: ...  # None: not held
    @property
    def foreign(self) -> bool: ...  # the last refusal was by a key that never expires

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
    label: str | None,  # of its acquires that have none
    /,
) -> Lock: ...

@final
class Counter:
    # A counter of a client, of the kind `word`; ValueError for an unknown one. `setup`: the permits
    # that an acquire sets up where there is no number; -1: none.
    def __init__(self, client: Client, word: str, name: bytes, setup: int = -1, /) -> None: ...
    # The number from now on, or its change; no effect on an object that sets none up. Returns by
    # how much it has changed.
    def expect(self, permits: int, /) -> int: ...
    def expect_more(self, permits: int, /) -> int: ...
    # Takes `amount`; of a kind that takes nothing: waits until it is open.
    def acquire(self, amount: int, blocking: bool, timeout: float, /) -> Exchange[bool]: ...
    # The same as a part of a call that has this time.
    def wait(self, amount: int, time: CallersTime, /) -> Exchange[bool]: ...
    # A step of the kind by its word; ValueError for an unknown one.
    def call(self, step: str, amount: int, /) -> Exchange[int]: ...
    def value(self) -> Exchange[int | None]: ...  # None: it is not there
    def late_value(self) -> Exchange[int | None]: ...  # the same for a caller whose time is over

def permit_id(client_id: str, number: int, /) -> str: ...
def permit_bytes(permit: object, /) -> bytes | None: ...  # None: it is not an id

# Add to and remove from the client's table of permits.
def expect_permit(semaphore: object, permit: str, report: object, /) -> None: ...
def forget_permit(semaphore: object, permit: str, /) -> None: ...
def forget_permits(semaphore: object, permits: list[bytes], /) -> None: ...

@final
class PermitSemaphore:
    # A client's semaphore with permits that have ids and expire. Permits are their ids, 16 bytes.

    # `word`: "permit_semaphore", or what is built on it: "slots", "barrier"; `label`: what they are
    # for.
    def __init__(
        self,
        client: Client,
        word: str,
        name: bytes,
        setup: int = -1,
        label: str | None = None,
        /,
    ) -> None: ...
    def expect(self, permits: int, /) -> int: ...  # as of Counter
    def expect_more(self, permits: int, /) -> int: ...
    def idle(self) -> bool: ...  # no waiter of this client is ahead of the next acquire
    def release(self, permit: bytes, /) -> Exchange[int | None]: ...  # 0: it is not in use
    # See release_many.lua; LostPermit: nothing was sent. leave(): without an answer.
    def release_many(self, permits: list[bytes], /) -> Exchange[int]: ...
    def leave(self, permits: list[bytes], /) -> None: ...
    def extend(
        self, permit: bytes, lease_ms: int, /
    ) -> Exchange[int]: ...  # 1, or 0: it is not in use
    def try_set_permits(
        self, permits: int, /
    ) -> Exchange[int]: ...  # 1, or 0: they were set before
    def set_permits(self, permits: int, /) -> Exchange[int]: ...
    def add_permits(self, permits: int, /) -> Exchange[int]: ...
    def value(self) -> Exchange[int | None]: ...  # None: it was never initialized
    def late_value(self) -> Exchange[int | None]: ...  # the same for a caller whose time is over
    def permits(self) -> Exchange[int]: ...
    def acquired_permits(self) -> Exchange[int]: ...
    def lease_left(self, permit: bytes, /) -> Exchange[int | None]: ...  # ms; -1: without a limit
    def known_lost(self, permit: bytes, /) -> bool: ...  # of a permit that this client has taken
    def delete(self) -> Exchange[int]: ...  # 1, or 0: it was not there

@final
class Lock(Lockable):
    def same_as(self, other: Lock, /) -> bool: ...  # one client, one name
    # Releases the owner's only hold in the background.
    def release_unawaited(self, owner: int, /) -> None: ...
    def leave_to_lease(self, owner: int, /) -> None: ...  # from now on it is not renewed
    @property
    def movable_as(self) -> str: ...  # the kind's word in a ticket; "": it cannot be moved

    # The hold gets the field of a ticket, with a new lease. From its beginning, even if it fails,
    # the hold is left to its lease, for its owner to release.
    def detach(self, owner: int, lease_ms: int, /) -> Exchange[None]: ...
    # After detach(): ends the hold, and returns its ticket; "": it has been lost.
    def end_detach(self, owner: int, /) -> str: ...

    # An owner gets the hold of a ticket, which read_ticket() has accepted.
    def attach(
        self, ticket: str, owner: int, lease_ms: int, renewed: bool, listener: int, /
    ) -> Exchange[bool]: ...
    # After attach(): returns the hold to the ticket.
    def give_back(self, ticket: str, owner: int, /) -> None: ...
    @property
    def waiter(self) -> int: ...  # whose acquire began to wait last; 0: none so far
    def known_reads(self, owner: int, /) -> int: ...  # of a read-write lock's read side
    def known_token(self, owner: int, /) -> int | None: ...  # None: not held, or not a fenced lock

@final
class Quorum(Lockable):
    # A lock made of other locks: all of them, or a majority.
    ...

# `name` is for messages.
def multi_lock(members: list[Lock], name: bytes, label: str | None, /) -> Quorum: ...
def red_lock(members: list[Lock], name: bytes, label: str | None, /) -> Quorum: ...

# The operations under way of one event loop.
class TaskQueue:
    # `owners`: the numbers of the tasks of a loop of asyncio; without them it is another loop.
    def __init__(self, loop: Any, owners: dict[Any, int] | None = None, /) -> None: ...
    def fileno(self) -> int: ...  # readable when drain() is to be called
    # What its task awaits in asyncio; in another loop drain() names the exchange by it, and its
    # close() cancels the exchange.
    def start(self, exchange: Exchange[Any], /) -> Any: ...
    # Continues the tasks with ended operations, and returns nothing that asyncio's loop reads; for
    # another loop: each with its value and error. With a dict, Waiters of gevent by what start()
    # returned: continues their greenlets, from the hub, by tuples of value and error.
    def drain(self, *waiting: object) -> list[tuple[Any, Any, Exception | None]]: ...
    def idle(self) -> bool: ...  # no task waits
    def end(self) -> None: ...  # no loop calls drain() any more: cancels the operations

# Block until there is an event: (word, name, owner, listeners, reason, token, the client's id, the
# server, the cause of a loss: "gone" from the server, "lease_over", "closed" or "other").
#
# "lost": a hold is gone. "abandoned": its thread or task ended while it held. "overlong": the lock
# that the owner waits for is held for suspiciously long. "foreign": the owner was refused by a key
# that never expires. "permits": a semaphore has another number. None once the run was stopped.
def next_event(
    run: int, /
) -> tuple[str, bytes, int, list[int], str, int | None, str, str, str] | None: ...
def begin_events() -> int: ...  # a run, by its number: a thread is about to call next_event()
def stop_passwords() -> None: ...  # no more calls for them: the interpreter is ending
def stop_events() -> None: ...
def events_running() -> bool: ...  # a run was begun and not stopped

# Returns when no client is open and the engine's threads have ended, or after that time.
def await_end_of_threads(seconds: float, /) -> None: ...
def await_exit(thread_id: int, /) -> None: ...  # of a thread that has returned

# One `stats.Observer` for the process; None: no observer.
def set_observer(observer: object, /) -> None: ...

# Wait until no thread is inside a blocking method, at most for the given time.
def thread_refused() -> BaseException: ...
def see_out(seconds: float, /) -> None: ...

# A number that no owner of this process has had.
def next_owner() -> int: ...
def next_owners(count: int, /) -> int: ...  # the first one

# The number of the calling thread as an owner.
def this_thread() -> int: ...

# A task is done: its remaining holds are no longer renewed.
#
# `what` it was: "task", "greenlet", ...
def owner_ended(owner: int, what: str, /) -> None: ...

# The system's id of the thread that has that number as an owner; 0: there is none.
def thread_of(owner: int, /) -> int: ...
def guard_obstacle() -> str: ...  # why no guard can run on this system; empty: one can
def begin_exit() -> None: ...  # from now on only the calling thread returns from the engine

# How greenlets wait (NotImplemented: the caller is none), their numbers (0: the thread's).
def set_greenlets(wait: Callable[[Exchange[Any]], Any], owner: Callable[[], int], /) -> None: ...
def epoch() -> int: ...  # grows with each fork(): objects of another epoch are an ancestor's
def set_watchdog_threads(count: int, /) -> None: ...  # for clients made from now on (2)
