"""Ctrl-C: a wait ends at once, and what was under way is given back."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.faults.conftest import CHANNEL, NAME
from tests.support.processes import Child, StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually, let_pass

WAITING = """
lock = holdfast.Client(URL).lock(NAME)
for _ in range(ROUNDS):
    say("waits")
    try:
        lock.acquire(timeout=TIMEOUT)
    except KeyboardInterrupt:
        say("interrupted", time.monotonic())
    say("holds", lock.hold_count())
    hear("next")
"""

ASYNCIO = """
async def main():
    lock = holdfast.asyncio.Client(URL).lock(NAME)
    say("waits")
    await lock.acquire(timeout=TIMEOUT)

for _ in range(ROUNDS):
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        say("interrupted", time.monotonic())
    say("holds", 0)
    hear("next")
"""

SOON = 0.5
"""Seconds within which a test must see an interrupt; the promise is a fifth of it."""


@pytest.fixture
def held(server: Server) -> Server:
    """A server on which somebody else holds the lock for an hour."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    return server


@pytest.fixture
def way(private_server: Server) -> Iterator[FaultProxy]:
    """A way to the private server on which one sees what is sent."""
    with FaultProxy(private_server.port) as proxy:
        yield proxy


@pytest.mark.parametrize("timeout", [-1, 3600], ids=["no limit", "an hour"])
@pytest.mark.parametrize("program", [WAITING, ASYNCIO], ids=["sync", "asyncio"])
def test_ctrl_c_ends_a_wait(
    start_child: StartChild, held: Server, program: str, timeout: float
) -> None:
    """interrupted-acquire, I8: KeyboardInterrupt at once.

    No subscription and no hold stay behind.
    """
    child = start_child(program, URL=held.url, NAME=NAME, TIMEOUT=timeout, ROUNDS=3)
    delays = []
    for _ in range(3):
        child.expect("waits")
        eventually(lambda: held.subscribers(CHANNEL) == 1)
        delays.append(_interrupt(child))
        assert child.expect("holds") == ["0"]
        eventually(lambda: held.subscribers(CHANNEL) == 0)
        child.send("next")
    assert min(delays) < SOON, "the machine may be busy once, not each time"
    assert list(held.inspect.hgetall(NAME)) == [b"somebody-else:1"]


def _interrupt(child: Child) -> float:
    """Press Ctrl-C, and return the seconds until the child says that it was interrupted."""
    pressed = time.monotonic()
    child.signal(signal.SIGINT)
    return float(child.expect("interrupted")[0]) - pressed


@pytest.mark.realtime
def test_ctrl_c_while_the_acquire_is_in_flight(
    start_child: StartChild, private_server: Server, way: FaultProxy
) -> None:
    """interrupted-acquire, I7: the server is silent, then grants: the late grant is given back."""
    child = start_child(
        """
        client = holdfast.Client(URL)
        lock = client.lock(NAME)
        with lock:
            pass  # now the server knows the scripts
        say("ready")
        for _ in range(ROUNDS):
            hear("go")
            try:
                say("waits")
                lock.acquire()
            except KeyboardInterrupt:
                say("interrupted", time.monotonic())
            hear("next")
            say("holds", lock.hold_count())
        """,
        URL=way.url,
        NAME=NAME,
        ROUNDS=5,
    )
    child.expect("ready")
    delays = []
    for _ in range(5):
        private_server.pause()
        before = way.requests
        child.send("go")
        child.expect("waits")
        eventually(lambda seen=before: way.requests > seen)
        delays.append(_interrupt(child))
        private_server.resume()
        eventually(lambda: private_server.keys() == set())
        child.send("next")
        assert child.expect("holds") == ["0"]
    assert min(delays) < SOON, "the machine may be busy once, not each time"


@pytest.mark.realtime
def test_ctrl_c_together_with_the_grant(start_child: StartChild, private_server: Server) -> None:
    """interrupted-acquire, I7: the caller gets its lock or the interrupt.

    With the interrupt nothing is held.
    """
    child = start_child(
        """
        lock = holdfast.Client(URL).lock(NAME)
        while True:
            held = False
            hear("go")
            try:
                say("waits")
                held = lock.acquire()
                signal.pause()
            except KeyboardInterrupt:
                say("got", held)
            if held:
                lock.release()
        """,
        URL=private_server.url,
        NAME=NAME,
    )
    for _ in range(20):
        private_server.pause()
        child.send("go")
        child.expect("waits")
        let_pass(0.005)
        child.signal(signal.SIGINT)
        private_server.resume()
        child.expect("got")
        eventually(lambda: private_server.keys() == set())


def test_ctrl_c_in_the_body_releases(start_child: StartChild, server: Server) -> None:
    """interrupted-acquire.

    KeyboardInterrupt inside `with` comes out itself, and the lock is free.
    """
    child = start_child(
        """
        try:
            with holdfast.Client(URL).lock(NAME):
                say("inside")
                signal.pause()
        except KeyboardInterrupt:
            say("outside")
        """,
        URL=server.url,
        NAME=NAME,
    )
    child.expect("inside")
    child.signal(signal.SIGINT)
    child.expect("outside")
    assert server.keys() == set()


def test_a_signal_handler_runs_during_a_wait(start_child: StartChild, held: Server) -> None:
    """interrupted-acquire: a handler that returns does not end the wait; one that raises does."""
    child = start_child(
        """
        class Alarm(Exception):
            pass

        def ring(number, frame):
            raise Alarm

        lock = holdfast.Client(URL).lock(NAME)
        signal.signal(signal.SIGUSR1, lambda number, frame: say("handled"))
        signal.signal(signal.SIGUSR2, ring)
        try:
            lock.acquire()
        except Alarm:
            say("ended", lock.hold_count())
        """,
        URL=held.url,
        NAME=NAME,
    )
    eventually(lambda: held.subscribers(CHANNEL) == 1)
    for _ in range(3):
        child.signal(signal.SIGUSR1)
        child.expect("handled")
    assert held.subscribers(CHANNEL) == 1
    child.signal(signal.SIGUSR2)
    assert child.expect("ended") == ["0"]


def test_other_threads_wait_on_after_ctrl_c(start_child: StartChild, held: Server) -> None:
    """interrupted-acquire: only the main thread is interrupted."""
    child = start_child(
        """
        lock = holdfast.Client(URL).lock(NAME)

        def wait():
            say("got", lock.acquire())
            lock.release()

        waiter = threading.Thread(target=wait)
        waiter.start()
        try:
            say("waits")
            lock.acquire()
        except KeyboardInterrupt:
            say("interrupted")
        waiter.join()
        """,
        URL=held.url,
        NAME=NAME,
    )
    child.expect("waits")
    eventually(lambda: held.subscribers(CHANNEL) == 1)
    let_pass(0.05)
    child.signal(signal.SIGINT)
    child.expect("interrupted")
    held.inspect.delete(NAME)
    held.inspect.publish(CHANNEL, "0")
    assert child.expect("got") == ["True"]
    assert child.wait() == 0
