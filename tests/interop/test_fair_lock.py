"""A fair lock whose queue Java and Python share; what holds for every lock is in test_lock.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON, NewPeer, Report
from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.turns import JavaWaiter, PythonWaiter, Waiter
from tests.interop.wire import FairKey
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually, stays

QUEUED = """
client = holdfast.Client(URL)
say("ready")
client.fair_lock(NAME, queue_timeout=1).acquire()
"""


@pytest.fixture
def key(redis_server: Server, name: str) -> FairKey:
    return FairKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> Callable[[str], JavaLock]:
    """The lock as a thread of Java sees it."""
    return lambda thread: peer.lock(name, thread, "fair")


@pytest.fixture
def python_waiter(python: holdfast.Client, name: str) -> Iterator[Callable[[], PythonWaiter]]:
    """Makes waiters, each a thread of Python."""
    made: list[PythonWaiter] = []

    def make() -> PythonWaiter:
        made.append(PythonWaiter(python.fair_lock(name)))
        return made[-1]

    yield make
    for waiter in made:
        waiter.threads.shutdown()


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_queue_of_java_and_python_is_served_in_its_order(
    java: Callable[[str], JavaLock],
    python_waiter: Callable[[], PythonWaiter],
    key: FairKey,
    first: str,
) -> None:
    in_java = [JavaWaiter(java(thread)) for thread in ("t2", "t3", "t4")]
    in_python = [python_waiter() for _ in in_java]
    pairs = zip(in_java, in_python, strict=True)
    waiters: list[Waiter] = [
        waiter for pair in pairs for waiter in (pair if first == "java" else pair[::-1])
    ]
    holder = java("t1")
    holder.lock(lease=LONG)
    grants = []
    for place, waiter in enumerate(waiters, 1):
        grants.append(waiter.begin())
        eventually(partial(key.has_queued, place))
    owners = key.queue()
    holder.unlock()
    for place, waiter in enumerate(waiters):
        grants[place].result(SOON)
        assert key.holds() == {owners[place]: 1}
        assert key.queue() == owners[place + 1 :]
        assert not any(grant.done() for grant in grants[place + 1 :])
        waiter.end()
    eventually(key.no_client_waits)
    assert not key.exists()


def test_no_owner_overtakes_a_queue_of_the_other(
    java: Callable[[str], JavaLock],
    python: holdfast.Client,
    python_waiter: Callable[[], PythonWaiter],
    key: FairKey,
) -> None:
    holder = java("t1")
    holder.lock(lease=LONG)
    for waiter, other in (
        (python_waiter(), lambda: java("t2").try_lock()),
        (JavaWaiter(java("t3")), lambda: python.fair_lock(key.name).acquire(blocking=False)),
    ):
        grant = waiter.begin()
        eventually(partial(key.has_queued, 1))
        assert not other()
        holder.unlock()
        assert not other()
        grant.result(SOON)
        waiter.end()
        holder.lock(lease=LONG)
    holder.unlock()


def test_java_that_gives_up_leaves_its_place_to_python(
    java: Callable[[str], JavaLock],
    python_waiter: Callable[[], PythonWaiter],
    key: FairKey,
) -> None:
    holder, waiter = java("t1"), python_waiter()
    holder.lock(lease=LONG)
    given_up = java("t2").begin_try_lock(wait=0.5, lease=LONG)
    eventually(partial(key.has_queued, 1))
    grant = waiter.begin()
    eventually(partial(key.has_queued, 2))
    behind = key.queue()[1]
    assert given_up.result(10).value is False
    assert key.queue() == [behind]
    holder.unlock()
    grant.result(SOON)
    waiter.end()
    eventually(key.no_client_waits)


def test_python_that_gives_up_leaves_its_place_to_java(
    java: Callable[[str], JavaLock],
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    key: FairKey,
) -> None:
    holder, waiter = java("t1"), java("t2")
    behind = waiter.owner
    holder.lock(lease=LONG)
    given_up = python_thread.submit(python.fair_lock(key.name).acquire, timeout=0.5)
    eventually(partial(key.has_queued, 1))
    grant = waiter.begin_lock(lease=LONG)
    eventually(partial(key.has_queued, 2))
    assert given_up.result(10) is False
    assert key.queue() == [behind]
    eventually(waiter.sleeps)
    holder.unlock()
    grant.result(SOON)
    waiter.unlock()
    eventually(key.no_client_waits)


@pytest.mark.realtime
def test_a_dead_head_of_java_is_passed_over_by_python_when_its_time_is_up(
    new_peer: NewPeer,
    python: holdfast.Client,
    python_waiter: Callable[[], PythonWaiter],
    key: FairKey,
    report: Report,
) -> None:
    mine, victim, waiter = python.fair_lock(key.name), new_peer(), python_waiter()
    assert mine.acquire(lease=2)
    victim.lock(key.name, kind="fair").begin_try_lock(wait=1, lease=LONG)
    eventually(partial(key.has_queued, 1))
    victim.kill()
    end = key.end_of_place(key.queue()[0])
    grant = waiter.begin()
    eventually(partial(key.has_queued, 2))
    mine.release()
    tries = key.tries()
    grant.result(10)
    late = time.time() - end
    report.waits("end of a dead Java's place to Python's acquire()", [late])
    assert -0.05 < late < SOON / 4
    assert key.tries() - tries < 20
    waiter.end()
    eventually(key.no_client_waits)


@pytest.mark.realtime
def test_a_dead_head_of_python_is_passed_over_by_java_when_its_time_is_up(
    java: Callable[[str], JavaLock],
    start_child: StartChild,
    key: FairKey,
    report: Report,
) -> None:
    """Redisson 4.7.0 sleeps besides until the end of the lease that it found."""
    holder, waiter = java("t1"), java("t2")
    holder.lock(lease=5)
    victim = start_child(QUEUED, URL=key.server.url, NAME=key.name)
    victim.expect("ready")
    eventually(partial(key.has_queued, 1))
    victim.kill()
    end = key.end_of_place(key.queue()[0])
    grant = waiter.begin_lock(lease=LONG)
    eventually(partial(key.has_queued, 2))
    told = time.time() + key.seconds_left()
    holder.unlock()
    grant.result(10)
    now = time.time()
    report.waits("end of a dead Python's place to Java's lock()", [now - end])
    assert end - 0.05 < now < max(end, told) + SOON / 4
    waiter.unlock()
    eventually(key.no_client_waits)


@pytest.mark.realtime
def test_a_living_head_of_python_keeps_its_place_longer_than_its_queue_timeout(
    java: Callable[[str], JavaLock],
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    key: FairKey,
) -> None:
    holder, behind = java("t1"), java("t2")
    mine = python.fair_lock(key.name, queue_timeout=0.5)
    holder.lock(lease=LONG)
    grant = python_thread.submit(mine.acquire, timeout=20, lease=LONG)
    eventually(partial(key.has_queued, 1))
    later = behind.begin_lock(lease=LONG)
    eventually(partial(key.has_queued, 2))
    owners = key.queue()
    stays(lambda: not java("t3").try_lock() and key.queue() == owners, during=2)
    holder.unlock()
    assert grant.result(SOON)
    assert not later.done()
    python_thread.submit(mine.release).result(SOON)
    later.result(SOON)
    behind.unlock()
    eventually(key.no_client_waits)
