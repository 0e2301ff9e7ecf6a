"""Replies of servers to the commands of ``_core.send_commands()``."""

from __future__ import annotations

from typing import Any

from ._errors import ServerError

__all__ = ["Command", "listed", "moved"]

Command = tuple[bytes, ...]


def listed(reply: Any) -> list[Any]:
    """The elements of a reply; empty if it is not a list, for example an error."""
    return reply if isinstance(reply, list) else []  # pyright: ignore[reportUnknownVariableType]


def moved(reply: object) -> bool:
    """Whether a server has said that another one answers for the key."""
    return isinstance(reply, ServerError) and reply.code in {"MOVED", "ASK", "TRYAGAIN"}
