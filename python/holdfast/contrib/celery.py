"""Locks around Celery tasks; needs the extra ``holdfast-locks[celery]``.

    @app.task
    @single("export:{user_id}", busy="retry")
    def export(user_id): ...


    enqueue_once(rebuild, (7,), name="rebuild:7", lease=3600)

The server is ``app.conf.holdfast_url``, else the environment's ``HOLDFAST_URL``. A worker that
imports this module does not start without either.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

import hashlib
import inspect
import os
import threading
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from celery import Task, current_app, current_task, signals
from celery.backends.base import DisabledBackend
from celery.exceptions import Ignore, ImproperlyConfigured, Reject, Retry
from celery.local import Proxy
from celery.states import READY_STATES
from celery.utils.log import get_task_logger

from holdfast import (
    Client,
    ConnectionError,
    HoldfastError,
    LockLostError,
    LockTimeout,
    ServerError,
    servers,
)
from holdfast.contrib._blocks import Outcome, held, refuse_transactions
from holdfast.contrib._locks import checked_label, checked_options, purpose, seconds_to_retry
from holdfast.integration import (
    About,
    about,
    braced,
    checked_function,
    checked_name,
    checked_word,
    finished,
    milliseconds,
    naming,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.integration import Seconds

__all__ = ["enqueue_once", "single"]

BUSY = ("skip", "retry", "wait")

#: The headers of a message whose sender holds the lock for the task: the ticket and the end of its
#: lease (ISO 8601, as Celery's ``eta``), which are left out where the lock could not go with the
#: message; the lock's name, and the seconds of the lease for a retry.
TICKET = "holdfast_ticket"
END = "holdfast_end"
NAME = "holdfast_name"
LEASE = "holdfast_lease"
#: What the sender has given as the label; empty: nothing is said. Without it: the task's.
LABEL = "holdfast_label"

#: Seconds for which the server keeps that a ticket was used: the time in which a broker delivers a
#: message once more.
USED_FOR = 24 * 3600.0

#: Seconds until a task that could not get its lock tries again.
LATER = 5

logger = get_task_logger("holdfast.celery")

LATE = "%s[%s] starts after the lease of its lock %r, which was free, and takes it again: %s"
TAKEN = "%s[%s] has lost its lock %r before the end of its lease, and takes it again: %s"
NOT_RECORDED = "whether the ticket of %s was used is not recorded on the server: %s"

_clients: dict[str, Client] = {}
#: Of each thread or greenlet: the locks of the calls of ``single`` that it is in.
_inside = threading.local()
#: Of each thread or greenlet: the holds of tasks, by their ids, whose retry runs here at once.
_retried = threading.local()
_making = threading.Lock()


def _client_of(app: Any) -> Client:
    """The client of an application in this process; a fork of it has new connections."""
    url = app.conf.get("holdfast_url") or os.environ.get("HOLDFAST_URL")
    if not url:
        msg = (
            f"the Celery application {app.main!r} has no server for its locks: set "
            "app.conf.holdfast_url, or HOLDFAST_URL in the environment, such as "
            '"redis://127.0.0.1:6379"'
        )
        raise ImproperlyConfigured(msg)
    client = _clients.get(url)
    if client is None:
        with _making:
            client = _clients.get(url)
            if client is None:
                client = _clients[url] = Client(url)
    return client


def single(
    template: str,
    *,
    busy: str = "skip",
    wait: Seconds | None = None,
    lease: Seconds | None = None,
    label: str | Literal[False] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function of a task, below ``@app.task``: one at a time for each name.

    ``template`` is filled in with the task's arguments by name: ``"export:{user_id}"``. ``busy``:
    ``"skip"`` returns ``None`` without running the task; ``"retry"`` has it run again after the
    lock's time to live (1 to 30 s), as often as it takes, without counting as a retry of the task;
    ``"wait"`` waits up to ``wait`` seconds (``None``: without limit), then raises ``LockTimeout``.
    ``lease``: the lock's. ``label``: what its holds are for, by default the task's name and id;
    ``False``: nothing is said. Called outside of a worker, ``"retry"`` raises ``LockTimeout``. A
    task that ``enqueue_once`` has sent with the same name has the lock already, and runs.

    A release that fails after the function, or finds the hold lost, is a record of the log, and the
    task is done. Inside a transaction of Django, committed later, it raises ``RuntimeError``.

    Raises ``TypeError`` or ``ValueError`` at decoration for bad arguments, for a field that the
    function's signature lacks, and above ``@app.task``.
    """
    fields = checked_options(template, "lock", wait=wait, lease=lease)
    checked_word("busy", busy, BUSY)
    if wait is not None and busy != "wait":
        msg = f"wait cannot be given with busy={busy!r}: only busy='wait' waits"
        raise ValueError(msg)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        options = {"wait": wait, "lease": lease, "label": checked_label(label)}
        run = _Single(_naming(template, fields, function), busy, options)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return run(function, args, kwargs)

        known = inspect.signature(function)
        call.__signature__ = known  # type: ignore[attr-defined] # for Celery's own check
        return call

    return decorate


