"""A TCP proxy that breaks the network on command: what a client sees between itself and a server.

    with FaultProxy(server.port) as proxy:
        client = holdfast.Client(proxy.url)
        proxy.lose_reply()          # the next script is executed, its answer never arrives
        proxy.cut()                 # all connections are reset
        proxy.black_hole()          # nothing passes any more, and nothing is reset
        proxy.black_hole(SUBSCRIPTIONS)     # only messages are lost, commands get through
        proxy.heal()

It runs on a separate thread (`start`, `stop`, or the block); every method may be called from any
thread and has taken effect when it returns. Random choices come from `seed`; whole sequences of
faults are drawn by fault_schedule.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.support.proxied_bytes import MESSAGE, around_message, commands_in
from tests.support.waiting import BOUND, taking

T = TypeVar("T")

COMMANDS = "commands"
"""The connections on which nothing has been subscribed to."""
SUBSCRIPTIONS = "subscriptions"
"""The connections that listen to channels."""

_SUBSCRIBE = {b"SUBSCRIBE", b"PSUBSCRIBE", b"SSUBSCRIBE"}
_TRACKING = b"\r\nTRACKING\r\n"
_UNKNOWN = b"-NOSCRIPT "
SCRIPTS = (b"EVAL", b"EVALSHA", b"EVAL_RO", b"EVALSHA_RO", b"FCALL")
"""The commands that `lose_reply` and `truncate_reply` wait for by default, on the connections
without CLIENT TRACKING."""


@dataclass(frozen=True)
class _Hole:
    """What never arrives: on the connections of one sort (None: of both), in these directions."""

    only: str | None
    requests: bool
    #: One more script passes; then requests never arrive, either.
    one_more: bool = False
    #: It has passed.
    passed: bool = False


_ONE_MORE = _Hole(None, requests=False, one_more=True)


@dataclass
class _Faults:
    """What the proxy does to the bytes that pass it now."""

    open: asyncio.Event
    hole: _Hole | None = None
    messages_to_lose: int = 0
    refuse: bool = False
    latency: float = 0.0
    jitter: float = 0.0
    slice: int = 65536
    requests: int = 0
    scripts: int = 0
    renewals: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    held_renewals: int = 0


@dataclass
class _Trap:
    """Waits for a command; of the replies to it, passes `keep` bytes and then cuts.

    With `instead` the connection stays, and the client gets that. With `of_request` the server gets
    that number of bytes of the command, which it cannot execute.
    """

    commands: tuple[bytes, ...]
    keep: int
    sprung: threading.Event
    instead: bytes = b""
    of_watchdog: bool = False
    of_request: int | None = None


class FaultProxy:
    """Forwards `host`:`port` to 127.0.0.1:`target`, unchanged by default; port 0: a free one."""

    def __init__(
        self, target: int, seed: int = 0, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="fault-proxy", daemon=True
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._links: set[_Link] = set()
        self._faults = _Faults(asyncio.Event())
        self.traps: list[_Trap] = []
        self._listener = socket.create_server((host, port))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> FaultProxy:
        """Serve from now on; once."""
        self._faults.open.set()
        self._faults.renewals.set()
        self._thread.start()
        self._call(lambda: self._loop.add_reader(self._listener, self._accept))
        return self

    def stop(self) -> None:
        """Reset every connection and serve no more."""
        self._ask(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(BOUND)
        self._loop.close()

    def __enter__(self) -> FaultProxy:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    # ---- faults

    def cut(self) -> int:
        """Reset every connection, both ends; new ones are served. Returns how many there were."""
        return self._call(self._cut)

    def cut_renewals(self) -> int:
        """The same of connections for renewals: all others stay."""
        return self._call(lambda: self._cut(lambda link: link.tracks))

    def lead_to(self, target: int) -> None:
        """Forward new connections to that port; those that are open stay where they are."""
        self._target = target

    def half_close(self) -> None:
        """Tell the clients that no more replies will come, and go on reading from them."""

        def half_close() -> None:
            for link in self._links:
                link.half_close()

        self._call(half_close)

    def stall(self) -> None:
        """Hold everything back, in both directions, until `heal` lets it through."""
        self._call(self._faults.open.clear)

    def hold_renewals(self) -> None:
        """Hold back what connections for renewals send, until `heal` lets it through."""
        self._call(self._faults.renewals.clear)

    def silence_renewals(self) -> None:
        """Swallow what the present connections for renewals pass, without a reset; others work."""

        def silence() -> None:
            for link in self._links:
                link.silent = link.tracks

        self._call(silence)

    def leave_renewals(self) -> None:
        """Reset the clients' ends of these connections: what is held back arrives by `heal`.

        What connections of later send passes at once.
        """

        def leave() -> None:
            self._change(renewals=asyncio.Event())
            self._faults.renewals.set()
            for link in self._links:
                link.leave()

        self._faults.left = self._faults.renewals
        self._call(leave)

    @property
    def held_renewals(self) -> int:
        """How many pieces of it are held back."""
        return self._faults.held_renewals

    def black_hole(self, only: str | None = None) -> None:
        """Swallow everything, in both directions, without a reset; connecting still succeeds.

        `only` COMMANDS or SUBSCRIPTIONS: the connections of the other sort work on.
        """
        self._set(hole=_Hole(only, requests=True))

    def deafen(self, only: str | None = None) -> None:
        """The same for replies and messages alone: what is sent is executed."""
        self._set(hole=_Hole(only, requests=False))

    def pass_one_more(self) -> None:
        """Let the server execute the next script, and swallow its reply and all that follows.

        One that the server does not know is not executed: its reply passes, and it may come again.
        What the client then does about the lost reply waits for `heal`.
        """
        self._set(hole=_ONE_MORE)

    def lose_messages(self, count: int = 1) -> None:
        """Swallow the next messages to those who are subscribed; their connections stay."""
        self._set(messages_to_lose=count)

    def refuse(self) -> None:
        """Reset every connection and every new one."""
        self._set(refuse=True)
        self.cut()

    def delay(self, seconds: float, jitter: float = 0.0) -> None:
        """Pass each piece only after `seconds`, and up to `jitter` more."""
        self._set(latency=seconds, jitter=jitter)

    def slices(self, size: int) -> None:
        """Pass at most `size` bytes at a time."""
        self._set(slice=size)

    def lose_reply(self, *commands: bytes, of_watchdog: bool = False) -> threading.Event:
        """Let the server execute the next of `commands`, then swallow its reply and cut.

        The event that is returned is set when that has happened. `of_watchdog`: what the watchdog
        sends is among them.
        """
        return self._set_trap(_Trap(commands or SCRIPTS, 0, threading.Event(), b"", of_watchdog))

    def truncate_reply(self, keep: int, *commands: bytes) -> threading.Event:
        """As `lose_reply`, but the first `keep` bytes of the reply arrive."""
        return self._set_trap(_Trap(commands or SCRIPTS, keep, threading.Event()))

    def truncate_request(self, keep: int, *commands: bytes) -> threading.Event:
        """Pass the first `keep` bytes of the next of `commands` to the server, then cut."""
        trap = _Trap(commands or SCRIPTS, 0, threading.Event(), of_request=keep)
        return self._set_trap(trap)

    def replace_reply(self, instead: bytes, *commands: bytes) -> threading.Event:
        """Pass `instead` in the place of the replies to the next of `commands`."""
        return self._set_trap(_Trap(commands or SCRIPTS, 0, threading.Event(), instead))

    def _set_trap(self, trap: _Trap) -> threading.Event:
        self._call(lambda: self.traps.append(trap))
        return trap.sprung

    def inject(self, data: bytes) -> None:
        """Send `data` to the clients as if the server had."""
        self._call(lambda: [link.inject(data) for link in self._links])

    def heal(self) -> None:
        """Behave again. Connections whose bytes were swallowed are reset, as hosts do in time.

        They are reset before anything passes: a later reply would be taken for the swallowed one.
        """

        def heal() -> None:
            self._cut(lambda link: link.swallowed)
            self.traps.clear()
            self._change(hole=None, messages_to_lose=0, refuse=False)
            self._change(latency=0.0, jitter=0.0, slice=65536)
            self._faults.open.set()
            self._faults.renewals.set()
            self._faults.left.set()

        self._call(heal)

    # ---- what passed

    @property
    def connections(self) -> int:
        """How many connections are open through the proxy."""
        return self._call(lambda: len(self._links))

    @property
    def requests(self) -> int:
        """How many pieces of requests arrived at the proxy so far, swallowed ones too."""
        return self._faults.requests

    @property
    def scripts(self) -> int:
        """How many of these have a script in them."""
        return self._faults.scripts

    # ---- on the proxy's thread

    def trapped(self, names: set[bytes], *, tracks: bool) -> _Trap | None:
        """The trap that these commands spring, disarmed."""
        for trap in self.traps:
            # A look at a tracked hold may come at any time: it is no command of the test's.
            if (trap.of_watchdog or not tracks) and not names.isdisjoint(trap.commands):
                self.traps.remove(trap)
                return trap
        return None

    def script_passed(self) -> None:
        """The server gets a script: the last one, after `pass_one_more`."""
        hole = self._faults.hole
        if hole is not None and hole.one_more:
            self._change(hole=_Hole(None, requests=True, passed=True))

    def unknown_script(self) -> bool:
        """The server did not know a script: whether that was the last one to pass."""
        hole = self._faults.hole
        was_last = hole is not None and hole.passed
        if was_last:
            self._change(hole=_ONE_MORE)
        return was_last

    def message_lost(self) -> bool:
        """Whether the message that has come now is to be lost."""
        lost = self._faults.messages_to_lose > 0
        self._faults.messages_to_lose -= lost
        return lost

    async def let_renewals_pass(self) -> None:
        passing = self._faults.renewals
        self._faults.held_renewals += 1
        await passing.wait()
        self._faults.held_renewals -= 1

    def pause_before_passing(self) -> float:
        return self._faults.latency + self._random.random() * self._faults.jitter

    @property
    def faults(self) -> _Faults:
        return self._faults

    def _change(self, **values: object) -> None:
        for name, value in values.items():
            setattr(self._faults, name, value)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setblocking(False)
        # asyncio sets it only on sockets that it has made.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._tasks.append(self._loop.create_task(self._serve(client)))

    async def _serve(self, client: socket.socket) -> None:
        near, back = await asyncio.open_connection(sock=client)
        try:
            far, forth = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            back.transport.abort()
            return
        link = _Link(self, back, forth)
        self._links.add(link)
        if self._faults.refuse:
            link.abort()
        await link.run(near, far)
        self._links.discard(link)

    def _cut(self, which: Callable[[_Link], bool] = lambda _: True) -> int:
        links = {link for link in self._links if which(link)}
        for link in links:
            link.abort()
        self._links -= links
        return len(links)

    async def _end(self) -> None:
        self._loop.remove_reader(self._listener)
        self._listener.close()
        self._faults.refuse = True
        self._faults.open.set()
        self._faults.renewals.set()
        self._faults.left.set()
        while any(not task.done() for task in self._tasks):
            self._cut()
            await asyncio.wait(self._tasks, timeout=0.01)

    # ---- from other threads

    def _set(self, **values: object) -> None:
        self._call(lambda: self._change(**values))

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._ask(call())

    def _ask(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(BOUND)


class _Link:
    """One client's connection and its continuation to the server."""

    def __init__(
        self, proxy: FaultProxy, back: asyncio.StreamWriter, forth: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._back = back
        self._forth = forth
        self._trap: _Trap | None = None
        self._subscribed = False
        self.tracks = False
        """It is a connection for renewals."""
        self.silent = False
        """Nothing passes it any more."""
        self.swallowed = False
        """Something on its way was lost: this connection cannot be used any more."""

    async def run(self, near: asyncio.StreamReader, far: asyncio.StreamReader) -> None:
        """Pass bytes both ways until either side ends."""
        ways = [
            asyncio.ensure_future(self._requests(near)),
            asyncio.ensure_future(self._replies(far)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        if self._trap is not None and not self._trap.sprung.is_set():
            self._proxy.traps.append(self._trap)  # a client that cannot track leaves its greeting
        for writer in (self._back, self._forth):
            writer.close()
        ends = (self._back.wait_closed(), self._forth.wait_closed())
        await asyncio.gather(*ends, return_exceptions=True)

    def abort(self) -> None:
        self._back.transport.abort()
        self._forth.transport.abort()

    def leave(self) -> None:
        if self.tracks:
            self._back.transport.abort()

    def inject(self, data: bytes) -> None:
        self._back.write(data)

    def half_close(self) -> None:
        with contextlib.suppress(OSError):  # the client has left
            self._back.write_eof()

    async def _requests(self, near: asyncio.StreamReader) -> None:
        while data := await near.read(65536):
            self._proxy.faults.requests += 1
            names = set(commands_in(data))
            self._subscribed = self._subscribed or not names.isdisjoint(_SUBSCRIBE)
            self.tracks = self.tracks or _TRACKING in data
            trap = self._proxy.trapped(names, tracks=self.tracks)
            is_script = not (self.tracks or names.isdisjoint(SCRIPTS))
            self._proxy.faults.scripts += is_script
            if trap is not None and trap.of_request is not None:
                self._forth.write(data[: trap.of_request])
                trap.sprung.set()
                return
            if self.tracks:
                await self._proxy.let_renewals_pass()
            try:
                await self._pass(data, self._forth)
            finally:
                self._trap = self._trap or trap  # the server has all of them now
            if is_script:
                self._proxy.script_passed()

    async def _replies(self, far: asyncio.StreamReader) -> None:
        while data := await far.read(65536):
            if self._trap is not None and self._trap.instead:
                trap, self._trap = self._trap, None
                self._back.write(trap.instead)
                trap.sprung.set()
                continue
            if self._trap is not None:
                self._back.write(data[: self._trap.keep])
                await self._back.drain()
                self._trap.sprung.set()  # before the client can know
                self._back.write_eof()
                return
            if data.startswith(_UNKNOWN) and self._proxy.unknown_script():
                self._back.write(data)
                continue
            await self._pass(self._without_lost(data), self._back)

    def _without_lost(self, data: bytes) -> bytes:
        """Replies and messages, without the messages that are to be lost."""
        passing = b""
        while MESSAGE in data and self._proxy.message_lost():
            before, data = around_message(data)
            passing += before
        return passing + data

    async def _pass(self, data: bytes, to: asyncio.StreamWriter) -> None:
        size = self._proxy.faults.slice
        for start in range(0, len(data), size):
            await taking(self._proxy.pause_before_passing())
            await self._proxy.faults.open.wait()
            if self.silent or self._is_lost(to):
                self.swallowed = True
                return
            to.write(data[start : start + size])
            await to.drain()

    def _is_lost(self, to: asyncio.StreamWriter) -> bool:
        hole = self._proxy.faults.hole
        if hole is None or (to is self._forth and not hole.requests):
            return False
        return hole.only in {None, SUBSCRIPTIONS if self._subscribed else COMMANDS}
