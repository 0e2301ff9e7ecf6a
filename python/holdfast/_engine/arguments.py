"""Arguments, checked before anything is sent, and the options of clients and locks: the table.

Times are in seconds outside, in milliseconds inside.

Annotations are evaluated here: ``typing`` compiles the postponed ones of a ``NamedTuple``, which
would slow down each start.
"""

import math
import os
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache, partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import Self as Self  # noqa: PLC0414 - for other modules, too
    from typing_extensions import Unpack as Unpack  # noqa: PLC0414
else:
    # Of Python 3.11 on; before that, something that can be written in their place.
    Self = getattr(typing, "Self", Any)
    Unpack = getattr(typing, "Unpack", list)

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
ClassT = TypeVar("ClassT", bound=type)
CO_COROUTINE: Final = 0x80  # inspect.CO_COROUTINE, which is slow to import

#: A time in seconds.
Seconds = int | float
#: The name of a lock, semaphore or latch: text, or its bytes as they are on the server.
Name = str | bytes

#: As ``threading.TIMEOUT_MAX``, without the import of ``threading``.
TIMEOUT_MAX: Final = 9223372036.0
#: The engine counts nanoseconds.
LONGEST_LEASE: Final = TIMEOUT_MAX

#: Permits and counts, as Java counts them.
MOST: Final = 2**31 - 1


LONGEST_LABEL: Final = 200


class Late:
    """A module that is imported by its first use, as by who evaluates an annotation with it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


class Unset:
    """The type of ``UNSET``: an argument that was not given."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