class _Single:
    """How ``single`` runs a function: the lock of a call, and what to do when it is busy."""

    def __init__(
        self, name_of: Callable[[Any, Any], str], busy: str, options: dict[str, Any]
    ) -> None:
        self._name_of = name_of
        self._busy = busy
        self._options = {**options, "wait": options["wait"] if busy == "wait" else 0}

    def __call__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        name = self._name_of(args, kwargs)
        task = _running_task()
        if task is None or not task.request.is_eager:
            refuse_transactions(f"single({name!r})", "put @transaction.atomic below it")
        client = _client_of(current_app if task is None else task.app)
        filled = _title(task) if task is not None else function.__qualname__
        options = {**self._options, "label": purpose(self._options["label"], filled)}
        lock = client.lock(name, **options)
        sent_with = _hold_of(task)
        if sent_with is not None and sent_with.name == lock.name:
            return finished(function(*args, **kwargs), function)
        with self._entered(client, name):
            try:
                hold = lock.hold()
            except LockTimeout:
                if self._busy == "wait":
                    raise
                return _left_out(lock, self._busy, task)
            with held(hold, Outcome()):
                return finished(function(*args, **kwargs), function)

    @contextmanager
    def _entered(self, client: Client, name: str) -> Iterator[None]:
        """Refuse a call inside of another that has the lock, for which it would wait."""
        inside: set[tuple[str, str]] = _inside.__dict__.setdefault("locks", set())
        lock = (client.id, name)
        if lock in inside and self._busy != "skip":
            msg = f"single({name!r}) is called inside of itself: it would wait for its own lock"
            raise RuntimeError(msg)
        before = set(inside)
        inside.add(lock)
        try:
            yield
        finally:
            _inside.locks = before


def _naming(template: str, fields: list[str], function: Any) -> Callable[[Any, Any], str]:
    if isinstance(function, (Task, Proxy)):
        msg = f"single({template!r}) decorates the function of a task: put it below @app.task"
        raise TypeError(msg)
    checked_function(function, asynchronous=False)
    return naming(template, fields, function)


def _title(task: Any) -> str:
    """Its name and id."""
    return f"{task.name} {task.request.id}"


def _purpose_of(task: Any) -> str | None:
    """What a lock is taken for that ``enqueue_once`` has named."""
    return purpose(task.request.headers.get(LABEL), _title(task))


def _running_task() -> Any:
    """The task that runs in this thread or greenlet, by a worker or eagerly; else ``None``."""
    task: Any = current_task
    return task if task and not task.request.called_directly else None


def _fields(event: str, name: Any) -> dict[str, str]:
    """The fields of a record about a lock of which only the name is known."""
    return About(event, name, "lock").fields()


