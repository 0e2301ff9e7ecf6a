"""Losses and other events of holds, reported to the log and to ``on_lost``.

The engine's threads never touch the interpreter. They put events into a queue, from which one
daemon thread of Python takes them; it is started with an acquisition, or with a semaphore or latch,
and ends with the last client of the process.

That thread only sorts: it runs no code of the program, and waits for no server. Handlers run on the
worker of their client, log handlers and observers on one each (``workers.py``), what belongs to a
task on its loop.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from holdfast import _core
from holdfast._engine import log as _log
from holdfast._engine.errors import HoldfastError, quoted
from holdfast._engine.process import all_clients
from holdfast._engine.records import LOSSES, Event, entry
from holdfast._engine.workers import (
    ThreadRefused,
    Worker,
    countdown,
    gevent_patched,
    program_is_over,
    start_thread,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast._engine.process import AnyClient
    from holdfast._engine.stats import Observer

    #: A hold that is gone from its server: the client's id, the lock's name, what precedes the
    #: reason in a text (the title of a member), and the reason.
    Part = tuple[str, bytes, str, str]


#: Seconds between two queries of a client for the record of a forced release.
FORCED_INTERVAL = 0.05


def explained(client: AnyClient, event: Event) -> str:
    """Why a hold is gone that its server does not have, and who has released it by force.

    The record of that is asked for once per ``FORCED_INTERVAL``: after the loss of many holds at
    once, as by ``FLUSHALL``, the other losses do not wait for the answers.
    """
    if monotonic() < client._forced_queried + FORCED_INTERVAL:
        return event.reason
    reason = _forced(client, event.name, event.owner)
    client._forced_queried = monotonic()
    return reason or event.reason


def explained_text(text: str, owner: int, parts: Sequence[Part], late: bool = False) -> str:
    """The text of a loss, with who has released the locks by force.

    It queries the servers of the parts, also right after another query: no error says less than
    another. ``late``: for a caller whose time is over.
    """
    clients = {client.id: client for client in all_clients()}
    for client_id, key, title, gone in parts:
        client = clients.get(client_id)
        if client and (reason := _forced(client, key, owner, late)):
            text = text.replace(title + gone, title + reason)
    return text


def _forced(client: AnyClient, key: bytes, owner: int, late: bool = False) -> str | None:
    """Why the hold is gone, if it was released by force and that is recorded; its ``loss`` then."""
    forced, core = None, client._core
    owners = {f"{core.id}:{owner}", _core.permit_id(core.id, owner)}
    # Without a descriptor its import fails, too: the loss is reported nevertheless.
    with suppress(HoldfastError, OSError, ImportError):
        forced = client._forcing(key, owners, late=late)
    if forced is None:
        return None
    reason = f"it was released by force {forced}"
    core.explain_loss(key, owner, reason)
    return reason


_numbers = count(1)
_listeners: WeakValueDictionary[int, Listener] = WeakValueDictionary()
#: The listeners of closed clients, by the client's id, until its last hold was reported.
_kept: dict[str, dict[int, Listener]] = {}
#: At interpreter exit: a loss is logged without a query of its server.
_queries_end = False
#: The latest; ``None`` where gevent has replaced ``threading``.
_thread: threading.Thread | None = None
#: The number of a run for which Python has started no thread: ``join()`` does its work.
_unthreaded: int | None = None
#: A signal handler inside start() may call it, too.
_starting = threading.RLock()

#: The worker that asks a client's server who has released a lost hold.
ASKING = "holdfast-forced"
#: Calls that wait for a worker.
MOST_CALLS = 100_000
#: How long what is under way may take at the interpreter's end.
EXIT_SECONDS = 1.0

#: Who observes the locks of this process, see holdfast.observe.
observer: Observer | None = None


def _report_dropped(where: str, number: int) -> None:
    text = "%d calls were dropped, because an earlier one blocked %s"
    _log.error(_log.About("calls_dropped"), text, number, where)


_observing = Worker(
    "holdfast-watch", MOST_CALLS, partial(_report_dropped, "the observers of the process")
)


def note(error: BaseException, about: _log.About, text: str) -> None:
    """Add a note to an error that is being raised, and log it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        vars(error).setdefault("__notes__", []).append(text)
    _log.error(about, "%s", text)


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

    There it runs no code of the program: ``_hold_lost`` gives that to a worker or a loop. Until
    the loss its client keeps it: a client that is collected takes its listeners with it, unless it
    was closed, see ``keep()``. Store it before ``listen()``, so that an interrupt in between leaves
    none that cannot be forgotten.
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


