"""Threads that end, threads that hog the interpreter, and the numbers they are known by."""

from __future__ import annotations

import sysconfig
import threading
import uuid
from itertools import pairwise
from typing import Any

import pytest

import holdfast
from tests.contract.process.conftest import NAME, SHORT, Notices, holds
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually


def run(target: Any) -> None:
    """Run `target` in a thread to its end."""
    thread = threading.Thread(target=target, name="the worker")
    thread.start()
    thread.join(BOUND)
    assert not thread.is_alive()


@pytest.mark.realtime
def test_renewal_stops_when_the_thread_ends(server: Server, notices: Notices) -> None:
    """ended-owner: a hold of a thread that ended is not renewed; a warning names the lock."""
    with holdfast.Client(server.url, lease=SHORT) as client:
        run(client.lock(NAME).acquire)
        assert holds(server)
        eventually(lambda: notices.naming(NAME))
        eventually(lambda: holds(server) == {})
        assert client.lock(NAME).acquire(blocking=False)
        client.lock(NAME).release()


@pytest.mark.realtime
def test_other_threads_keep_theirs(server: Server, notices: Notices) -> None:
    """ended-owner: only the holds of the thread that ended go."""
    with holdfast.Client(server.url, lease=SHORT) as client:
        mine = client.lock("mine")
        assert mine.acquire()
        run(client.lock(NAME).acquire)
        eventually(lambda: holds(server) == {})
        assert mine.owned()
        assert not mine.lost
        mine.release()
    assert not notices.naming("mine")


def test_a_thread_that_released_ends_without_a_word(server: Server, notices: Notices) -> None:
    """ended-owner: no warning for an orderly end."""

    def section() -> None:
        with client.lock(NAME):
            pass

    with holdfast.Client(server.url) as client:
        for _ in range(3):
            run(section)
    assert notices.texts == []


def test_a_threads_number_is_never_used_again(server: Server) -> None:
    """reused-thread-id: `get_ident` is reused by the system, an owner is not."""
    owners: list[bytes] = []
    idents: list[int] = []

    def hold() -> None:
        with client.lock(NAME):
            owners.extend(holds(server))
            idents.append(threading.get_ident())

    with holdfast.Client(server.url) as client:
        for _ in range(30):
            run(hold)
    assert len(set(idents)) < len(idents), "the system did not reuse an ident: nothing was tested"
    assert len(set(owners)) == 30
    numbers = [int(owner.split(b":")[1]) for owner in owners]
    assert numbers == sorted(numbers)


def test_a_new_thread_does_not_own_what_a_dead_one_held(server: Server, notices: Notices) -> None:
    """reused-thread-id: not even with the same ident."""
    tries: list[tuple[int, bool, int]] = []

    def look() -> None:
        lock = client.lock(NAME)
        tries.append((threading.get_ident(), lock.acquire(blocking=False), lock.hold_count()))

    def hold() -> None:
        tries.append((threading.get_ident(), not client.lock(NAME).acquire(), 0))

    with holdfast.Client(server.url, lease=60) as client:
        run(hold)
        for _ in range(20):
            run(look)
        idents = [ident for ident, _, _ in tries]
        assert len(set(idents)) < len(idents), "no ident was used again: nothing was tested"
        assert all(not held and count == 0 for _, held, count in tries)
        client.lock(NAME).force_release()


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this Python has no GIL to hold"
)
@pytest.mark.realtime
def test_renewed_while_python_holds_the_gil(start_child: StartChild, server: Server) -> None:
    """busy-gil, I9: one C call that keeps the GIL for longer than the lease.

    It is renewed throughout.
    """
    child = start_child(
        """
        read = ctypes.PyDLL(None).read      # PyDLL: the GIL is not released
        line = ctypes.create_string_buffer(16)
        ticks = []

        def tick():
            while True:
                ticks.append(time.monotonic())
                let_pass(0.01)

        lock = holdfast.Client(URL, lease=LEASE).lock(NAME)
        lock.acquire()
        threading.Thread(target=tick, daemon=True).start()
        before = len(ticks)
        say("held")
        read(0, line, 16)                   # until the parent says something
        say("stuck", len(ticks) - before < 20, lock.lost, lock.owned())
        """,
        URL=server.url,
        NAME=NAME,
        LEASE=2,
    )
    child.expect("held")
    left: list[int] = []

    def is_past_its_lease() -> bool:
        left.append(server.inspect.pttl(NAME))
        return sum(later > earlier for earlier, later in pairwise(left)) == 4  # thirds

    eventually(is_past_its_lease)
    child.send("go")
    assert child.expect("stuck") == ["True", "False", "True"]


def test_a_wait_does_not_hold_the_gil(server: Server) -> None:
    """A thread in a wait leaves the interpreter to the others."""
    server.inspect.hset(NAME, f"{uuid.uuid4()}:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    with holdfast.Client(server.url) as client:
        waiter = threading.Thread(target=lambda: client.lock(NAME).acquire(timeout=BOUND))
        waiter.start()
        assert sum(range(1_000_000)) == 499999500000
        assert client.lock(NAME).force_release()
        waiter.join(BOUND)
        assert not waiter.is_alive()
        client.lock(NAME).force_release()


def test_locks_in_a_thread_pool(server: Server) -> None:
    """Threads that come and go share one client."""
    counter = [0]

    def add() -> None:
        for _ in range(10):
            with client.lock(NAME):
                counter[0] += 1

    with holdfast.Client(server.url) as client:
        threads = [threading.Thread(target=add) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(3 * BOUND)
    assert counter == [100]
    assert server.keys() == set()


@pytest.mark.realtime
def test_a_client_that_is_forgotten_stops_renewing(server: Server, notices: Notices) -> None:
    """forgotten-client: neither a lock nor its client are referenced any more.

    The hold ends with its lease.
    """
    assert holdfast.Client(server.url, lease=SHORT).lock(NAME).acquire()
    assert holds(server)
    eventually(lambda: holds(server) == {})
    told = notices.naming(NAME)
    assert any("was closed while it held" in text for text in told)
    # A hold that a busy machine renewed too late would be lost for another reason.
    assert all("closed" in text for text in told)