def _left_out(lock: Any, busy: str, task: Any) -> None:
    """The handling of a call with a busy lock."""
    if busy == "skip":
        fields = about(lock, "skipped").fields()
        logger.info("skipped: %r is held by another task", lock.name, extra=fields)
        return
    if task is None or task.request.is_eager:
        msg = f"{lock.name!r} is held by another task, and only a worker can retry"
        raise LockTimeout(msg)
    _again(task, seconds_to_retry(lock.ttl()))


def _again(task: Any, countdown: int) -> None:
    """End this run of a task in favour of a later one; it does not count as a retry."""
    request = task.request
    later = task.signature_from_request(request, countdown=countdown, retries=request.retries)
    try:
        later.apply_async()
    except Exception as error:
        raise Reject(error, requeue=False) from error  # as Task.retry() has it
    raise Retry(when=countdown, sig=later)


def enqueue_once(
    task: Any,
    args: Any = (),
    kwargs: Any = None,
    *,
    name: str,
    lease: Seconds = 3600.0,
    label: str | Literal[False] | None = None,
    **options: Any,
) -> Any:
    """Send a task unless it is in the queue, or runs: ``AsyncResult``, or ``None`` if it is.

    The lock `name` is held from now to the end of the task, its retries and a task that replaces it
    included, or until the task is revoked or expires. ``lease`` has to cover the time in the queue,
    in seconds, from the task's countdown or ETA on. A task that starts later takes the lock again
    and runs. It is skipped with a warning, and its result is ``REVOKED``, where another has the
    lock by then, or where an earlier delivery of it has begun, which a key on the server records
    for a day (or to the end of
    its lease). ``label``: what the lock is held for, by default the task's name; ``False``: nothing
    is said. ``options``: those of ``apply_async``. A retry is sent with the same
    lease, from its countdown on; one that cannot take the lock along takes it again before it runs.

    Raises ``TypeError`` or ``ValueError`` for bad arguments, ``holdfast.ConnectionError`` without a
    server, ``holdfast.ServerError`` when it refuses, and the errors of ``apply_async``: then the
    lock is released, in the background if need be.
    """
    if not isinstance(task, Task):
        msg = f"task must be a Celery task, not {type(task).__name__}"
        raise TypeError(msg)
    checked_name("name", name)
    milliseconds("lease", lease)
    _watch(task)
    client = _client_of(task.app)
    try:
        said = purpose(checked_label(label), task.name or "")
        hold = client.lock(name, wait=0, label=said).hold()
    except LockTimeout:
        return None
    with _undone_by(hold.release):
        held = _detached(hold, lease + _delay(options))
    headers = {**(options.pop("headers", None) or {}), NAME: name, LEASE: lease, **held}
    if label is not None:
        headers[LABEL] = label or ""
    with _undone_by(lambda: client.attach(held[TICKET]).release()):
        return task.apply_async(args, kwargs, headers=headers, **options)


def _detached(hold: Any, lease: float) -> dict[str, str]:
    """The headers by which a hold goes with a message."""
    end = datetime.now(timezone.utc) + timedelta(seconds=lease)
    return {TICKET: hold.detach(lease=lease), END: end.isoformat()}


@contextmanager
def _undone_by(release: Callable[[], object]) -> Iterator[None]:
    """A step of ``enqueue_once``: if it fails, the lock is released, and its error is raised."""
    try:
        yield
    except BaseException:
        with suppress(HoldfastError):
            release()
        raise


def _delay(options: dict[str, Any]) -> float:
    """The seconds until the countdown or ETA of ``apply_async``."""
    countdown, eta = options.get("countdown"), options.get("eta")
    if countdown is not None:
        return max(0.0, float(countdown))
    return _seconds_until(eta.isoformat() if isinstance(eta, datetime) else eta)


def _watch(task: Any) -> None:
    """Have a task take over its hold before it starts.

    This is done in the task's class, which Celery makes for each task and uses to build its runner.
    """
    kind = task.__class__  # not of the proxy that app.task may return
    theirs = kind.before_start
    if getattr(theirs, "_holdfast", False):
        return

    @wraps(theirs)
    def before_start(self: Any, task_id: str, args: Any, kwargs: Any) -> None:
        _take_over(self)
        theirs(self, task_id, args, kwargs)

    before_start._holdfast = True  # type: ignore[attr-defined]
    kind.before_start = before_start


