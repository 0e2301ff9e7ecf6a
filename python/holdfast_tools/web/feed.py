"""The data of the pages: one scan of the server per second at most for all open pages.

Nothing is read while no page is open. Every scan is compared with the one before; a stream gets
the differences as server-sent events. All of it belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sse_starlette import ServerSentEvent

from holdfast import HoldfastError

from .threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["Feed", "Json", "Status", "TooManyStreamsError"]

Json = dict[str, Any]

PERIOD = 1.0
"""Seconds from the begin of a scan to the begin of the next."""

TOLERANCE = 0.5
"""Seconds by which the end of a lease may move unnoticed."""

MOST_STREAMS = 256
"""Streams at most. A browser has one for each visible page."""


class TooManyStreamsError(Exception):
    """More streams are open than `MOST_STREAMS`."""


@dataclass(frozen=True)
class Status:
    """The state of the server at the last scan."""

    up: bool
    error: str | None
    """Why the last scan failed."""
    since: float
    """When `up` changed last, as ``time.time`` counts."""
    locks: int
    scan_seconds: float | None
    """How long the last scan took that did not fail."""
    read_at: float | None
    """When that scan began, as ``time.time`` counts: what is shown is at least as new."""

    def to_json(self) -> Json:
        """The data of a ``server`` event."""
        return {
            "up": self.up,
            "error": self.error,
            "since": self.since,
            "locks": self.locks,
            "scan_seconds": self.scan_seconds,
            "read_at": self.read_at,
        }


@dataclass(frozen=True)
class _Seen:
    """A lock as the streams know it."""

    lock: Json
    earliest: float
    """When the lease ends if it was read at the begin of the scan, by the loop's clock."""
    latest: float
    """When it ends if it was read at the end of the scan."""

    def differs(self, other: _Seen) -> bool:
        """Whether more has changed between this and `other` than a renewal and the time."""
        return _lasting(self.lock) != _lasting(other.lock)

    def moved(self, other: _Seen) -> bool:
        """Whether the lease ends at another time than this one's."""
        return other.earliest > self.latest + TOLERANCE or other.latest < self.earliest - TOLERANCE


def _lasting(lock: Json) -> Json:
    owners = [{**owner, "renewed": None} for owner in lock["owners"]]
    return {**lock, "ttl": None, "owners": owners}


def _seen(lock: Json, began: float, ended: float) -> _Seen:
    left = math.inf if lock["ttl"] is None else lock["ttl"]
    return _Seen(lock, began + left, ended + left)


class _Changes:
    """What a scan has found: the events for all streams, and the locks whose lease has moved."""

    def __init__(self, events: dict[str, bytes] | None = None) -> None:
        self.events = events or {}
        self._moved: list[Json] = []

    def __bool__(self) -> bool:
        return bool(self.events or self._moved)

    def add_lease(self, lock: Json) -> None:
        """The lock, of which nothing else has changed."""
        self._moved.append(lock)

    @cached_property
    def leases(self) -> dict[str, float | None]:
        """What is left of each, by the lock's key, for brief streams."""
        return {lock["key"]: lock["ttl"] for lock in self._moved}

    @cached_property
    def lease_events(self) -> dict[str, bytes]:
        """The same for other streams."""
        return {lock["key"]: _event("lock", lock) for lock in self._moved}


class _Stream:
    """The events that an open page has not been sent yet: of each lock only the latest.

    A reader that is slow misses states in between, and occupies no more memory than the locks do.
    """

    def __init__(self, *, brief: bool) -> None:
        self.brief = brief
        """Whether leases that only last longer come together, in one `leases` event."""
        self.wake = asyncio.Event()
        self.has_all = False
        """Whether the events of a whole scan have been put."""
        self._pending: dict[str, bytes] = {}
        self._leases: dict[str, float | None] = {}

    def put(self, changes: _Changes) -> None:
        for key, event in changes.events.items():
            self._pending.pop(key, None)
            self._pending[key] = event
            self._leases.pop(key, None)
        if self.brief:
            self._leases.update(changes.leases)
        else:
            for key, event in changes.lease_events.items():
                self._pending.pop(key, None)
                self._pending[key] = event
        self.wake.set()

    def take(self) -> bytes:
        self.wake.clear()
        events = list(self._pending.values())
        if self._leases:
            events.append(_event("leases", self._leases))
        self._pending.clear()
        self._leases = {}
        return b"".join(events)


