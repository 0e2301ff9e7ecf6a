"""Losses and other events of holds, reported to the log and to ``on_lost``.

The engine's threads never touch the interpreter. They put events into a queue, from which one
daemon thread of Python takes them; it is started with the first acquisition of the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from . import _core

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["Listener", "logger", "note", "running", "start", "stop"]

_numbers = count(1)
_listeners: WeakValueDictionary[int, Listener] = WeakValueDictionary()
_thread: threading.Thread | None = None
_starting = threading.Lock()

#: Who observes the locks of this process, see holdfast.contrib.opentelemetry.
observer: _core.Observer | None = None


def logger() -> Logger:
    """The library's logger, silent unless the program asks for it.

    ``logging`` is slow to import, so it is imported with the first record.
    """
    import logging

    log = logging.getLogger("holdfast")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    return log


if "logging" in sys.modules:
    logger()


def note(error: BaseException, text: str) -> None:
    """Add a note to an error that is being raised, and log it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        vars(error).setdefault("__notes__", []).append(text)
    logger().error("%s", text)


class Listener:
    """Receives the loss of a hold, once and on the events' thread.

    Until then its client keeps it: a client that is collected takes its listeners with it.
    """

    __slots__ = ("__weakref__", "_kept_in", "number")

    #: Its number in the engine.
    number: int

    def __init__(self, keep: dict[int, Listener]) -> None:
        self.number = next(_numbers)
        self._kept_in = keep
        self.listen()

    def listen(self) -> None:
        self._kept_in[self.number] = self
        _listeners[self.number] = self

    def forget(self) -> None:
        _listeners.pop(self.number, None)
        self._kept_in.pop(self.number, None)

    def _hold_lost(self, reason: str) -> None:
        raise NotImplementedError


def start() -> None:
    """Start the thread unless it is running."""
    global _thread  # noqa: PLW0603
    with _starting:
        if _thread is None:
            thread = threading.Thread(target=_run, name="holdfast-events", daemon=True)
            thread.start()
            _thread = thread
            _core.set_events_running(True)


def running() -> bool:
    return _thread is not None


def stop() -> None:
    """End the thread before the interpreter ends: a thread that returned later would crash."""
    if _thread is not None:
        _core.stop_events()
        with contextlib.suppress(RuntimeError):  # its start was interrupted: it ends at once
            _thread.join(timeout=1.0)


def _run() -> None:
    while (event := _core.next_event()) is not None:
        try:
            _tell(*event)
        except BaseException:  # also SystemExit, which would end all reports
            log = logger()
            log.exception("reporting the event %r failed", event)


def _tell(word: str, name: bytes, owner: int, numbers: list[int], reason: str) -> None:
    if observer is not None:
        _tell_observer(observer, word, name, owner, reason)
    listeners = [each for each in map(_listeners.get, numbers) if each is not None]
    for listener in listeners:
        listener.forget()
    _log(word, name.decode(errors="backslashreplace"), owner, reason)
    if word == "lost":
        for listener in listeners:
            listener._hold_lost(reason)


def _tell_observer(told: _core.Observer, word: str, name: bytes, owner: int, reason: str) -> None:
    try:
        if word == "lost":
            told.lost(name, owner, reason)
        elif word == "abandoned":
            told.released(name, owner)
    except Exception:
        log = logger()
        log.exception("observing that %r was %s failed", name, word)


def _log(word: str, name: str, owner: int, reason: str) -> None:
    log = logger()
    if word == "overlong":
        log.warning("owner %d waits for %r, which %s", owner, name, reason)
    elif word == "abandoned":
        log.warning(
            "the thread, task or Hold that held %r (owner %d) has ended without releasing it; "
            "it is no longer renewed and expires with its lease",
            name,
            owner,
        )
    else:
        log.error("the hold on %r (owner %d) was lost: %s", name, owner, reason)


def _after_fork_in_child() -> None:
    global _thread, _starting  # noqa: PLW0603
    _thread = None
    _starting = threading.Lock()
    _listeners.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
