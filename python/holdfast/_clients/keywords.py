"""The keywords of clients and of locks.

Annotations are evaluated here: of postponed ones ``typing`` would compile each, at each start.
"""

import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, Literal, TypedDict, TypeVar, cast

from holdfast._engine.arguments import Name, Seconds

__all__ = [
    "DEFAULTS",
    "TYPES",
    "Configured",
    "File",
    "LockOptions",
    "MinimumLockOptions",
    "TaskLockOptions",
    "TaskMinimumLockOptions",
]


Address = tuple[str, int]
File = str | os.PathLike[str]
PasswordSource = Callable[[], str | tuple[str] | tuple[str, str]]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


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

    ``_options`` takes its checks from this signature, and the reference and ``help()`` the texts.
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
        protocol: int = 2,
        pubsub: Literal["auto", "sharded", "classic", "both"] = "auto",
        releases: Literal["awaited", "deferred"] = "awaited",
        tracking: Literal["auto", "off", "require"] = "auto",
        guard: bool | None = None,
        reauthenticate: Seconds | None = None,
        address_map: Mapping[Address, Address] | Callable[[Address], Address] | None = None,
    ) -> None:
        """Make a client; nothing is sent until it is used.

        An option may also stand in the query of the URL, ``redis://host/0?lease=20``, but for
        ``address_map``; a keyword wins.

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
            protocol: 3: RESP3, where the server supports it.
            pubsub: The form of the channels in a cluster; ``"auto"``: sharded if the servers
                support them, as Redisson does.
            releases: ``"deferred"``: the end of ``with`` does not wait for the reply to its
                release, for the kinds that support ``release(wait=False)``.
            tracking: ``"auto"``: a server that supports ``CLIENT TRACKING`` reports at once when a
                hold is removed or cut short; ``"require"``: a server without it is refused.
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


class MinimumLockOptions(LockOptions, total=False):
    """The keywords of the kinds of locks that have a minimum hold time."""

    at_least: Seconds | None


class TaskLockOptions(LockOptions, total=False):
    """The keywords of every kind of lock of a task, for type checkers."""

    cancel_on_lost: bool


class TaskMinimumLockOptions(MinimumLockOptions, TaskLockOptions, total=False):
    """The keywords of the kinds of locks of a task that have a minimum hold time."""