class Feed:
    """Scans by `read`, which blocks and returns the JSON of each lock, and feeds the streams."""

    def __init__(self, read: Callable[[], list[Json]]) -> None:
        self._read = read
        self._streams: set[_Stream] = set()
        self._loop_task: asyncio.Task[None] | None = None
        self._closed = False
        self._turn = asyncio.Lock()
        self._begun = 0
        self._scanned = asyncio.Event()
        self._known: dict[str, _Seen] = {}
        self._snapshot: bytes | None = None
        self._status: Status | None = None
        self._read_at: float | None = None
        self._failure: HoldfastError | None = None

    @property
    def status(self) -> Status | None:
        """The result of the last scan; None before the first one has ended."""
        return self._status

    async def locks(self) -> list[Json]:
        """The locks of a scan that begins after this call; raises what the scan raised.

        Calls at the same time share a scan.
        """
        begun_before = self._begun
        async with self._turn:
            if self._begun == begun_before:
                await self._scan()
            elif self._failure is not None:
                raise type(self._failure)(*self._failure.args)
            return [seen.lock for seen in self._known.values()]

    async def stream(self, *, brief: bool = False) -> AsyncIterator[bytes]:
        """Server-sent events: every lock at first, then `ready`, then each change, until `close`.

        While the server is away, `ready` comes with the first scan that succeeds. With `brief`
        a `leases` event has what is left of all leases that have moved, by their locks' keys.

        Raises `TooManyStreamsError` before the first event.
        """
        stream = _Stream(brief=brief)
        self._streams.add(stream)
        try:
            if self._loop_task is None or self._loop_task.done():
                self._scanned.clear()
                self._loop_task = asyncio.create_task(self._run())
            await self._scanned.wait()
            stream.take()
            chunk = self._first_events()
            stream.has_all = self._status is not None and self._status.up
            while not self._closed:
                if chunk:
                    yield chunk
                await stream.wake.wait()
                chunk = stream.take()
        finally:
            self._streams.discard(stream)

    def check_room(self) -> None:
        """Raise `TooManyStreamsError` where no further stream is allowed."""
        if len(self._streams) >= MOST_STREAMS:
            raise TooManyStreamsError

    def close(self) -> None:
        """End every stream. May be called from a signal handler of the loop's thread."""
        self._closed = True
        self._scanned.set()
        for stream in self._streams:
            stream.wake.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._streams and not self._closed:
            began = loop.time()
            async with self._turn:
                try:
                    await self._scan()
                except HoldfastError:
                    pass  # the status has it
                finally:
                    self._scanned.set()
            await asyncio.sleep(max(0.0, began + PERIOD - loop.time()))

    async def _scan(self) -> None:
        """Scan once, for a caller that has the turn; raises what the scan raised."""
        self._begun += 1
        begun_at = time.time()
        began = asyncio.get_running_loop().time()
        try:
            locks = await in_thread(self._read)
        except Exception as error:
            self._failure = _failure_of(error)
            self._publish(_Changes(), self._changed_status(str(self._failure), None))
            raise self._failure from error
        self._failure = None
        ended = asyncio.get_running_loop().time()
        changes = self._compare([_seen(lock, began, ended) for lock in locks])
        self._read_at = begun_at
        changed = self._changed_status(None, ended - began)
        self._publish(changes, changed or self._is_old())
        for stream in self._streams:
            if not stream.has_all:
                stream.put(_Changes({" ": _READY}))  # no lock's key has a blank
                stream.has_all = True

    def _compare(self, scanned: list[_Seen]) -> _Changes:
        """Take the locks of a scan as known; what has changed."""
        before, self._known = self._known, {}
        changes = _Changes()
        for seen in scanned:
            key = seen.lock["key"]
            old = before.pop(key, None)
            self._known[key] = seen
            if old is None or old.differs(seen):
                changes.events[key] = _event("lock", seen.lock)
            elif old.moved(seen):
                changes.add_lease(seen.lock)
            else:
                # Later scans are compared with the end that the streams have got.
                self._known[key] = replace(old, lock=seen.lock)
        for key, old in before.items():
            changes.events[key] = _event("gone", {"name": old.lock["name"], "key": key})
        self._snapshot = None
        return changes

    def _changed_status(self, error: str | None, seconds: float | None) -> bool:
        """Note how a scan ended; whether the server has gone or returned."""
        old, up = self._status, error is None
        changed = not up if old is None else old.up != up
        since = time.time() if old is None or changed else old.since
        if seconds is None and old is not None:
            seconds = old.scan_seconds
        self._status = Status(up, error, since, len(self._known), seconds, self._read_at)
        return changed

    def _publish(self, changes: _Changes, status_changed: bool) -> None:
        if status_changed and self._status is not None:
            changes.events[""] = _event("server", self._status.to_json())
        if changes:
            for stream in self._streams:
                stream.put(changes)

    def _is_old(self) -> bool:
        """Whether the last scan took so long that the pages show its age."""
        status = self._status
        return status is not None and (status.scan_seconds or 0.0) > PERIOD

    def _first_events(self) -> bytes:
        """Every lock known; whether the server is away, if it is, and how old the locks are."""
        status = self._status
        events = self._locks_known()
        if status is not None and status.up:
            events += _READY
        if self._is_old() or (status is not None and not status.up):
            assert status is not None
            events += _event("server", status.to_json())
        return events

    def _locks_known(self) -> bytes:
        if self._snapshot is None:
            events = (_event("lock", seen.lock) for seen in self._known.values())
            self._snapshot = b"".join(events)
        return self._snapshot


def _failure_of(error: Exception) -> HoldfastError:
    """Any other error is a fault of the reading: the next one may succeed."""
    if isinstance(error, HoldfastError):
        return error
    return HoldfastError(f"cannot read the locks: {type(error).__name__}: {error}")


def _event(kind: str, data: Json) -> bytes:
    return ServerSentEvent(json.dumps(data, separators=(",", ":")), event=kind).encode()


_READY = _event("ready", {})
"""Follows a whole list: what a page has from before and was not in it is gone."""
