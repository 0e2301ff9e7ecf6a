"""The same locks for asyncio: calls to the server are awaited, and the owner is the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._clients import tasks as _client
from holdfast._clients.tasks import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from holdfast._locks.task_lock import Hold
from holdfast._locks.tasks import RedLock

if TYPE_CHECKING:
    from holdfast._locks.task_barrier import Barrier
    from holdfast._locks.task_leader import Leader
    from holdfast._locks.task_once import Once
    from holdfast._locks.task_slots import Slot, Slots

#: The modules that are imported on first use, to keep the import of the package fast.
_LATE = {
    "Barrier": "holdfast._locks.task_barrier",
    "Leader": "holdfast._locks.task_leader",
    "Once": "holdfast._locks.task_once",
    "Slot": "holdfast._locks.task_slots",
    "Slots": "holdfast._locks.task_slots",
}

__all__: list[str] = []
__all__ += _client.__all__
__all__ += ["Barrier", "Hold", "Leader", "Once", "RedLock", "Slot", "Slots"]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    return getattr(importlib.import_module(_LATE[name]), name)