def keep(client: str, listeners: dict[int, Listener]) -> None:
    """Keep the listeners of a client that is about to be closed, until its last loss."""
    if listeners:
        _kept[client] = listeners


def keep_no_longer(client: str) -> None:
    """Let go of the listeners of a client that has reported its last loss."""
    _kept.pop(client, None)


def start() -> None:
    """Start the threads of the reports unless they are running: all or none."""
    with _starting:
        if running():
            return
        try:
            run = _core.begin_events()  # ends one that a signal handler has begun meanwhile
            _keep_reporters()
            _start_thread(run)
        except BaseException as error:
            _core.stop_events()
            _keep_no_reporters()
            if isinstance(error, ThreadRefused):
                raise _core.thread_refused() from error
            raise


def _start_thread(run: int) -> None:
    global _thread, _unthreaded  # noqa: PLW0603
    try:
        _thread = start_thread(partial(_run, run), "holdfast-events")
    except ThreadRefused:
        if not program_is_over():
            raise
        _thread, _unthreaded = None, run


running = _core.events_running


def observe_by(chosen: Observer | None) -> None:
    """From now on the losses are passed to this observer.

    Raises ``ConnectionError`` where the system has no thread left for it.
    """
    global observer  # noqa: PLW0603
    with _starting:
        before, observer = observer, chosen
        if not running():
            return
        try:
            _keep_reporters()
        except ThreadRefused as error:
            observer = before
            raise _core.thread_refused() from error


def _keep_reporters() -> None:
    """At the limit of threads a log handler, or an observer, that blocks must hold up no loss."""
    if gevent_patched():
        return
    _log.worker.keep()
    if observer is not None:
        _observing.keep()


def _keep_no_reporters() -> None:
    _observing.keep_no_longer()
    _log.worker.keep_no_longer()


def finish_queries() -> None:
    """Before the engine ends, which leaves no query its reply: have what was asked logged."""
    global _queries_end  # noqa: PLW0603
    _queries_end = True
    left = countdown(EXIT_SECONDS)
    for client in all_clients():
        if worker := client._workers.get(ASKING):
            worker.flush(left())


def stop() -> None:
    """End the thread before the interpreter ends: a thread that returned later would crash.

    What it has sorted is finished, as far as that takes no longer than ``EXIT_SECONDS``.
    """
    left = countdown(EXIT_SECONDS)
    _core.stop_events()
    join(left())
    workers = {each: name for one in all_clients() for name, each in one._workers.items()}
    asking = [each for each, name in workers.items() if name == ASKING]  # they log
    for worker in (*asking, _log.worker, _observing, *workers):
        worker.flush(left())
    _log.worker.flush(_log.TIMEOUT)  # what the others have logged
    for client in all_clients():
        client._workers.clear()  # a finalizer must not look for threads that end no more


def join(timeout: float) -> None:
    """Wait for the thread's end, if it is ending and is not the calling one.

    Where there was none, the calling thread reports what there is.
    """
    global _unthreaded  # noqa: PLW0603
    if running():
        return
    if (run := _unthreaded) is not None:
        _unthreaded = None
        _run(run)
    thread = _thread
    if thread is None or thread is threading.current_thread():
        return
    with suppress(RuntimeError):  # its start was interrupted: it ends at once
        thread.join(timeout)
        if not thread.is_alive() and thread.native_id is not None:
            _core.await_exit(thread.native_id)


def handlers_of(client: AnyClient) -> Worker:
    """Which runs the ``on_lost`` of a client's locks."""
    return _worker_of(client, "holdfast-on-lost")


