"""Locks in a Django project; needs the extra ``holdfast-locks[django]``.

::

    INSTALLED_APPS = [..., "holdfast.contrib.django"]
    HOLDFAST_URL = "redis://127.0.0.1:6379"
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.db import transaction

from holdfast import Client, LockLostError
from holdfast.integration import checked_function, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from holdfast import Lock
    from holdfast.integration import Seconds

__all__ = ["atomic_lock", "get_client", "locked"]

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


def locked(template: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function, such as a view: each call holds a lock named by its arguments.

    As ``client.locked`` of ``get_client()``: ``@locked("report:{user.id}", busy="skip")``, with its
    arguments and errors; also raises ``ImproperlyConfigured``, at decoration.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        first = get_client()
        bound = (first, first.locked(template, **options)(function))

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal bound
            client, decorated = bound
            if client is not (now := get_client()):  # the setting has changed
                decorated = now.locked(template, **options)(function)
                bound = (now, decorated)
            return decorated(*args, **kwargs)

        return call

    return decorate


def atomic_lock(
    name: str,
    *,
    using: str | None = None,
    wait: Seconds | None = None,
    lease: Seconds | None = None,
    on_lost: Callable[[Lock], object] | None = None,
) -> _AtomicLock:
    """Hold a lock around a transaction.

    ``with atomic_lock("stock:7") as lock:`` acquires, begins ``transaction.atomic(durable=True)``
    on the database ``using``, and releases after its commit or rollback: the next owner sees what
    this one has committed. If the hold was lost before the end, the body is rolled back with
    ``LockLostError``; if it was lost after that, the error says that the transaction was committed.
    May also decorate a function (``TypeError`` for a coroutine function).

    Raises ``LockTimeout`` when the lock stays busy for ``wait`` seconds; ``RuntimeError`` at once
    inside another transaction, or without autocommit: they would commit after the release.
    """
    return _AtomicLock(name, using, {"wait": wait, "lease": lease, "on_lost": on_lost})


class _AtomicLock:
    """What ``atomic_lock`` returns: a context manager, and a decorator."""

    _around: AbstractContextManager[Lock]

    def __init__(self, name: str, using: str | None, options: dict[str, Any]) -> None:
        self._name = name
        self._using = using
        self._options = options

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        checked_function(function, asynchronous=False)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._transaction():
                return finished(function(*args, **kwargs), function)

        return call

    def __enter__(self) -> Lock:
        self._around = self._transaction()
        return self._around.__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._around.__exit__(exc_type, exc_value, traceback)

    @contextmanager
    def _transaction(self) -> Iterator[Lock]:
        self._refuse_another_transaction()
        lock = get_client().lock(self._name, **self._options)
        committed = False
        block: Any = transaction.atomic(using=self._using, durable=True)  # or a decorator
        try:
            with lock:
                with block:
                    yield lock
                    if lock.lost:
                        raise LockLostError(self._lost("before the commit", "is rolled back"))
                committed = True
        except LockLostError as error:
            if not committed:
                raise
            raise LockLostError(self._lost("after the commit", "was committed")) from error

    def _refuse_another_transaction(self) -> None:
        connection = transaction.get_connection(self._using)
        blocks = connection.atomic_blocks
        # Those of a TestCase do not count, as for transaction.atomic(durable=True).
        if blocks and not getattr(blocks[-1], "_from_testcase", False):
            msg = (
                f"atomic_lock({self._name!r}) cannot be used inside a transaction, which would "
                "commit after the release: use it around the transaction"
            )
            raise RuntimeError(msg)
        if not blocks and not connection.get_autocommit():
            msg = (
                f"atomic_lock({self._name!r}) needs autocommit, which is off for the database "
                f"{connection.alias!r}: nothing would be committed before the release"
            )
            raise RuntimeError(msg)

    def _lost(self, when: str, what: str) -> str:
        return f"the hold on {self._name!r} was lost {when}: the transaction {what}"