def _take_over(task: Any) -> None:
    request = task.request
    headers = request.headers or {}
    if NAME not in headers:
        return
    kept = _retried.__dict__.get("holds", {}).pop(request.id, None)
    if kept is not None:
        request.holdfast_hold = kept
        return
    try:
        request.holdfast_hold = _hold_for(_client_of(task.app), task)
    except _Skipped as error:
        fields = _fields("task_skipped", headers[NAME])
        logger.warning("%s[%s] is skipped: %s", task.name, request.id, error, extra=fields)
        _record_skipped(task, f"skipped: {error}")
        raise Ignore from error
    except (ConnectionError, LockTimeout, ServerError) as error:
        passes = not isinstance(error, ServerError) or error.temporary or error.code == "OOM"
        if request.is_eager or not passes:
            raise
        text = "%s[%s] could not get its lock %r, and tries again: %s"
        fields = _fields("task_waits", headers[NAME])
        logger.warning(text, task.name, request.id, headers[NAME], error, extra=fields)
        _again(task, LATER)


class _Skipped(Exception):
    """A task must not run: why."""


def _hold_for(client: Client, task: Any) -> Any:
    """The hold of a ticket; without one, or where it has expired, a new hold."""
    headers = task.request.headers
    name = headers[NAME]
    if TICKET not in headers:
        return client.lock(name, label=_purpose_of(task)).hold(wait=0)
    used = _Used(client, headers)
    try:
        hold = client.attach(headers[TICKET], name=name)
    except LockLostError as error:
        if used.is_recorded():
            msg = f"an earlier delivery has used its ticket for the lock {name!r}"
            raise _Skipped(msg) from error
        hold = _late_hold(client, task, error)
    used.record()
    return hold


def _late_hold(client: Client, task: Any, error: LockLostError) -> Any:
    """A new hold in the place of a ticket that has expired, or was taken away before its end."""
    name = task.request.headers[NAME]
    over = not _seconds_until(task.request.headers.get(END))
    try:
        hold = client.lock(name, label=_purpose_of(task)).hold(wait=0)
    except LockTimeout:
        gone = "has expired" if over else "was taken away before the end of its lease"
        msg = f"its ticket for the lock {name!r} {gone}, and another has the lock"
        raise _Skipped(msg) from error
    text = LATE if over else TAKEN
    fields = _fields("task_late", name)
    logger.warning(text, task.name, task.request.id, name, error, extra=fields)
    return hold


class _Used:
    """The record on the server that a ticket has been used: a key that expires."""

    def __init__(self, client: Client, headers: Any) -> None:
        self._client = client
        self._name = client.name_prefix + checked_name("name", headers[NAME])
        digest = hashlib.sha256(headers[TICKET].encode()).hexdigest()[:32]  # it opens the lock
        self._key = braced(self._name, b"holdfast_used:", b":" + digest.encode())
        self._lifetime = max(USED_FOR, _seconds_until(headers.get(END)))

    def is_recorded(self) -> bool:
        """Whether it is known to be used; without the right to look it is not."""
        return self._ask((b"GET", self._key)) is not None

    def record(self) -> None:
        """Record it, once its lock is held: a process that ends before that has not run."""
        try:
            self._ask((b"SET", self._key, b"used", b"PX", b"%d" % (1000 * self._lifetime)))
        except HoldfastError as error:
            self._log_unrecorded(error)

    def _ask(self, command: tuple[bytes, ...]) -> object:
        [reply] = servers.send(self._client, self._name, [command])
        if isinstance(reply, Exception):
            self._log_unrecorded(reply)
            return None
        return reply

    def _log_unrecorded(self, error: Exception) -> None:
        fields = _fields("ticket_unrecorded", self._name)
        logger.warning(NOT_RECORDED, quoted(self._name), error, extra=fields)


