"""The processes of the command: its process group, and what has left the group."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .descendants import Descendants

__all__ = ["Group"]


class Group:
    """Signals the command's process group `number`, and the descendants outside of it.

    `refused` is called once, if a process may not be signalled: it belongs to another user.
    """

    def __init__(
        self, number: int, descendants: Descendants | None, refused: Callable[[], None]
    ) -> None:
        self._number = number
        self._descendants = descendants
        self._refused: Callable[[], None] | None = refused
        self._gone = False

    def signal(self, number: int) -> bool:
        """Signal the process group; whether it still exists."""
        if self._gone:  # the number may be another group's by now
            return False
        try:
            os.killpg(self._number, number)
        except ProcessLookupError:
            self._gone = True
            return False
        except PermissionError:
            self._refuse()
        return True

    def signal_all(self, number: int) -> None:
        """Signal the process group, and what is found outside of it."""
        self.signal(number)
        if self._descendants is None:
            return
        for pid in self._descendants.outside(self._number):
            try:
                os.kill(pid, number)
            except PermissionError:
                self._refuse()
            except ProcessLookupError:
                continue

    def is_left(self) -> bool:
        """Whether a process of the group, or with the pipe, still exists."""
        return self.signal(0) or not (self._descendants is None or self._descendants.closed)

    def _refuse(self) -> None:
        if self._refused is not None:
            self._refused()
        self._refused = None
