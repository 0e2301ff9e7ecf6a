"""Owners that die or are stopped, in separate processes."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.faults.conftest import LASTING, NAME, SHORT, holds
from tests.support.processes import Child, StartChild
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, let_pass

pytestmark = pytest.mark.realtime

SYNC = """
told = []
client = holdfast.Client(URL, lease=LEASE)
lock = client.lock(NAME, on_lost=told.append)
lock.acquire()
say("held")
hear("go")
say("lost", lock.lost)
say("holds", lock.owned(), lock.hold_count())
try:
    say("again", lock.acquire(blocking=False))
except holdfast.LockLostError:
    say("again", "LockLostError")
try:
    lock.release()
except holdfast.LockLostError:
    say("released", "LockLostError")
hear("told?")
until(lambda: told)
say("told", told == [lock])
"""

ASYNCIO = """
async def main():
    told = []
    client = holdfast.asyncio.Client(URL, lease=LEASE)
    lock = client.lock(NAME, on_lost=told.append)
    await lock.acquire()
    say("held")
    hear("go")
    say("lost", lock.lost)
    say("holds", await lock.owned(), await lock.hold_count())
    try:
        say("again", await lock.acquire(blocking=False))
    except holdfast.LockLostError:
        say("again", "LockLostError")
    try:
        await lock.release()
    except holdfast.LockLostError:
        say("released", "LockLostError")
    await asyncio.get_running_loop().run_in_executor(None, hear, "told?")
    while not told:
        await turns()
    say("told", told == [lock])

asyncio.run(main())
"""

PROGRAMS = {"sync": SYNC, "asyncio": ASYNCIO}


@pytest.fixture(params=PROGRAMS)
def holder(request: pytest.FixtureRequest, start_child: StartChild, server: Server) -> Child:
    """A process that holds the lock under its watchdog."""
    child = start_child(PROGRAMS[request.param], URL=server.url, LEASE=SHORT, NAME=NAME)
    child.expect("held")
    return child


@pytest.fixture
def lock(server: Server) -> Any:
    """The same lock in this process."""
    with holdfast.Client(server.url) as client:
        yield client.lock(NAME)


def test_a_killed_holders_lock_is_taken_when_it_expires(
    holder: Child, lock: Any, server: Server
) -> None:
    """killed-process: kill -9: free when the last renewal's lease is over, and taken right then."""
    holder.kill()
    watch = Stopwatch()
    left = server.inspect.pttl(NAME) / 1000
    assert lock.acquire(timeout=BOUND)
    assert watch.seconds > left - 0.05
    lock.release()


def test_a_stopped_owner_learns_of_the_loss_before_anything_else(
    holder: Child, lock: Any, server: Server
) -> None:
    """stopped-process, suspended-machine: SIGSTOP past the lease: nothing says "held" afterwards.

    The new owner is safe.
    """
    holder.pause()
    assert lock.acquire(timeout=BOUND, lease=3600)
    before = holds(server)
    holder.send("go")
    holder.resume()
    assert holder.expect("lost") == ["True"]
    assert holder.expect("holds") == ["False", "0"]
    assert holder.expect("again") == ["LockLostError"]
    assert holder.expect("released") == ["LockLostError"]
    assert holds(server) == before
    assert server.inspect.pttl(NAME) > 3_500_000
    holder.send("told?")
    assert holder.expect("told") == ["True"]
    lock.release()


def test_no_moment_past_the_lease_says_held(start_child: StartChild, server: Server) -> None:
    """stopped-process, I2.

    Asked without a pause, before, while and after it is stopped, `lost` is never late.
    """
    child = start_child(
        """
        lock = holdfast.Client(URL).lock(NAME)
        for _ in range(ROUNDS):
            lock.acquire(lease=LEASE)
            over = time.monotonic() + LEASE
            late = 0
            say("held")
            while (now := time.monotonic()) < over + LEASE:
                late += now > over and not lock.lost
            say("late", late)
            hear("next")
        """,
        URL=server.url,
        NAME=NAME,
        LEASE=SHORT / 2,
        ROUNDS=5,
    )
    for _ in range(5):
        child.expect("held")
        child.pause()
        let_pass(SHORT * 0.6)
        child.resume()
        assert child.expect("late") == ["0"]
        child.send("next")


