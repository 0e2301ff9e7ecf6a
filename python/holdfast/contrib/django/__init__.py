"""Locks in a Django project; needs the extra ``holdfast-locks[django]``.

INSTALLED_APPS = [..., "holdfast.contrib.django"]
HOLDFAST_URL = "redis://127.0.0.1:6379"
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.db import transaction

from holdfast import Client, LockLostError, LockTimeout
from holdfast.contrib._blocks import Block, Outcome, held, refuse_transactions
from holdfast.contrib._locks import checked_label, purpose
from holdfast.integration import Naming, checked_function, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast import Lock
    from holdfast.integration import Seconds

__all__ = ["atomic_lock", "get_client", "locked"]

#: How the modules are named that stand between a block and who enters it.
BETWEEN = ("holdfast.contrib.", "contextlib")

AROUND = (
    "use it around the transaction, with @transaction.non_atomic_requests on a view; "
    "get_client().locked looks at no transaction"
)

#: The client of the process.
_client: Client | None = None
_making = threading.Lock()


def get_client() -> Client:
    """The client of this process, made of ``settings.HOLDFAST_URL`` at the first call.

    Any thread; after ``fork()`` the child's copy makes new connections. Raises
    ``django.core.exceptions.ImproperlyConfigured`` when the setting is missing or is no URL.
    """
    global _client  # noqa: PLW0603
    client = _client
    if client is None:
        with _making:
            client = _client
            if client is None:
                client = _client = _new_client(_url())
    return client


def _url() -> str:
    url = getattr(settings, "HOLDFAST_URL", None)
    if not isinstance(url, str) or not url:
        msg = (
            "settings.HOLDFAST_URL must be the URL of the server that keeps the locks, such as "
            f'"redis://127.0.0.1:6379"; it is {"not set" if url is None else "no text or empty"}'
        )
        raise ImproperlyConfigured(msg)
    return url


def _new_client(url: str) -> Client:
    try:
        return Client(url)
    except (ValueError, TypeError) as error:
        msg = f"settings.HOLDFAST_URL: {error}"
        raise ImproperlyConfigured(msg) from None


def _setting_changed(*, setting: str, **_: object) -> None:
    """In tests: ``override_settings(HOLDFAST_URL=...)`` is obeyed from now on."""
    global _client  # noqa: PLW0603
    if setting == "HOLDFAST_URL":
        _client = None


setting_changed.connect(_setting_changed, dispatch_uid="holdfast.contrib.django")


def locked(
    template: str, *, label: str | Literal[False] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function, such as a view: each call holds a lock named by its arguments.

    As ``client.locked`` of ``get_client()``: ``@locked("report:{user.id}", busy="skip")``, with its
    arguments and errors; ``label``: what the holds are for, by default the function's name and
    module; ``False``: nothing is said. Also raises ``ImproperlyConfigured``, at decoration. Where
    the function has returned, a lock that cannot be released is a record of the log, and no error;
    a hold that was lost is ``LockLostError``, whose ``committed`` is then ``True``.

    A call inside a transaction raises ``RuntimeError`` before it waits: what the function writes
    would be committed after the release. With ``ATOMIC_REQUESTS`` put
    ``@transaction.non_atomic_requests`` on the view. ``get_client().locked`` looks at no
    transaction, for functions that do not write in it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        checked_function(function, asynchronous=False)
        given = {**options, "label": purpose(checked_label(label), _name_of(function))}
        first = get_client()
        bound = (first, _Calls(first, template, given, function))

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal bound
            refuse_transactions(f"locked({template!r})", AROUND)
            client, calls = bound
            if client is not (now := get_client()):  # the setting has changed
                calls = _Calls(now, template, given, function)
                bound = (now, calls)
            return calls.run(args, kwargs)

        return call

    return decorate


def _name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _caller() -> str:
    """The function that has entered a block of this module."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        frame = frame.f_back
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # from Python 3.11 on
    return f"{frame.f_globals.get('__name__', '')}.{name}"


