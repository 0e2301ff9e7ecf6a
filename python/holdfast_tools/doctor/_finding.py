"""The finding of one check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from holdfast import ServerError

__all__ = ["LEVELS", "Finding", "bad", "good", "refused", "unknown", "warning"]

LEVELS: Final = ("good", "warning", "bad", "unknown")
NOTHING: Final = "nothing to do"
UNASKED: Final = "it cannot be checked with this user's rights"


@dataclass(frozen=True)
class Finding:
    """A check, its finding, what that means for locks, and what to do."""

    check: str
    #: One of ``LEVELS``.
    level: str
    found: str
    means: str
    do: str

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return asdict(self)


def good(check: str, found: str, means: str, do: str = NOTHING) -> Finding:
    return Finding(check, "good", found, means, do)


def warning(check: str, found: str, means: str, do: str) -> Finding:
    return Finding(check, "warning", found, means, do)


def bad(check: str, found: str, means: str, do: str) -> Finding:
    return Finding(check, "bad", found, means, do)


def unknown(check: str, found: str, do: str, means: str = UNASKED) -> Finding:
    return Finding(check, "unknown", found, means, do)


def refused(check: str, reply: object, command: str) -> Finding:
    """The server did not answer a query."""
    word = reply.code if isinstance(reply, ServerError) else "an unexpected reply"
    return unknown(
        check,
        f"{command} is refused ({word})",
        f"use a user that may run {command}, or ask the server's administrator",
    )
