"""Questions on the terminal before something is changed by force."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.prompt import Confirm
from rich.text import Text

from ._errors import complain
from ._text import console

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["agreed"]


def agreed(stays: str, stake: Iterable[str], question: str) -> bool:
    """Show what is at stake, and ask; without a terminal the answer is no.

    ``stays``: what is not changed then, for the message, such as "'x' stays locked".
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain(f"{stays}: there is no terminal for the question; use --yes")
        return False
    terminal = console()
    for line in stake:
        terminal.print(Text(line))
    try:
        answer = Confirm.ask(Text(question), console=terminal, default=False)
    except EOFError:
        answer = False
    if not answer:
        complain(stays)
    return answer