class _Calls:
    """The calls of a function under locks of one client."""

    def __init__(
        self, client: Client, template: str, options: dict[str, Any], function: Callable[..., Any]
    ) -> None:
        self._naming = Naming(client, template, **options)
        self._lock_of = self._naming.bound_to(function)
        self._function = function

    def run(self, args: Any, kwargs: Any) -> Any:
        entered = False
        try:
            with held(self._lock_of(args, kwargs), Outcome(), kept=LockLostError):
                entered = True
                return finished(self._function(*args, **kwargs), self._function)
        except LockTimeout as error:
            if entered or not self._naming.skips(error):
                raise
            return None


def atomic_lock(
    name: str,
    *,
    using: str | None = None,
    wait: Seconds | None = None,
    lease: Seconds | None = None,
    on_lost: Callable[[Lock], object] | None = None,
    label: str | Literal[False] | None = None,
) -> _AtomicLock:
    """Hold a lock around a transaction.

    ``with atomic_lock("stock:7") as lock:`` acquires, begins ``transaction.atomic(durable=True)``
    on the database ``using``, and releases after its commit or rollback: the next owner sees what
    this one has committed. The object may be used again, also by several threads at once, and
    decorates functions (``TypeError`` for a coroutine function). ``label``: what its holds are for,
    by default the name and module of the function that it decorates, or that calls it;
    ``False``: nothing is said.

    If the hold was lost before the end, the body is rolled back with ``LockLostError``. An error
    that comes after the commit has ``committed``, which is ``True``: ``LockLostError``, if the hold
    was lost until then, and that of a hook of ``transaction.on_commit``. A lock that cannot be
    released is a record of the log, and no error.

    Raises ``LockTimeout`` when the lock stays busy for ``wait`` seconds; ``RuntimeError`` at once
    inside another transaction, of any database, or without autocommit: they would commit after the
    release; and where the block is entered again inside of itself.
    """
    options = {"wait": wait, "lease": lease, "on_lost": on_lost, "label": checked_label(label)}
    return _AtomicLock(name, using, options)


class _AtomicLock(Block):
    """What ``atomic_lock`` returns: a context manager, and a decorator."""

    def __init__(self, name: str, using: str | None, options: dict[str, Any]) -> None:
        super().__init__(name, self._transaction)
        self._using = using
        self._options = options

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self._options["label"] is not None:
            return super().__call__(function)
        checked_function(function, asynchronous=False)
        options = {**self._options, "label": purpose(None, _name_of(function))}
        return Block.__call__(_AtomicLock(self._name, self._using, options), function)

    @contextmanager
    def _transaction(self) -> Iterator[Lock]:
        self._refuse_another_transaction()
        label = self._options["label"]
        said = purpose(label, _caller() if label is None else "")
        lock = get_client().lock(self._name, **{**self._options, "label": said})
        outcome = Outcome(told=True)
        block: Any = transaction.atomic(using=self._using, durable=True)  # or a decorator
        try:
            with held(lock, outcome, kept=LockLostError), block:
                transaction.on_commit(outcome.commit, using=self._using)
                yield lock
                if lock.lost:
                    raise LockLostError(self._lost("before the commit", "is rolled back"))
        except LockLostError as error:
            if not outcome.is_release(error):
                raise
            ended = ("commit", "committed") if outcome.committed else ("rollback", "rolled back")
            lost = LockLostError(self._lost(f"after the {ended[0]}", f"was {ended[1]}"))
            lost.committed = outcome.committed
            raise lost from error

    def _refuse_another_transaction(self) -> None:
        refuse_transactions(f"atomic_lock({self._name!r})", "use it around the transaction")
        connection = transaction.get_connection(self._using)
        autocommit = (
            connection.get_autocommit()
            if connection.connection is not None  # it would connect, and then wait for the lock
            else connection.settings_dict["AUTOCOMMIT"]
        )
        if not connection.in_atomic_block and not autocommit:
            msg = (
                f"atomic_lock({self._name!r}) needs autocommit, which is off for the database "
                f"{connection.alias!r}: nothing would be committed before the release"
            )
            raise RuntimeError(msg)

    def _lost(self, when: str, what: str) -> str:
        return f"the hold on {self._name!r} was lost {when}: the transaction {what}"
