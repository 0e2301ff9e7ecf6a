"""Locks in a Django project; needs the extra ``holdfast[django]``.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast import Lock
    from holdfast._arguments import Seconds

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


@contextmanager
def atomic_lock(
    name: str,
    *,
    using: str | None = None,
    wait: Seconds | None = None,
    lease: Seconds | None = None,
    on_lost: Callable[[Lock], object] | None = None,
) -> Iterator[Lock]:
    """Hold a lock around a transaction.

    ``with atomic_lock("stock:7") as lock:`` acquires, begins ``transaction.atomic(durable=True)``
    on the database ``using``, and releases after its commit or rollback: the next owner sees what
    this one has committed. If the hold was lost before the end, the body is rolled back with
    ``LockLostError``. May also decorate a function.

    Raises ``LockTimeout`` when the lock stays busy for ``wait`` seconds, ``RuntimeError`` inside
    another transaction, which would commit after the release.
    """
    lock = get_client().lock(name, wait=wait, lease=lease, on_lost=on_lost)
    with lock, transaction.atomic(using=using, durable=True):
        yield lock
        if lock.lost:
            msg = f"the hold on {name!r} was lost before the commit: the transaction is rolled back"
            raise LockLostError(msg)
