"""The same locks for asyncio: calls to the server are awaited, and the owner is the task."""

from __future__ import annotations

from holdfast._clients import tasks as _client
from holdfast._clients.tasks import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from holdfast._locks.task_lock import Hold
from holdfast._locks.tasks import RedLock

__all__: list[str] = []
__all__ += _client.__all__
__all__ += ["Hold", "RedLock"]
