"""The same locks for asyncio: calls to the server are awaited, and the owner is the task."""

from __future__ import annotations

from . import _client
from ._client import *  # noqa: F403 - a client, and all that it makes
from ._lock import Hold
from ._red_lock import RedLock

__all__ = ["Hold", "RedLock"]
__all__ += _client.__all__
