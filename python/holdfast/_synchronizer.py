"""The common part of the synchronizers without owners, for threads and for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import Name, checked_name

if TYPE_CHECKING:
    from ._client import BaseClient

__all__ = ["Synchronizer"]


class Synchronizer(_core.Native):
    """An object of a client, under one name; its state is on the server."""

    __slots__ = ("__weakref__", "_client", "_name", "name")

    #: The name, as it was given.
    name: Name

    def __init__(self, client: BaseClient[Any], name: Name) -> None:
        self._client = client
        self._name = checked_name("name", name)
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __reduce__(self) -> Any:
        msg = (
            f"a {type(self).__name__} cannot be pickled or copied: "
            "make one of the same name from a client of the other process"
        )
        raise TypeError(msg)
