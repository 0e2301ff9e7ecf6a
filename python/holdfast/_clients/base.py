"""The common part of the clients for threads and for tasks, and their end at exit."""

from __future__ import annotations

import atexit
import math
import sys
import threading
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from holdfast import _core
from holdfast._clients.options import read_options
from holdfast._engine import events as _events
from holdfast._engine import log as _log
from holdfast._engine import process as _process
from holdfast._engine.arguments import Configured, Late, Self, checked_flag
from holdfast._engine.errors import quoted
from holdfast._engine.workers import Worker, countdown

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast._engine import stats as _stats
    from holdfast._engine.process import Loops
else:
    _stats = Late("holdfast._engine.stats")  # dataclasses are slow to import

#: How long pending releases may take at the interpreter's end.
EXIT_MS = 1000
#: How long close() waits for the end of the engine's threads, which nothing holds up.
THREADS_SECONDS = 1.0
#: The same of the threads of Python, which on_lost or a log handler may hold up.
EVENTS_SECONDS = 0.1


class BaseClient(Configured):
    """The common part of the clients for threads and for tasks."""

    _asynchronous = False
    _package = "holdfast"
    if TYPE_CHECKING:  # where a program evaluates annotations there is no such class
        # Of a client for tasks: the library of its tasks, and whether that is known to be asyncio.
        _loops: Loops
        _native: bool

    def _configure(self, url: object, options: dict[str, Any]) -> None:
        _refuse_eventlet()
        _log.logger()  # imports what the first record needs
        read = read_options(url, options, asynchronous=self._asynchronous)
        self._lease_ms = read.lease_ms
        self._url = read.url
        self._client_name = read.core.client_name
        self._label = read.label
        self._name_prefix = read.core.name_prefix
        self._callables = read.password, read.address_map  # kept for the engine
        self._waits_for_replicas = read.core.replicas_to_wait > 0
        self._defers = read.defers
        self._guarded = bool(read.core.guard)
        self._core = _core.Client(read.core)
        self._listeners: dict[int, _events.Listener] = {}  # see _events.Listener
        self._workers: dict[str, Worker] = {}  # see _events.py
        self._forced_queried = -math.inf  # when records of forced releases were last asked for
        self._warned = False
        # Of permit semaphores, not yet released; see bindings/permits.h.
        self._permits: dict[str, tuple[Any, Any]] = {}
        self._permit_losses: dict[int, Any] = {}  # at most one, at 0
        _process.clients[id(self)] = self

    @property
    def id(self) -> str:
        """The client's UUID; after ``fork()`` the child's copy has a new one."""
        return self._core.id

    @property
    def url(self) -> str:
        """The URL, without user and password."""
        return self._url

    @property
    def client_name(self) -> str | None:
        """The name of its connections, as given; ``None``: the default one."""
        return self._client_name

    @property
    def name_prefix(self) -> bytes:
        """What is put before each name on the server."""
        return self._name_prefix

    def stats(self) -> _stats.Stats:
        """The figures of this client's locks since it was made; no command is sent."""
        return _stats.read_stats(self._core)

    @classmethod
    def from_redis(cls, source: Any, **options: Any) -> Self:
        """A client with the connection settings of one of redis-py or valkey-py, of either flavour.

        ``source``: a ``Redis``, a ``RedisCluster``, the result of ``Sentinel.master_for()``, or a
        ``ConnectionPool``. Host, port, database, unix socket, user, password or credential
        provider, TLS files and checks, client name, protocol and a cluster's ``address_remap``
        carry over; ``options``, those of the client, win. No reference to ``source`` is kept, and
        no socket is shared.

        Raises ``ValueError``, naming it, for a setting that has no counterpart, ``TypeError`` for
        any other source.
        """
        from holdfast._clients.from_redis import read_source

        url, carried = read_source(source, options)
        keywords: dict[str, Any] = {**carried, **options}
        return cls(url, **keywords)

    def _forcing(self, key: bytes, owners: Collection[str], *, late: bool) -> Any:
        """As ``force.forcing()``, for the records of losses."""
        from holdfast._locks.force import forcing
        from holdfast._locks.steps import run

        return run(forcing(self._core, key, owners, late=late))

    def _owner_title(self, number: int) -> str:
        """The owner's description, for messages."""
        holder = self._holder_of(number)
        if holder is not None:
            return f"a {holder._hold_word}"
        return self._caller_title(number)

    def _for_log(self, event: str, name: Any, number: int) -> _log.About:
        """What a record of the log is about; ``number``: the owner's, 0 for none."""
        about = _log.About(event, name)
        about.label, about.server = self._label, self._url
        if number:
            about.owner = f"{self.id}:{number}"
            holder = self._holder_of(number)
            if holder is None:
                about.caller = self._caller_name(number)
            else:
                about.kind = holder._kind
        return about

    def _holder_of(self, number: int) -> Any:
        """The lock of a hold object, or the object that has taken a permit; ``None``: neither."""
        hold = _process.hold_objects.get(number)
        return self._permit_holder(number) if hold is None else hold.lock

    def _permit_holder(self, number: int) -> Any:
        """The object that has taken the permit of this number; ``None``: it is none."""
        return self._permits.get(_core.permit_id(self.id, number), (None, None))[0]

    def _caller_title(self, number: int) -> str:
        """The same of a thread, or task."""
        name = self._caller_name(number)
        if name:
            return f"thread {name!r}"
        return "a thread" if _core.thread_of(number) else "another owner"

    def _caller_name(self, number: int) -> str:
        """The name of the thread, or task; empty: it is not known."""
        native_id = _core.thread_of(number)
        threads = threading.enumerate() if native_id else ()
        return next((one.name for one in threads if one.native_id == native_id), "")

    def _warn_of_loop(self) -> None:
        """On a thread with a running event loop: say once that every call blocks it."""
        if self._warned:
            return
        self._warned = True
        msg = (
            f"{self!r} is used on a thread with a running event loop, which every call blocks; "
            "use holdfast.asyncio.Client there"
        )
        warnings.warn(msg, RuntimeWarning, stacklevel=2)

    def _begin_close(self, release_held: object) -> _core.Closing:
        held = checked_flag("release_held", release_held)
        if not self._core.closed:
            _events.keep(self._core.id, self._listeners)
        return self._core.close(None, held)

    def _has_closed(self, closing: _core.Closing) -> None:
        """At the end of ``close()``: the library's threads end with the last client."""
        _core.await_end_of_threads(THREADS_SECONDS)
        if not _events.running():
            _events.keep_no_longer(self._core.id)
        left = countdown(EVENTS_SECONDS)
        _events.join(left())
        _events.end_workers(self, left())
        self._warn_of(closing.names, 4)

    def _warn_of(self, held: list[bytes], stacklevel: int = 3, *, exits: bool = False) -> None:
        if held:
            held = sorted({*held})  # each permit of a semaphore is a hold
            names = ", ".join(map(quoted, held))
            end = (
                "is released by the guard" if exits and self._guarded else "expires with its lease"
            )
            warnings.warn(
                f"{self!r} was closed while it held {names}: what is held {end}",
                ResourceWarning,
                stacklevel=stacklevel,
                source=self,
            )

    def __del__(self) -> None:
        # The engine's thread finishes what is pending; a finalizer does not wait for it.
        if hasattr(self, "_core"):
            for worker in list(self._workers.values()):
                worker.end(0)
            self._warn_of(self._core.close(None, False).names)

    def __repr__(self) -> str:
        state = " closed" if self._core.closed else ""
        return f"<{self._package}.{type(self).__qualname__} {self._url}{state}>"

    def __reduce__(self) -> Any:
        msg = f"a {type(self).__name__} cannot be pickled or copied: give the other process its URL"
        raise TypeError(msg)


