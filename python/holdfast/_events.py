"""Losses and other events of holds, reported to the log and to ``on_lost``.

The engine's threads never touch the interpreter. They put events into a queue, from which one
daemon thread of Python takes them; it is started with an acquisition, or with a semaphore or latch,
and ends with the last client of the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from contextvars import ContextVar
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

from . import _core
from ._names import quoted

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger
    from typing import Any

    from ._red_lock import BaseRedLock

__all__ = [
    "Listener",
    "Loss",
    "current_loss",
    "join",
    "logger",
    "loss_of",
    "note",
    "red_locks",
    "running",
    "start",
    "stop",
]

_numbers = count(1)
_listeners: WeakValueDictionary[int, Listener] = WeakValueDictionary()
#: The latest; ``None`` where gevent has replaced ``threading``.
_thread: threading.Thread | None = None
#: A signal handler inside start() may call it, too.
_starting = threading.RLock()

#: How the reason begins where the server has said that the hold is gone.
GONE = "the server no longer ha"
#: Seconds between two queries for the record of a forced release.
FORCED_INTERVAL = 0.05
_forced_queried = -FORCED_INTERVAL

#: Those of this process: the loss of a member is logged as that, not as the loss of a lock.
red_locks: WeakSet[BaseRedLock] = WeakSet()

#: Who observes the locks of this process, see holdfast.contrib.opentelemetry.
observer: _core._Observer | None = None


def logger() -> Logger:
    """The library's logger.

    Without a handler it writes errors and warnings to stderr, as ``logging`` does for all loggers.
    ``logging`` is slow to import, so it is imported with the first record.
    """
    import logging

    return logging.getLogger("holdfast")


def note(error: BaseException, text: str) -> None:
    """Add a note to an error that is being raised, and log it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        vars(error).setdefault("__notes__", []).append(text)
    logger().error("%s", text)


class Event:
    """An event, as the engine has it."""

    __slots__ = ("client", "name", "numbers", "owner", "reason", "server", "token", "word")

    word: str
    name: bytes
    owner: int
    #: The numbers of the listeners.
    numbers: list[int]
    reason: str
    token: int | None
    #: The client's id.
    client: str
    #: The address of the server that answered a command sent again; else empty.
    server: str

    def __init__(self, *parts: Any) -> None:
        (
            self.word,
            self.name,
            self.owner,
            self.numbers,
            self.reason,
            self.token,
            self.client,
            self.server,
        ) = parts

    def __repr__(self) -> str:
        return repr(tuple(getattr(self, part) for part in self.__annotations__))


class Loss:
    """A hold that is gone, as its callback sees it."""

    __slots__ = ("owner", "reason", "subject", "token")

    def __init__(self, subject: object, owner: int, token: int | None, reason: str) -> None:
        self.subject = subject  # the lock
        self.owner = owner
        self.token = token
        self.reason = reason


#: The loss for which ``on_lost`` is being called.
current_loss: ContextVar[Loss | None] = ContextVar("holdfast_current_loss", default=None)


def loss_of(subject: object) -> Loss | None:
    """The loss of a lock, inside ``on_lost`` of that lock; else ``None``."""
    loss = current_loss.get()
    return loss if loss is not None and loss.subject is subject else None


class Listener:
    """Receives the loss of a hold, on the events' thread, from ``listen()`` on.

    Until then its client keeps it: a client that is collected takes its listeners with it. Store
    it before ``listen()``, so that an interrupt in between leaves none that cannot be forgotten.
    """

    __slots__ = ("__weakref__", "_kept_in", "lost_late", "lost_owner", "lost_token", "number")

    #: Of many holds, until its client is collected; else of one, once.
    lasting = False

    #: Its number in the engine.
    number: int
    #: Of the hold that was lost, before ``_hold_lost`` is called.
    lost_owner: int
    lost_token: int | None
    #: Found out after a deferred release of it.
    lost_late: bool

    def __init__(self, keep: dict[int, Listener]) -> None:
        self.number = next(_numbers)
        self._kept_in = keep

    def listen(self) -> None:
        _listeners[self.number] = self
        self._kept_in[self.number] = self  # last: no interrupt comes between this and the return

    def forget(self) -> None:
        _listeners.pop(self.number, None)
        self._kept_in.pop(self.number, None)

    def receive(self, event: Event) -> None:
        """Of a hold that has ended."""
        if not self.lasting:
            self.forget()
        self.lost_owner, self.lost_token = event.owner, event.token
        self.lost_late = event.word == "lost_late"

    def _hold_lost(self, reason: str) -> None:
        raise NotImplementedError


def start() -> None:
    """Start the thread unless it is running."""
    with _starting:
        if running():
            return
        try:
            run = _core.begin_events()  # ends one that a signal handler has begun meanwhile
            _start_thread(partial(_run, run))
        except BaseException as error:
            _core.stop_events()
            if isinstance(error, RuntimeError):  # the interpreter's, for a refused thread
                raise _core.thread_refused() from error
            raise


def _start_thread(body: Callable[[], object]) -> None:
    global _thread  # noqa: PLW0603
    if _gevent_patched():
        from . import _greenlets

        _greenlets.start_native_thread(body)
        _thread = None
    else:
        _thread = threading.Thread(target=body, name="holdfast-events", daemon=True)
        _thread.start()


