"""What happens to holds behind their owners' backs, told to logs and to whoever asked.

The engine's threads never touch the interpreter. What they have to tell waits in a queue, from
which one daemon thread of Python takes it; it is started with the first acquisition of the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING, Protocol

from . import _core

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["Listener", "forget", "listen", "logger", "note", "start", "stop"]


class Listener(Protocol):
    """Somebody who is told, on the events' thread, that a hold was lost."""

    def _hold_lost(self, reason: str) -> None: ...


_numbers = count(1)
_listeners: dict[int, Listener] = {}
_thread: threading.Thread | None = None
_starting = threading.Lock()


def logger() -> Logger:
    """The library's logger, silent unless the program asks for it.

    ``logging`` is slow to import: that is done only when there is something to say.
    """
    import logging

    log = logging.getLogger("holdfast")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    return log


if "logging" in sys.modules:
    logger()


def note(error: BaseException, text: str) -> None:
    """Add a note to an error that goes on its way, and log it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        vars(error).setdefault("__notes__", []).append(text)
    logger().error("%s", text)


def listen(listener: Listener, number: int = 0) -> int:
    """Keep `listener` until it is told or forgotten; the number by which the engine knows it."""
    number = number or next(_numbers)
    _listeners[number] = listener
    return number


def forget(number: int) -> None:
    _listeners.pop(number, None)


def start() -> None:
    """Start the thread unless it runs."""
    global _thread  # noqa: PLW0603
    with _starting:
        if _thread is None:
            _thread = threading.Thread(target=_run, name="holdfast-events", daemon=True)
            _thread.start()


def running() -> bool:
    return _thread is not None


def stop() -> None:
    """End the thread, at the interpreter's end: a thread that comes back later would crash."""
    if _thread is not None:
        _core.stop_events()
        with contextlib.suppress(RuntimeError):  # interrupted before it had begun: it ends at once
            _thread.join(timeout=1.0)


def _run() -> None:
    while (event := _core.next_event()) is not None:
        word, name, owner, number, reason = event
        _tell(word, name.decode(errors="backslashreplace"), owner, number, reason)


def _tell(word: str, name: str, owner: int, number: int, reason: str) -> None:
    listener = _listeners.pop(number, None)
    log = logger()
    if word == "overlong":
        log.warning("%r, for which owner %d waits, %s", name, owner, reason)
        return
    if word == "abandoned":
        log.warning(
            "the thread or task that held %r (owner %d) has ended without releasing it; "
            "it is no longer renewed and expires with its lease",
            name,
            owner,
        )
        return
    log.error("the hold on %r (owner %d) was lost: %s", name, owner, reason)
    if listener is None:
        return
    try:
        listener._hold_lost(reason)
    except Exception:
        log.exception("on_lost of %r raised", name)


def _after_fork_in_child() -> None:
    global _thread, _starting  # noqa: PLW0603
    _thread = None
    _starting = threading.Lock()
    _listeners.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
