"""The same locks for trio: calls to the server are awaited, and the owner is the task.

Needs the extra ``holdfast-locks[trio]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import asyncio as _same
from holdfast._clients import tasks as _clients
from holdfast._engine import trio_run as _trio
from holdfast._engine.arguments import Self
from holdfast._locks import trio_blocks as _blocks

if TYPE_CHECKING:
    from holdfast.asyncio import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

__all__: list[str] = []
__all__ += _same.__all__

_blocks.protect()


class Client(_clients.Client):
    """A client of one deployment for any number of runs of trio; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """

    _loops = _trio
    _native = False
    _package = "holdfast.trio"

    async def __aenter__(self) -> Self:
        await _trio.checkpoint()
        return self


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(_same, name)
