"""Whether a guard can run on this machine: ``Client(guard=True)``."""

from __future__ import annotations

import os
from typing import Final

from holdfast import Client
from holdfast.integration import guard_executable, guard_obstacle

from ._finding import Finding, good, warning

__all__ = ["check_guard"]

CHECK: Final = "guard"
WITHOUT: Final = "what a killed program of this machine holds is free when its lease is over only"
#: The guard starts when the client is made; nothing is sent to the client's server.
NO_SERVER: Final = "redis://127.0.0.1:1"


def check_guard() -> Finding:
    """A guard is started, and ended."""
    obstacle = guard_obstacle()
    if obstacle:
        do = "use Linux 5.3 or newer, and let the sandbox of the program allow pidfd_open"
        return warning(CHECK, f"a guard cannot run here: {obstacle}", WITHOUT, do)
    path = guard_executable({"guard": True})
    do = "install holdfast again, where programs may be executed"
    if not os.access(path, os.X_OK):
        return warning(CHECK, f"a guard cannot run here: no executable {path}", WITHOUT, do)
    with Client(NO_SERVER, guard=True) as client:
        if not client.stats().guarded:
            return warning(CHECK, f"a guard cannot run here: {path} ends at once", WITHOUT, do)
    means = "with guard=True, what a killed program of this machine holds is free at once"
    return good(CHECK, "a guard runs here", means)
