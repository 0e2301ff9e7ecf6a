"""The holdfast clients that belong to clients of redis-py."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import holdfast
import holdfast.asyncio

if TYPE_CHECKING:
    from holdfast.integration import BaseClient

__all__ = ["async_client_of", "client_of"]

ClientT = TypeVar("ClientT", bound="BaseClient")


class _Clients(Generic[ClientT]):
    """The holdfast clients that belong to those of redis-py, as long as these live."""

    def __init__(self, make: type[ClientT]) -> None:
        self._make = make
        self._known: WeakKeyDictionary[Any, ClientT] = WeakKeyDictionary()
        self._making = threading.Lock()

    def of(self, redis: Any, options: dict[str, Any]) -> ClientT:
        """One client for each connection pool, or cluster."""
        source = getattr(redis, "connection_pool", redis)
        with self._making:
            client = self._known.get(source)
            if client is None:
                client = self._known[source] = self._make.from_redis(source, **options)
            elif options:
                msg = "options come too late: the locks of this client have been used already"
                raise ValueError(msg)
        return client


_clients = _Clients(holdfast.Client)
_async_clients = _Clients(holdfast.asyncio.Client)


def client_of(redis: Any, **options: Any) -> holdfast.Client:
    """The client that the locks of a ``redis.Redis`` use, for locks of other kinds too.

    ``options`` (those of ``holdfast.Client``) may be given by the first call for this client,
    before its first lock is made; later they raise ``ValueError``.
    """
    return _clients.of(redis, options)


def async_client_of(redis: Any, **options: Any) -> holdfast.asyncio.Client:
    """The same for a ``redis.asyncio.Redis``."""
    return _async_clients.of(redis, options)