def test_a_stopped_holder_comes_out_of_its_block_with_the_loss(
    start_child: StartChild, lock: Any, server: Server
) -> None:
    """stopped-process: the end of `with` tells the loss; the error of a body stays what it was."""
    child = start_child(
        """
        client = holdfast.Client(URL, lease=LEASE)
        for error in (None, KeyError("of the body")):
            try:
                with client.lock(NAME):
                    say("inside")
                    hear("go")
                    if error:
                        raise error
            except Exception as seen:
                say("outside", type(seen).__name__)
            hear("next")
        """,
        URL=server.url,
        LEASE=SHORT,
        NAME=NAME,
    )
    for expected in ("LockLostError", "KeyError"):
        child.expect("inside")
        child.pause()
        assert lock.acquire(timeout=BOUND, lease=3600)
        child.send("go")
        child.resume()
        assert child.expect("outside") == [expected]
        lock.release()
        child.send("next")


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_holder_that_is_stopped_briefly_keeps_its_lock(
    start_child: StartChild, server: Server, program: str
) -> None:
    """stopped-process: stopped for less than the lease, though for longer than a third of it.

    It is renewed.
    """
    holder = start_child(program, URL=server.url, LEASE=LASTING, NAME=NAME)
    holder.expect("held")
    holder.pause()
    eventually(lambda: server.inspect.pttl(NAME) < LASTING * 600)
    holder.resume()
    see_renewals(server)
    holder.send("go")
    assert holder.expect("lost") == ["False"]
    assert holder.expect("holds") == ["True", "1"]
    assert holder.expect("again") == ["True"]


def test_a_killed_waiter_leaves_nothing(start_child: StartChild, lock: Any, server: Server) -> None:
    """killed-process: a process killed while it waits is no holder, no subscriber, no obstacle."""
    lock.acquire()
    child = start_child("holdfast.Client(URL).lock(NAME).acquire()", URL=server.url, NAME=NAME)
    channel = "redisson_lock__channel:{myLock}"
    eventually(lambda: server.subscribers(channel) == 1)
    child.kill()
    eventually(lambda: server.subscribers(channel) == 0)
    lock.release()
    assert server.keys() == set()
    assert lock.acquire(blocking=False)
    lock.release()


def test_processes_take_turns(start_child: StartChild, server: Server) -> None:
    """Exclusion between processes: a counter that is read and written without the server's help."""
    program = """
        import redis
        store = redis.Redis.from_url(URL)
        lock = holdfast.Client(URL).lock(NAME)
        for _ in range(ROUNDS):
            with lock:
                value = int(store.get("counter") or 0)
                store.set("counter", value + 1)
        say("done")
        """
    children = [start_child(program, URL=server.url, NAME=NAME, ROUNDS=30) for _ in range(3)]
    for child in children:
        child.expect("done", within=3 * BOUND)
    assert server.inspect.get("counter") == b"90"
    assert server.keys() == {b"counter"}


def test_a_killed_holder_among_many(start_child: StartChild, server: Server) -> None:
    """killed-process: of several processes that take turns each is killed inside.

    The others go on.
    """
    program = """
        lock = holdfast.Client(URL, lease=LEASE).lock(NAME)
        while True:
            with lock:
                say("inside")
                hear()
        """
    alive = [start_child(program, URL=server.url, NAME=NAME, LEASE=LASTING / 2) for _ in range(4)]
    while alive:
        inside = eventually(lambda: [child for child in alive if child.said_something])
        assert len(inside) == 1
        inside[0].kill()
        alive.remove(inside[0])