def instead_of(
    names: Mapping[str, str],
    title: str = "",
    *,
    default: Callable[[Any], Awaitable[Any]] | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """A decorator: keywords of other locks are refused, and the error names those of holdfast.

    ``title``: what errors call the function, where that is not its name. ``default``: does the same
    as a coroutine function that is called without arguments.
    """

    def decorate(function: FunctionT) -> FunctionT:
        name = title or function.__name__
        if title:
            function.__qualname__ = title  # for the interpreter's own errors

        def check(keywords: Iterable[str]) -> None:
            for keyword in keywords:
                if keyword in names:
                    raise TypeError(foreign_keyword(name, keyword, names[keyword]))

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            check(kwargs)
            return function(*args, **kwargs)

        @wraps(function)
        async def call_later(*args: Any, **kwargs: Any) -> Any:
            if default is not None and len(args) == 1 and not kwargs:
                return await default(args[0])
            check(kwargs)
            return await function(*args, **kwargs)

        asynchronous = function.__code__.co_flags & CO_COROUTINE
        return cast("FunctionT", call_later if asynchronous else call)

    return decorate


def refuses_foreign_keywords(client: ClassT) -> ClassT:
    """A decorator of a client's class, whose locks are not made with redis-py's keywords."""
    for name, method in list(vars(client).items()):
        if callable(method) and not name.startswith("_") and name not in NO_CONSTRUCTORS:
            setattr(client, name, instead_of(LOCK_KEYWORDS)(method))
    return client


def foreign_keyword(function: str, name: str, hint: str) -> str:
    """The message for a keyword that other locks or clients have."""
    return f"{function}() got an unexpected keyword argument {name!r}: {hint}"


#: The methods of a client that make no lock and no other synchronizer.
NO_CONSTRUCTORS: Final = frozenset({"attach", "close", "locked", "ping"})

#: What the locks of redis-py and of others are made with, and what to use here.
LOCK_KEYWORDS: Final = {
    "timeout": "use lease=, in seconds (without it the lock is renewed until it is released)",
    "ttl": "use lease=, in seconds (without it the lock is renewed until it is released)",
    "expire": "use lease=, in seconds (without it the lock is renewed until it is released)",
    "blocking_timeout": "use wait=, in seconds",
    "blocking": "use wait=0 in order not to wait, or acquire(blocking=False)",
    "sleep": "leave it out (who waits is woken by a message); client.spin_lock() has backoff=",
    "thread_local": "leave it out (a hold belongs to its thread); lock.hold() belongs to no thread",
    "raise_on_release_error": "leave it out (an error inside `with` is never hidden)",
    "lock_class": "call client.fair_lock(), client.spin_lock() and so on",
}

#: What ``acquire`` of redis-py's locks and of others has, and that of a lock's constructor here.
ACQUIRE_KEYWORDS: Final = {
    "wait": "use timeout=, in seconds",
    "ttl": "use lease=, in seconds",
    "expire": "use lease=, in seconds",
    "blocking_timeout": "use timeout=, in seconds",
    "sleep": "leave it out: who waits is woken by a message",
    "token": "leave it out: a fenced lock, client.fenced_lock(), has tokens",
}


#: What an acquire of a kind built on another one says in addition, as its script takes it. Its
#: result is then the script's reply, a list, also where the server objects to these; False as ever.
Terms = tuple[bytes, bytes, bytes]


class LeaseTime(NamedTuple):
    """How long a grant lasts on the server, and whether the watchdog renews it."""

    ms: int
    renewed: bool


def checked_number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = ": use its .total_seconds()" if hasattr(value, "total_seconds") else ""
        msg = f"{what} must be a number of seconds, not {type(value).__name__}{hint}"
        raise TypeError(msg)
    if abs(value) > 2**63:  # an int may be too large for a float
        return math.inf if value > 0 else -math.inf
    if math.isnan(value):
        msg = f"{what} must be a number of seconds, not NaN"
        raise ValueError(msg)
    return float(value)


def milliseconds(what: str, value: Any) -> int:
    """A positive, finite number of seconds as whole milliseconds, at least one."""
    seconds = checked_number(what, value)
    if not 0 < seconds <= LONGEST_LEASE:
        msg = f"{what} must be positive and at most {LONGEST_LEASE:.0f} seconds, not {value!r}"
        raise ValueError(msg)
    return max(1, int(seconds * 1000))


def checked_lease(what: str, value: Any, watchdog_ms: int) -> LeaseTime:
    """The lease of an argument; ``None`` means the watchdog's lease, renewed."""
    if value is None:
        return _watched(watchdog_ms)
    return LeaseTime(milliseconds(what, value), False)


@lru_cache(maxsize=16)
def _watched(ms: int) -> LeaseTime:
    """The renewed lease, one object for all locks of a client."""
    return LeaseTime(ms, True)


def checked_at_least(value: Any, lease: LeaseTime) -> int:
    """A minimum hold time in milliseconds, 0 for none: no longer than the lease."""
    if value is None:
        return 0
    ms = milliseconds("at_least", value)
    check_minimum(ms, lease)
    return ms


def check_minimum(at_least: int, lease: LeaseTime) -> None:
    """Refuse a lease that ends before the minimum hold time."""
    if at_least > lease.ms:
        msg = (
            f"at_least must not be longer than the lease: {at_least / 1000:g} s is longer than "
            f"{lease.ms / 1000:g} s"
        )
        raise ValueError(msg)


def checked_blocking(blocking: Any) -> None:
    """A truth value. A number is taken for a time-out in the wrong place."""
    if hasattr(blocking.__class__, "__float__") and blocking not in (0, 1):
        msg = f"blocking must be True or False, not {blocking!r}: to wait, use timeout={blocking!r}"
        raise TypeError(msg)


def checked_timeout(blocking: Any, timeout: Any) -> float:
    """The time to wait as in ``threading``, -1 for no limit."""
    checked_blocking(blocking)
    if timeout is None or (type(timeout) is int and timeout == -1):
        return -1.0
    seconds = checked_number("timeout", timeout)
    if not blocking and seconds != -1:
        msg = "can't specify a timeout for a non-blocking call"
        raise ValueError(msg)
    if seconds < 0 and seconds != -1:
        msg = f"timeout must be -1 (no limit) or not negative, not {timeout!r}"
        raise ValueError(msg)
    if seconds > TIMEOUT_MAX:
        msg = f"timeout is too large: {timeout!r} (threading.TIMEOUT_MAX is {TIMEOUT_MAX:.0f})"
        raise OverflowError(msg)
    return seconds


def checked_wait(wait: Any) -> float:
    """The seconds that ``with`` waits, as a timeout: -1 for ``None``, no limit."""
    if wait is None:
        return -1.0
    seconds = checked_number("wait", wait)
    if seconds < 0:
        msg = f"wait must not be negative, not {wait!r}; None waits without limit"
        raise ValueError(msg)
    if seconds > TIMEOUT_MAX:
        msg = (
            f"wait is too large: {wait!r} (threading.TIMEOUT_MAX is {TIMEOUT_MAX:.0f}); "
            "None waits without limit"
        )
        raise OverflowError(msg)
    return seconds


def checked_name(what: str, name: Any) -> bytes:
    """A name as the server's bytes: UTF-8 for ``str``."""
    encoded = encoded_text(what, name)
    if not encoded:
        msg = f"{what} must not be empty"
        raise ValueError(msg)
    return encoded


def encoded_text(what: str, text: Any) -> bytes:
    """Bytes as they are, and text as UTF-8; ``what``: how errors name it."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        msg = f"{what} must be str or bytes, not {type(text).__name__}"
        raise TypeError(msg)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        msg = f"{what} must be encodable as UTF-8: {error}"
        raise ValueError(msg) from None


def checked_label(label: Any) -> str | None:
    """What a program is, or a hold is for: text of at most 200 characters, or ``None``."""
    if label is not None and not isinstance(label, str):
        msg = f"label must be str, not {type(label).__name__}"
        raise TypeError(msg)
    if label is not None and len(label) > LONGEST_LABEL:
        msg = f"label must have at most {LONGEST_LABEL} characters, not {len(label)}"
        raise ValueError(msg)
    if label is not None:
        encoded_text("label", label)
    return label


def checked_count(what: str, value: Any, *, least: int = 1, most: int = MOST) -> int:
    """A number of permits, or a count."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{what} must be int, not {type(value).__name__}"
        raise TypeError(msg)
    if not least <= value <= most:
        msg = f"{what} must be from {least} to {most}, not {value}"
        raise ValueError(msg)
    return int(value)


def checked_setup(permits: Any) -> int:
    """``permits`` of a semaphore object: -1 if it is not to set their number up."""
    return -1 if permits is None else checked_count("permits", permits)


def checked_flag(what: str, value: Any) -> bool:
    """A flag: `bool`."""
    if not isinstance(value, bool):
        msg = f"{what} must be bool, not {type(value).__name__}"
        raise TypeError(msg)
    return value


def refuse_deferring(kind: str, wait: Any) -> None:
    """Raise ``ValueError`` for ``release(wait=False)`` of a kind that is always awaited."""
    if not checked_flag("wait", wait):
        msg = f"wait=False cannot be given: {kind}.release() is always awaited"
        raise ValueError(msg)


def checked_callback(what: str, callback: Any, *, asynchronous: bool) -> None:
    """A callable, or ``None``; a coroutine function where a loop can run it."""
    if callback is None:
        return
    if not callable(callback):
        msg = f"{what} must be callable, not {type(callback).__name__}"
        raise TypeError(msg)
    if not asynchronous and is_coroutine_function(callback):
        msg = (
            f"{what} must be a function, not a coroutine function: the blocking client has no "
            "event loop to run it; holdfast.asyncio.Client has"
        )
        raise TypeError(msg)


def is_coroutine_function(function: Any) -> bool:
    """Whether a call makes a coroutine; also of methods, partial functions and callable objects."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        kind = cast("type[Any]", function.__class__)
        code = getattr(vars(kind).get("__call__"), "__code__", None)
    return code is not None and bool(code.co_flags & CO_COROUTINE)


Address = tuple[str, int]
File = str | os.PathLike[str]
PasswordSource = Callable[[], str | tuple[str] | tuple[str, str]]


def as_given(declared: FunctionT) -> FunctionT:
    """A decorator of a declaration: ``_configure`` gets the keywords that the caller gave.

    A keyword wins over the URL's query also where it equals the default.
    """

    @wraps(declared)
    def init(self: Any, url: Any = None, **options: Any) -> None:
        self._configure(url, options)

    return cast("FunctionT", init)


class Configured:
    """The options of a client, in the one place: name, type, default and meaning of each.

    ``options.py`` takes its checks from this signature, and the reference and ``help()`` the texts.
    """

    @as_given
    def __init__(  # lizard forgives(length): a declaration
        self,
        url: str | None = None,
        *,
        lease: Seconds = 30.0,
        id: str | None = None,
        name_prefix: Name = "",
        username: str | None = None,
        password: str | PasswordSource | None = None,
        sentinel_username: str | None = None,
        sentinel_password: str | None = None,
        connect_timeout: Seconds = 5.0,
        command_timeout: Seconds = 5.0,
        retries: int = 10,
        tls_ca: File | None = None,
        tls_cert: File | None = None,
        tls_key: File | None = None,
        tls_verify: bool = True,
        replicas_to_wait: int = 0,
        client_name: str | None = None,
        label: str | None = None,
        protocol: int = 2,
        pubsub: Literal["auto", "sharded", "classic", "both"] = "auto",
        releases: Literal["awaited", "deferred"] = "awaited",
        tracking: Literal["auto", "off", "require"] = "auto",
        busy_poll: Literal["auto", "off"] = "auto",
        guard: bool | None = None,
        reauthenticate: Seconds | None = None,
        address_map: Mapping[Address, Address] | Callable[[Address], Address] | None = None,
    ) -> None:
        """Make a client; an option may stand in the query of its URL, ``redis://host/0?lease=20``.

        A keyword wins over the URL. ``address_map`` is a keyword only.

        Args:
            url: ``redis://`` or ``valkey://`` with ``[user:password@]host[:port][/db]``, with TLS
                ``rediss://`` or ``valkeys://``; ``unix:///path/to.sock[?db=N]``;
                ``redis+sentinel://`` and ``redis+cluster://`` with several hosts. ``None``: the
                environment's ``HOLDFAST_URL``, else ``redis://127.0.0.1:6379``.
            lease: Seconds. The lease of a hold without a fixed one; the watchdog renews it after
                each third of that time.
            id: The client's UUID; ``None``: a new one. Two running processes must not have the
                same: to the server they would be one owner.
            name_prefix: Put before every name.
            username: The user; ``None``: that of the URL.
            password: The password, or a callable that returns the password or a tuple of user and
                password; ``None``: that of the URL. The callable is called for each attempt to
                connect, on a thread of the library and perhaps on several at once; its exception
                becomes the cause of the ``ConnectionError``.
            sentinel_username: The user of the sentinels.
            sentinel_password: The password of the sentinels.
            connect_timeout: Seconds to connect and authenticate.
            command_timeout: Seconds for an exchange with the server as a whole: connecting,
                retries and the reply.
            retries: The number of attempts to connect that may fail in a row after the first,
                with pauses of 10 ms up to 1 s, before the call fails.
            tls_ca: A file with certificates of CAs in PEM; ``None``: the system's.
            tls_cert: A file with the client's certificate in PEM.
            tls_key: A file with the key of that certificate in PEM.
            tls_verify: Whether the server's certificate and host name are checked.
            replicas_to_wait: The number of replicas that must acknowledge a grant.
            client_name: Connections are named ``<client_name>:<host>:<pid>:<id>`` with the first 8
                digits of the id; ``None``: the name is ``holdfast``; ``""``: connections have no
                name.
            label: What this program is, for people who look at what it holds, up to 200 characters;
                kept in one key on the server, which lives as long as the client's lease.
            protocol: 3: RESP3, where the server supports it.
            pubsub: The form of the channels in a cluster; ``"auto"``: sharded if the servers
                support them, as Redisson does.
            releases: ``"deferred"``: the end of ``with`` does not wait for the reply to its
                release, for the kinds that support ``release(wait=False)``.
            tracking: ``"auto"``: a server that supports ``CLIENT TRACKING`` reports at once when a
                hold is removed or cut short; ``"require"``: a server without it is refused.
            busy_poll: ``"auto"``: a caller looks for its reply for at most 150 microseconds before
                it sleeps, while the client finds that this is quicker; ``"off"``: it never does.
            guard: Whether a second process releases what this client holds when the program is
                killed; ``None``: if the environment's ``HOLDFAST_GUARD`` is 1.
            reauthenticate: Seconds between two calls of a ``password`` that is a callable, to
                authenticate open connections anew; ``None``: they are not.
            address_map: Where servers that other servers announce are reachable (a cluster or
                Sentinel behind NAT): ``{("10.0.0.1", 7000): ("localhost", 17000)}``, or a callable
                that returns the one address for the other, called as ``password`` is.

        Raises ``ValueError`` or ``TypeError`` for an invalid URL, option or value.
        """


_declared: Any = vars(Configured.__init__)["__wrapped__"]
#: The default of each option; the types of their values.
DEFAULTS: Final[Mapping[str, Any]] = _declared.__kwdefaults__
TYPES: Final[Mapping[str, Any]] = {name: _declared.__annotations__[name] for name in DEFAULTS}


class LockOptions(TypedDict, total=False):
    """The keywords of every kind of lock, for type checkers; ``Client.lock`` describes them."""

    lease: Seconds | None
    wait: Seconds | None
    on_lost: Callable[[Any], object] | None
    label: str | None


class MinimumLockOptions(LockOptions, total=False):
    """The keywords of the kinds of locks that have a minimum hold time."""

    at_least: Seconds | None


class TaskLockOptions(LockOptions, total=False):
    """The keywords of every kind of lock of a task, for type checkers."""

    cancel_on_lost: bool


class TaskMinimumLockOptions(MinimumLockOptions, TaskLockOptions, total=False):
    """The keywords of the kinds of locks of a task that have a minimum hold time."""