def _refuse_eventlet() -> None:
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and getattr(patcher, "already_patched", None):
        msg = (
            "holdfast does not work with eventlet, which is no longer maintained and has patched "
            "this process: a wait would block all of its green threads; use gevent or asyncio"
        )
        raise RuntimeError(msg)


def all_clients() -> list[BaseClient]:
    """The existing clients of this process."""
    return cast("list[BaseClient]", _process.all_clients())


class _AtEnd:
    """Closes all clients at the interpreter's end, after every handler of ``atexit``.

    The handlers run in reverse order, so those that were registered before the import run after
    this one. ``atexit`` drops all of them after the last: this object then has no reference left.
    """

    _ends = False

    def __call__(self) -> None:
        self._ends = True

    def __del__(self) -> None:
        if self._ends:
            _close_all()


atexit.register(_AtEnd())


def _close_all() -> None:
    """Close all clients and wait until every thread has left the engine: later it would crash."""
    _events.finish_queries()
    _core.begin_exit()
    with ExitStack() as stack:
        stack.callback(_core.see_out, 1.0)
        stack.callback(_core.stop_passwords)
        stack.callback(_events.stop)
        # All at once, so that together they take no longer than one.
        closings = [(each, each._core.close(EXIT_MS, False)) for each in all_clients()]
        for client, closing in closings:
            # Each, also where a warning is an error.
            stack.callback(_warn_of_left, client, closing)
            stack.callback(closing.wait)


def _warn_of_left(client: BaseClient, closing: _core.Closing) -> None:
    client._warn_of(closing.names, 4, exits=True)
