"""What a contender is: a program that follows the worker protocol, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class Absent(Exception):
    """A contender cannot be built or run here; the message says what is missing."""


@dataclass(frozen=True)
class Contender:
    name: str
    version: str
    command: tuple[str, ...]
    cases: frozenset[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    polls: bool = False  # waits by asking again and again, up to 0.25 s apart
    warmup: float = 0.3  # seconds of work before it is measured
