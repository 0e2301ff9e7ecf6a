"""Greenlets of gevent as owners that wait, once ``gevent.monkey`` has patched anything.

The engine calls ``install`` before each wait once ``gevent.monkey`` is imported. From then on a
wait goes through ``_wait``: threads of the engine, which touch no greenlet and no greenlet's stack,
complete its operation into a queue that wakes the hub. A native thread without a hub, as in a pool,
waits as without gevent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary, finalize

import gevent
import gevent.monkey
from gevent._hub_local import get_hub_if_exists
from gevent.hub import Hub, Waiter
from greenlet import getcurrent

from holdfast import _core
from holdfast._engine import process as _process

if TYPE_CHECKING:
    from collections.abc import Callable

READABLE = 1

_installed = False
_numbers: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()  # epoch, number
_hubs: WeakValueDictionary[int, Hub] = WeakValueDictionary()  # by owner
_bridges: WeakKeyDictionary[Hub, Bridge] = WeakKeyDictionary()


class Bridge:
    """The operations under way for the greenlets of one hub. Used on its thread only."""

    def __init__(self, hub: Hub) -> None:
        self.epoch = _core.epoch()
        self._queue = _core.TaskQueue(hub)
        self._waiting: dict[Any, Waiter[Any]] = {}
        self._watcher: Any = hub.loop.io(self._queue.fileno(), READABLE)

    def wait(self, exchange: _core.Exchange[Any]) -> Any:
        """Switch to the hub until the operation is over; returns its answer or raises its error.

        A greenlet that is killed or times out while it waits leaves nothing behind.
        """
        waiter: Waiter[Any] = Waiter()
        pending = None
        try:  # around all: an interrupt may come between any two steps
            pending = self._queue.start(exchange)
            self._waiting[pending] = waiter
            if not self._watcher.active:
                self._watcher.start(self._queue.drain, self._waiting)
            value, error = waiter.get()
        except BaseException:
            if pending is not None and self._waiting.pop(pending, None) is not None:
                pending.close()
            else:
                exchange.give_back()
            raise
        finally:
            if not self._waiting:
                self._watcher.stop()
        if error is not None:
            raise error
        return value


def _caller() -> int:
    return id(getcurrent())


def install() -> bool:
    """Make greenlets wait from now on, if anything is patched; returns whether it is."""
    global _installed  # noqa: PLW0603
    if not _installed and _is_anything_patched():
        _installed = True
        _process.caller = _caller
        _core.set_greenlets(_wait, _owner)
    return _installed


def _is_anything_patched() -> bool:
    return bool(gevent.monkey.is_anything_patched())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def _hub() -> Hub | None:
    """The hub that may run while the caller waits; ``None`` if the caller must not switch."""
    hub = get_hub_if_exists()
    if hub is None and _is_main_thread():
        hub = gevent.get_hub()
    return None if hub is None or getcurrent() is hub else hub


def _is_main_thread() -> bool:
    get_native_id = gevent.monkey.get_original("threading", "get_native_id")
    return bool(get_native_id() == os.getpid())


def _wait(exchange: _core.Exchange[Any]) -> Any:
    hub = _hub()
    if hub is None:
        return NotImplemented
    bridge = _bridges.get(hub)
    if bridge is None or bridge.epoch != _core.epoch():
        bridge = _bridges[hub] = Bridge(hub)
    return bridge.wait(exchange)


def _owner() -> int:
    """The number of the current greenlet; 0 in a main greenlet: the thread is the owner."""
    current = getcurrent()
    hub = get_hub_if_exists()
    if current.parent is None or current is hub:
        number = 0
    else:
        epoch, number = _numbers.get(current, (0, 0))
        if not number or epoch != _core.epoch():
            number = _core.next_owner()
            _numbers[current] = _core.epoch(), number
            _end_with(current, number)
    if hub is not None and number:
        _hubs[number] = hub
    return number


def _end_with(current: Any, number: int) -> None:
    def ended(_greenlet: object = None) -> None:
        _core.owner_ended(number, "greenlet")

    if isinstance(current, gevent.Greenlet):
        current.rawlink(ended)  # pyright: ignore[reportUnknownMemberType]
    else:
        finalize(current, ended)


def runner_of(owner: int) -> Callable[..., object] | None:
    """A function that starts a greenlet of the owner's hub; ``None`` if there is no hub."""
    hub = _hubs.get(owner) or next(iter(_bridges), None)
    loop: Any = None if hub is None else hub.loop
    if loop is None:
        return None

    def run(function: Callable[..., object], *arguments: object) -> None:
        loop.run_callback_threadsafe(gevent.spawn, function, *arguments)

    return run


def start_native_thread(body: Callable[[], object]) -> None:
    """Start a thread of the system, where ``threading`` has greenlets."""
    gevent.monkey.get_original("_thread", "start_new_thread")(body, ())