def keep_handlers(client: AnyClient) -> None:
    """Before a hold with an ``on_lost``: its thread runs from now on, until the client is closed.

    At the limit of threads an ``on_lost`` that blocks would hold up every other report otherwise.
    Raises ``ConnectionError`` that names the limit.
    """
    if gevent_patched():
        return
    try:
        handlers_of(client).keep()
    except ThreadRefused as error:
        raise _core.thread_refused() from error


def _worker_of(client: AnyClient, name: str) -> Worker:
    workers: dict[str, Worker] = client._workers
    worker = workers.get(name)
    if worker is None:
        report = partial(_report_dropped, f"{name} of {client!r}")
        worker = workers.setdefault(name, Worker(name, MOST_CALLS, report))
    return worker


def end_workers(client: AnyClient, seconds: float) -> None:
    """After the client was closed: its workers' threads end, those of all with the last client."""
    left = countdown(seconds)
    workers = list(client._workers.values())
    if not running():
        workers += [_observing, _log.worker]
    for worker in workers:
        worker.end(left())


def run_on(worker: Worker, owner: int, job: Callable[[], object]) -> None:
    """Run a job on a worker, or for a greenlet in a greenlet of its hub."""
    run = None
    if gevent_patched():
        from holdfast._engine import greenlets as _greenlets

        run = _greenlets.runner_of(owner)
    if run is None:
        worker.put(job)
    else:
        run(job)


def _run(run: int) -> None:
    while (event := _core.next_event(run)) is not None:
        try:
            _sort(Event(*event))
        except BaseException as error:  # noqa: BLE001 - which would end all reports
            about = _log.About("report_failed")
            _log.post(partial(_log.exception, about, "reporting %r failed", event, cause=error))
    with _starting:
        if not running():
            _keep_no_reporters()


def _sort(event: Event) -> None:
    """Give an event to those that it concerns; waits for none of them."""
    if event.word == "closed":
        keep_no_longer(event.client)
        return
    if (to := observer) is not None:
        run_on(_observing, event.owner, partial(_notify, to, event))
    listeners = [each for each in map(_listeners.get, event.numbers) if each is not None]
    for listener in listeners:
        listener.receive(event)
    if event.word == "released":
        return
    if event.word in LOSSES:
        for listener in listeners:
            listener._hold_lost(event.reason)
    _log_of(event)


def _log_of(event: Event) -> None:
    """Have an event logged; of a hold that is gone from its server, after a query of it."""
    client = next((each for each in all_clients() if each.id == event.client), None)
    log = entry(event, client)
    if client is None or event.word not in LOSSES or event.cause != "gone":
        _log.post(partial(log, event.reason))
        return
    worker = _worker_of(client, ASKING)
    if gevent_patched() or worker.is_there():
        run_on(worker, event.owner, partial(_log_explained, client, event, log))
    else:  # without a query: this thread waits for no server
        _log.post(partial(log, event.reason))


def _log_explained(client: AnyClient, event: Event, log: Callable[[str], object]) -> None:
    reason = event.reason if _queries_end else explained(client, event)
    _log.post(partial(log, reason))


def _notify(to: Observer, event: Event) -> None:
    try:
        if event.word == "lost":
            to.lost(event.name, event.client, event.owner, event.reason)
        elif event.word == "abandoned":
            to.released(event.name, event.client, event.owner)
    except Exception as error:  # noqa: BLE001 - any, of another's code
        text = "observing that %s was %s failed"
        about = _log.About("observer_failed", event.name, event.kind)
        _log.exception(about, text, quoted(event.name), event.word, cause=error)


def _after_fork_in_child() -> None:
    global _thread, _unthreaded, _starting  # noqa: PLW0603
    _thread, _unthreaded = None, None
    _starting = threading.RLock()
    _kept.clear()
    for number in [number for number, each in _listeners.items() if not each.lasting]:
        _listeners.pop(number, None)


os.register_at_fork(after_in_child=_after_fork_in_child)
