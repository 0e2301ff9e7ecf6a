"""Queries beside the locks: connections that servers list, replies, and a pace."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

from holdfast._engine.errors import ServerError

__all__ = [
    "ID_DIGITS",
    "Command",
    "OwnerClient",
    "Pace",
    "client_of",
    "described",
    "listed",
    "moved",
]

#: The length of the part of a client's id that ends the names of its connections.
ID_DIGITS: Final = 8
#: The name of a connection of holdfast.
NAME: Final = re.compile(
    rf"(?P<label>.+):(?P<process>[^:]*:\d+):(?P<digits>[0-9a-f]{{{ID_DIGITS}}})"
)


@dataclass(frozen=True)
class OwnerClient:
    """The client of an owner, as the server's list of connections has it."""

    #: Host and port.
    address: str
    #: The connection's name.
    name: str
    #: Library and version, where the client says it.
    library: str | None

    @property
    def label(self) -> str | None:
        """Its ``client_name``, by default ``holdfast``; ``None`` for a name of another library."""
        return self._part("label")

    @property
    def process(self) -> str | None:
        """Host and process of the program, ``host:pid``; ``None`` for a name of another library."""
        return self._part("process")

    @property
    def id_digits(self) -> str | None:
        """How the client's id begins; ``None`` for a name of another library."""
        return self._part("digits")

    def _part(self, part: str) -> str | None:
        match = NAME.fullmatch(self.name)
        return None if match is None else match[part]

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return {"address": self.address, "name": self.name, "library": self.library}


def described(line: bytes) -> dict[str, str]:
    """The fields of a line that describes a connection."""
    words = (word.partition("=") for word in line.decode(errors="backslashreplace").split(" "))
    return {field: value.strip() for field, _, value in words}


def client_of(fields: dict[str, str]) -> OwnerClient:
    """The client of a connection with these fields."""
    library = f"{fields.get('lib-name', '')} {fields.get('lib-ver', '')}".strip()
    return OwnerClient(fields.get("addr", ""), fields.get("name", ""), library or None)


Command = tuple[bytes, ...]


def listed(reply: Any) -> list[Any]:
    """The elements of a reply; empty if it is not a list, for example an error."""
    return reply if isinstance(reply, list) else []  # pyright: ignore[reportUnknownVariableType]


def moved(reply: object) -> bool:
    """Whether a server has said that another one answers for the key."""
    return isinstance(reply, ServerError) and reply.code in {"MOVED", "ASK", "TRYAGAIN"}


#: Of a core of the server.
SHARE: Final = 0.05
#: Seconds of the server's time that are spent without a pause: a second's share.
BURST: Final = SHARE
#: Seconds. A step that took longer than the share of it was held up by something else.
LONGEST: Final = 1.0


class Pace:
    """Pauses between steps, so that they take the server at most ``SHARE`` of its time.

    What was not spent for a while is not kept, except for ``BURST``; no pause exceeds ``LONGEST``.
    """

    def __init__(self) -> None:
        self._spent = 0.0
        self._at = time.monotonic()

    def spend(self, seconds: float) -> float:
        """Note what a step took of the server's time; the seconds to pause before the next one."""
        now = time.monotonic()
        spent = max(0.0, self._spent - (now - self._at) * SHARE) + seconds
        self._spent = min(spent, BURST + LONGEST * SHARE)
        self._at = now
        return max(0.0, (self._spent - BURST) / SHARE)
