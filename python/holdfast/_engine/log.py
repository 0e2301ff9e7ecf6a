"""The library's log: a handler that blocks delays no loss, and a caller by ``TIMEOUT`` only.

One thread gives the records to the handlers; in a program that gevent has patched the caller does,
a greenlet. A record belongs to its caller nevertheless: its thread, its context variables, its
place in the code.
"""

from __future__ import annotations

import os
import sys
import time
from _queue import Empty, SimpleQueue
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast._engine.errors import shown
from holdfast._engine.workers import Worker, gevent_patched

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger, LogRecord

    from holdfast._engine.arguments import Name

#: Seconds for which a caller waits until its record has been handled.
TIMEOUT = 0.1
#: That wait for the handlers; further ones are dropped, and counted.
MOST_RECORDS = 10_000
#: The levels of ``logging``, which is slow to import.
INFO, WARNING, ERROR = 20, 30, 40

#: Whether ``unguarded`` has logged.
_warned = False
#: A caller's time was over before its record was handled, and none has been handled since.
_blocked = False
#: When the event happened of which the worker's thread writes.
_event_time: float | None = None


class About:
    """What a record is about: its ``extra`` fields, whose names begin with ``holdfast_``.

    What is not known is empty: the record has no such field.
    """

    __slots__ = ("caller", "cause", "event", "kind", "label", "name", "owner", "server")

    def __init__(self, event: str, name: Name | None = None, kind: str = "") -> None:
        #: A fixed word for each row of the log's table.
        self.event = event
        self.name = None if name is None else shown(name)
        #: Of lock, as observers have it.
        self.kind = kind
        #: ``<client id>:<number>``.
        self.owner = ""
        #: The name of the owner's thread or task.
        self.caller = ""
        #: The client's.
        self.label: str | None = None
        #: Of a loss: ``gone`` from its server, ``forced``, ``lease_over``, ``closed`` or ``other``.
        self.cause = ""
        #: The server's address, or the client's URL without user and password.
        self.server = ""

    def fields(self) -> dict[str, str]:
        """The fields of the record, by their names."""
        texts = {each: getattr(self, each) for each in self.__slots__}
        return {f"holdfast_{each}": text for each, text in texts.items() if text}


def logger() -> Logger:
    """The library's logger.

    Without a handler it writes errors and warnings to stderr, as ``logging`` does for all loggers.
    ``logging`` is slow to import, so it is imported with the first client: later the process may
    have no descriptor left for it.
    """
    import logging

    return logging.getLogger("holdfast")


def info(about: About, text: str, *arguments: object) -> None:
    """Log what is usual."""
    _write(INFO, about, text, arguments)


def warning(about: About, text: str, *arguments: object) -> None:
    """Log what may become a fault."""
    _write(WARNING, about, text, arguments)


def unguarded(reason: str) -> None:
    """Warn, once in a process, that its clients have no guard."""
    global _warned  # noqa: PLW0603
    if _warned:
        return
    _warned = True
    warning(
        About("unguarded"),
        "%s: if this program dies, what it holds expires with its lease; "
        "the clients go on without a guard",
        reason,
    )


def error(about: About, text: str, *arguments: object) -> None:
    """Log a fault."""
    _write(ERROR, about, text, arguments)


def exception(about: About, text: str, *arguments: object, cause: BaseException) -> None:
    """Log an exception with its traceback."""
    _write(ERROR, about, text, arguments, cause)


def post(write: Callable[[], object]) -> None:
    """Have the worker's thread call what logs an event of now; waits for nothing."""
    worker.put(partial(_write_event, write, time.time()))


def _write_event(write: Callable[[], object], at: float) -> None:
    global _event_time  # noqa: PLW0603
    _event_time = at
    try:
        write()
    finally:
        _event_time = None
        _moves()


def _write(
    level: int,
    about: About,
    text: str,
    arguments: tuple[object, ...],
    cause: BaseException | None = None,
) -> None:
    log = logger()
    if not log.isEnabledFor(level):
        return
    place = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    info: Any = (type(cause), cause, cause.__traceback__) if cause is not None else None
    code = place.f_code
    where = code.co_filename, place.f_lineno
    record = log.makeRecord(
        log.name, level, *where, text, arguments, info, code.co_name, about.fields()
    )
    if worker.runs_caller():
        _date_back(record)
        log.handle(record)
    elif gevent_patched():
        log.handle(record)
    else:
        _hand_over(log, record)


def _date_back(record: LogRecord) -> None:
    if _event_time is not None:
        record.created = _event_time
        record.msecs = int(_event_time % 1 * 1000) + 0.0


def _hand_over(log: Logger, record: LogRecord) -> None:
    global _blocked  # noqa: PLW0603
    handled: SimpleQueue[None] = SimpleQueue()
    context = copy_context()
    if not worker.put(lambda: context.run(_handle, log, record, handled)) or _blocked:
        return
    try:
        handled.get(timeout=TIMEOUT)
    except Empty:
        _blocked = True


def _handle(log: Logger, record: LogRecord, handled: SimpleQueue[None]) -> None:
    try:
        log.handle(record)
    finally:
        handled.put(None)
        _moves()


def _moves() -> None:
    global _blocked  # noqa: PLW0603
    _blocked = False


def _report_dropped(number: int) -> None:
    text = "%d log records were dropped, because a log handler blocked"
    warning(About("records_dropped"), text, number)


def _after_fork_in_child() -> None:
    global _blocked, _event_time
    _blocked, _event_time = False, None


worker = Worker("holdfast-log", MOST_RECORDS, _report_dropped)
os.register_at_fork(after_in_child=_after_fork_in_child)
