"""Whether a client has a guard: the process that releases what a dead program held."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast import _core
from holdfast._engine import log as _log

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["executable", "guard_by_default", "warn_once"]

VARIABLE = "HOLDFAST_GUARD"
WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}

_by_default = False
_warned = False


def guard_by_default() -> None:
    """Give the clients of this process guards, where they can have one and nothing else is said."""
    global _by_default  # noqa: PLW0603
    _by_default = True


def executable(options: Mapping[str, object]) -> str:
    """The path of the guard's executable; empty: the client has no guard.

    ``options``: of the client's URL and keywords. Raises ``RuntimeError`` if they ask for a guard
    that this system cannot run, and warns once if the environment asks for it.
    """
    wanted = options.get("guard")
    if not (_from_environment() if wanted is None else wanted):
        return ""
    obstacle = _core.guard_obstacle()
    if not obstacle:
        return os.path.join(os.path.dirname(_core.__file__), "holdfast-guard")  # noqa: PTH118, PTH120
    if wanted:
        msg = f"guard=True cannot work on this system: {obstacle}"
        raise RuntimeError(msg)
    warn_once(obstacle)
    return ""


def _from_environment() -> bool:
    text = os.environ.get(VARIABLE)
    if text is None:
        return _by_default
    if text.lower() not in WORDS:
        msg = f"{VARIABLE} must be 1 or 0, not {text!r}"
        raise ValueError(msg)
    return WORDS[text.lower()]


def warn_once(reason: str) -> None:
    """Log that clients of this process have no guard."""
    global _warned  # noqa: PLW0603
    if _warned:
        return
    _warned = True
    _log.warning(
        "%s: if this program dies, what it holds expires with its lease; "
        "the clients go on without a guard",
        reason,
    )