def _record_skipped(task: Any, why: str) -> None:
    """Store a result for those who wait for one; that of another delivery stays."""
    backend, request = task.backend, task.request
    if request.is_eager or isinstance(backend, DisabledBackend):
        return
    if backend.get_state(request.id) not in READY_STATES:
        stored = not (request.ignore_result or task.ignore_result)
        backend.mark_as_revoked(request.id, why, request, store_result=stored)


def _hold_of(task: Any) -> Any:
    """The hold with which a task was sent, while it has it; else ``None``."""
    return getattr(task.request, "holdfast_hold", None) if task else None


@signals.before_task_publish.connect(weak=False, dispatch_uid="holdfast.contrib.celery")
def _before_publish(headers: Any = None, **_: Any) -> None:
    """A task with a hold is sent again, or replaced: the hold goes with the message.

    If that fails, the message has no ticket: by the old one, which is used, it would be skipped.
    """
    task: Any = current_task
    hold = _hold_of(task)
    if hold is None or headers is None or headers.get("id") != task.request.id:
        return
    known = task.request.headers  # the message of a task that replaces this one has none of them
    lease = known[LEASE] + _seconds_until(headers.get("eta"))
    headers.update({word: known[word] for word in (NAME, LEASE, LABEL) if word in known})
    for old in (TICKET, END):
        headers.pop(old, None)
    try:
        headers.update(_detached(hold, lease))
    except HoldfastError as error:  # the end of the run releases the hold
        text = "%s[%s] is sent without its lock %r, and takes it again before it runs: %s"
        fields = about(hold, "sent_without_lock").fields()
        logger.warning(text, task.name, task.request.id, hold.name, error, extra=fields)
        return
    task.request.holdfast_hold = None


def _seconds_until(eta: str | None) -> float:
    if eta is None:
        return 0.0
    at = datetime.fromisoformat(eta)
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


@signals.task_postrun.connect(weak=False, dispatch_uid="holdfast.contrib.celery")
def _after_run(task: Any = None, retval: Any = None, **_: Any) -> None:
    """At the end of a task: release its hold."""
    hold = _hold_of(task)
    if hold is None:
        return
    task.request.holdfast_hold = None
    goes_on = isinstance(retval, Retry) and retval.sig is not None
    if task.request.is_eager and goes_on:  # it runs next, and no message is sent
        _retried.__dict__.setdefault("holds", {})[task.request.id] = hold
        return
    try:
        hold.release()
    except HoldfastError as error:
        text = "the lock %r of %s[%s] could not be released: %s"
        fields = about(hold, "release_failed").fields()
        logger.warning(text, hold.name, task.name, task.request.id, error, extra=fields)


@signals.task_revoked.connect(weak=False, dispatch_uid="holdfast.contrib.celery")
def _after_revocation(sender: Any = None, request: Any = None, **_: Any) -> None:
    """A task is revoked, or has expired, before it started: release its hold."""
    headers = request.headers or {}
    if TICKET not in headers:
        return
    try:
        _client_of(sender.app).attach(headers[TICKET]).release()
    except LockLostError:
        return  # it was running: the hold is the business of its process
    except HoldfastError as error:
        text = "the lock %r of %s[%s], which was revoked, could not be released: %s"
        fields = _fields("release_failed", headers.get(NAME))
        logger.warning(text, headers.get(NAME), sender.name, request.id, error, extra=fields)


@signals.worker_init.connect(weak=False, dispatch_uid="holdfast.contrib.celery")
def _worker_starts(sender: Any = None, **_: Any) -> None:
    """Refuse a missing or bad URL, and have all tasks present their tickets."""
    try:
        _client_of(sender.app)
    except (ImproperlyConfigured, ValueError, TypeError) as error:
        raise SystemExit(f"holdfast.contrib.celery: {error}") from error  # others are only logged
    for task in sender.app.tasks.values():
        _watch(task)