def _gevent_patched() -> bool:
    """Whether ``threading`` may have greenlets in place of threads."""
    if "gevent.monkey" not in sys.modules:
        return False
    from . import _greenlets

    return _greenlets.install()


running = _core.events_running


def stop() -> None:
    """End the thread before the interpreter ends: a thread that returned later would crash."""
    _core.stop_events()
    join(1.0)


def join(timeout: float) -> None:
    """Wait for the thread's end, if it is ending and is not the calling one."""
    thread = _thread
    if thread is None or running() or thread is threading.current_thread():
        return
    with contextlib.suppress(RuntimeError):  # its start was interrupted: it ends at once
        thread.join(timeout)
        if not thread.is_alive() and thread.native_id is not None:
            _core.await_exit(thread.native_id)


def _run(run: int) -> None:
    while (event := _core.next_event(run)) is not None:
        try:
            _deliver(Event(*event))
        except BaseException:  # also SystemExit, which would end all reports
            log = logger()
            log.exception("reporting the event %r failed", event)


def _deliver(event: Event) -> None:
    """Report an event here, or for a greenlet in a greenlet of its hub."""
    run = None
    if _gevent_patched():
        from . import _greenlets

        run = _greenlets.runner_of(event.owner)
    if run is None:
        _report(event)
    else:
        run(_report, event)


def _report(event: Event) -> None:
    if observer is not None:
        _notify(observer, event)
    word, reason = event.word, event.reason
    listeners = [each for each in map(_listeners.get, event.numbers) if each is not None]
    for listener in listeners:
        listener.receive(event)
    if word == "released":
        return
    if word == "resolved":
        logger().info(
            "%s: resolved after a lost reply, server %s", quoted(event.name), event.server
        )
        return
    _log_event(event)
    if word in {"lost", "lost_late"}:
        for listener in listeners:
            listener._hold_lost(reason)
        if reason.startswith(GONE):
            _log_forced(event)


def _notify(to: _core._Observer, event: Event) -> None:
    try:
        if event.word == "lost":
            to.lost(event.name, event.client, event.owner, event.reason)
        elif event.word == "abandoned":
            to.released(event.name, event.client, event.owner)
    except Exception:
        log = logger()
        log.exception("observing that %s was %s failed", quoted(event.name), event.word)


def _log_forced(event: Event) -> None:
    """Log who has released a lost hold by force, if the server has a record of it.

    Not more often than once per ``FORCED_INTERVAL``: after the loss of many holds at once, as by
    ``FLUSHALL``, the other losses do not wait for the answers.
    """
    global _forced_queried  # noqa: PLW0603
    if monotonic() < _forced_queried + FORCED_INTERVAL:
        return
    from ._base_client import all_clients
    from ._errors import HoldfastError
    from .inspect._forced import log_forced

    for client in all_clients():
        if client.id == event.client:
            with contextlib.suppress(HoldfastError):
                log_forced(client._core, event.name, event.owner)
            break
    _forced_queried = monotonic()


def _log_event(event: Event) -> None:
    if event.word == "lost" and _log_member(event):
        return
    _log(event.word, quoted(event.name), event.owner, event.reason)


def _log_member(event: Event) -> bool:
    """Log the loss of a hold that is a member of a red lock's; ``False``: it is none."""
    for whole in list(red_locks):
        member = whole._member_of(event.client, event.name)
        if member is None:
            continue
        core, owner = whole._core, event.owner
        where = f"its member on {member._client._url}: {event.reason}"
        if core.known_lost(owner):
            text = "the hold on the red lock %s (owner %d) was lost with %s"
            logger().error(text, quoted(whole.name), owner, where)
            return True
        if core.known_count(owner):
            text = "the red lock %s (owner %d) is held by its majority, but lost %s"
            logger().warning(text, quoted(whole.name), owner, where)
            return True
    return False


def _log(word: str, name: str, owner: int, reason: str) -> None:
    log = logger()
    if word == "overlong":
        log.warning("owner %d waits for %s, which %s", owner, name, reason)
    elif word == "abandoned":
        log.warning(
            "the %s that held %s (owner %d) has ended without releasing it; "
            "it is no longer renewed and expires with its lease",
            reason,
            name,
            owner,
        )
    elif word == "protocol_error":
        log.error(
            "%s: ended that connection, and sent what it had not answered again on a new one; "
            "a proxy or a server that does so now and then is broken",
            reason,
        )
    elif word == "unguarded":
        from ._guard import warn_once

        warn_once(reason)
    elif word == "not_renewed":
        log.warning(
            "the client has no newer credentials: %s; its connections keep the older ones, and it "
            "tries again soon",
            reason,
        )
    elif word == "unreleased":
        log.error("a deferred release of %s (owner %d) failed: %s", name, owner, reason)
    else:
        found = ", as its deferred release has found" if word == "lost_late" else ""
        log.error("the hold on %s (owner %d) was lost%s: %s", name, owner, found, reason)


def _after_fork_in_child() -> None:
    global _thread, _starting  # noqa: PLW0603
    _thread = None
    _starting = threading.RLock()
    for number in [number for number, each in _listeners.items() if not each.lasting]:
        _listeners.pop(number, None)


os.register_at_fork(after_in_child=_after_fork_in_child)
