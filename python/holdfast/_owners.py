"""The numbers of owners, as the engine and the locks for threads take them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_OWNER", "THIS_THREAD", "caller"]

#: To the engine: the calling thread.
THIS_THREAD = 0
#: To the engine: no owner.
NO_OWNER = 2**64 - 1

#: The number of the calling thread, or, once ``_greenlets`` has set it, greenlet. Another may have
#: it later, so that locks do not keep a watcher for each that has ended.
caller: Callable[[], int] = threading.get_ident
