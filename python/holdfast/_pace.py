"""How much of a server the scans take."""

from __future__ import annotations

import time
from typing import Final

__all__ = ["Pace"]

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
