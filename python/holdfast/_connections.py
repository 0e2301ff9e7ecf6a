"""Connections as a server lists them: ``CLIENT LIST`` and ``CLIENT INFO``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ID_DIGITS", "OwnerClient", "client_of", "described"]

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
