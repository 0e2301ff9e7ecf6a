"""The command line for operators: extra ``[cli]``.

``COMMANDS`` lists the commands; each is a module with a click command, imported when it is used. A
command returns its exit status (``None``: 0), and raises errors: ``main()`` prints them as one line
on stderr. Errors of the library have the statuses of ``_errors.py``.
"""

from __future__ import annotations

from ._group import COMMANDS, holdfast
from ._main import main

__all__ = ["COMMANDS", "holdfast", "main"]
