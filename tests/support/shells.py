"""The shells that complete the command line; each is a system's package of its name."""

from __future__ import annotations

import shutil

SHELLS = ("bash", "zsh", "fish")


def absent_shells() -> list[str]:
    """Those that are not installed here."""
    return [shell for shell in SHELLS if shutil.which(shell) is None]


def report() -> str:
    """A line for the head of a run."""
    absent = absent_shells()
    line = f"shells: {', '.join(shell for shell in SHELLS if shell not in absent) or 'none'}"
    if absent:
        packages = ", ".join(f"{shell} (install the system's package {shell})" for shell in absent)
        line += f"; not installed, so not tested: {packages}"
    return line
