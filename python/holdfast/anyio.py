"""The same locks for programs of anyio: on asyncio and on trio, whichever runs.

Needs the extra ``holdfast-locks[trio]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sniffio

from holdfast import asyncio as _same
from holdfast._clients import tasks as _clients
from holdfast._engine import loop as _asyncio
from holdfast._engine.arguments import Self

if TYPE_CHECKING:
    from holdfast._engine.process import Loops
    from holdfast.asyncio import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

__all__: list[str] = []
__all__ += _same.__all__


class _Chosen:
    """The library of the loop that runs when it is asked for first; the client keeps it."""

    def __get__(self, client: Client, _: object = None) -> Loops:
        try:
            name = sniffio.current_async_library()
        except sniffio.AsyncLibraryNotFoundError:
            return _asyncio  # whose calls raise that no loop runs
        found: Loops = _asyncio
        if name == "trio":
            from holdfast._engine import trio_run as found
            from holdfast._locks.trio_blocks import protect

            protect()
        elif name != "asyncio":
            msg = f"holdfast works in tasks of asyncio and of trio, and this is a task of {name}"
            raise RuntimeError(msg)
        loops: Loops = client.__dict__.setdefault("_loops", found)
        client._native = loops is _asyncio
        return loops


class Client(_clients.Client):
    """A client of one deployment for loops of asyncio, or runs of trio, by its first use.

    Arguments as those of ``holdfast.Client``. Within a loop of the other library it raises
    ``RuntimeError``, which names the client for that.
    """

    _loops = _Chosen()  # pyright: ignore[reportAssignmentType]
    _native = False
    _package = "holdfast.anyio"

    async def __aenter__(self) -> Self:
        # Before a lock is made: its calls for asyncio are native then.
        await self._loops.checkpoint()
        return await super().__aenter__()


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(_same, name)
