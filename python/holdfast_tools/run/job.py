"""The job of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from holdfast.integration import KINDS as LOCKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BUSY", "KINDS", "LOST", "Job"]

#: The locks, and the semaphore with permits that expire.
KINDS: Final = (*(word.removesuffix("_lock") for word in LOCKING), "semaphore")
BUSY: Final = 75
LOST: Final = 74


@dataclass(frozen=True)
class Job:
    """A command, and the lock that it runs under. Times are seconds."""

    url: str | None
    name: bytes
    command: tuple[bytes, ...]
    kind: str = "lock"
    wait: float | None = None
    """How long to wait for the lock; None: without limit."""
    lease: float | None = None
    """The lease that is renewed; None: the client's."""
    at_least: float | None = None
    permits: int | None = None
    """Of a semaphore; None: as many as it has, 1 if it has no number yet."""
    resize: bool = False
    """Whether `permits` takes the place of another number."""
    label: str | None = None
    """What the client is."""
    purpose: str | None = None
    """What the hold is for."""
    busy_status: int = BUSY
    lost_status: int = LOST
    grace: float = 10.0
    """From SIGTERM to SIGKILL for a command whose lock was lost, or whose ``run`` was killed."""
    descendants: bool = True
    """Whether what the command leaves running counts as the command."""
    tell: Callable[[str], None] = field(default=lambda _: None)
    """Called with what happens, where the user wants to know."""
    complain: Callable[[str], None] = field(default=lambda _: None)
    """Called with what goes wrong."""
    explain: Callable[[Exception], int] = field(default=lambda _: 70)
    """Called with an error that ends the run; it is reported, and the result is the status."""
