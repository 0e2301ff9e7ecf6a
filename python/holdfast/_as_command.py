"""``python -m holdfast`` begins with the import of this package; SIGINT just ends it until then."""

from __future__ import annotations

import sys

__all__: list[str] = []

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] == "holdfast":
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
