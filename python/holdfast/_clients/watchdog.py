"""The threads that renew the holds of all clients of a process."""

from __future__ import annotations

from holdfast import _core

MOST_WATCHDOG_THREADS = 64


def set_watchdog_threads(count: int) -> None:
    """Set how many threads renew the holds of all clients of this process; the default is 2.

    It applies to clients made from now on; a thread is started with the first hold it renews.
    """
    if isinstance(count, bool) or not isinstance(count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        msg = f"count must be int, not {type(count).__name__}"
        raise TypeError(msg)
    if not 1 <= count <= MOST_WATCHDOG_THREADS:
        msg = f"count must be from 1 to {MOST_WATCHDOG_THREADS}, not {count}"
        raise ValueError(msg)
    _core.set_watchdog_threads(count)
