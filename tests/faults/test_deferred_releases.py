"""Deferred releases: what is reported later, and what never happens although no caller waited."""

from __future__ import annotations

import logging
import statistics
import threading
from typing import Any

import pytest

from tests.faults.conftest import IMPATIENT, NAME, holds
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass

pytestmark = [pytest.mark.realtime, pytest.mark.flavours("sync")]

LONG = 3600.0
"""A lease that no test lives to see the end of."""


@pytest.fixture
def deferring(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """A client whose blocks defer their releases, and that reaches the server through the proxy."""
    return make_client(proxy.url, releases="deferred", command_timeout=IMPATIENT)


def records(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    """What was logged with these words."""
    return [record.getMessage() for record in caplog.records if words in record.getMessage()]


def test_it_ends_although_no_reply_comes(
    make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """unanswered-release."""
    client = make_client(proxy.url, releases="deferred", command_timeout=600)
    lock = client.lock(NAME, lease=LONG)
    lock.acquire()
    proxy.deafen()
    lock.release(wait=False)  # else it lasts for the command_timeout
    eventually(lambda: not holds(server))
    proxy.heal()
    eventually(lambda: client.stats().released == 1)


def test_a_lost_reply_is_no_loss_and_frees_no_newer_hold(
    deferring: Any, proxy: FaultProxy, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """unanswered-release.

    The connection sends the release again, in front of what its owner asks for since.
    """
    told: list[Any] = []
    lock = deferring.lock(NAME, on_lost=told.append)
    for _ in range(20):
        lock.acquire()
        lost = proxy.lose_reply()
        lock.release(wait=False)
        assert lock.acquire()
        assert lost.wait(BOUND)
        assert list(holds(server).values()) == [1]
        assert not lock.lost
        lock.release()
        assert not holds(server)
    assert (told, records(caplog, "lost")) == ([], [])
    assert deferring.stats().lost == 0


def test_a_release_without_an_answer_is_logged_and_goes_on(
    deferring: Any, proxy: FaultProxy, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """unanswered-release."""
    lock = deferring.lock(NAME, lease=LONG)
    lock.acquire()
    proxy.black_hole()
    with caplog.at_level(logging.ERROR, "holdfast"):
        lock.release(wait=False)
        eventually(lambda: records(caplog, "deferred release"))
    assert holds(server)
    proxy.heal()
    eventually(lambda: not holds(server))


def test_a_lease_that_ends_before_the_release_arrives_is_a_loss(
    deferring: Any, proxy: FaultProxy
) -> None:
    """unanswered-release."""
    told: list[Any] = []
    lock = deferring.lock(NAME, lease=2 * IMPATIENT, on_lost=told.append)
    lock.acquire()
    proxy.black_hole()
    lock.release(wait=False)
    eventually(lambda: told == [lock])
    proxy.heal()


def test_a_refused_release_is_logged(
    make_client: MakeClient, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """unanswered-release."""
    lock = make_client(server.url).lock(NAME, lease=LONG)
    lock.acquire()
    server.inspect.delete(NAME)
    server.inspect.set(NAME, "no lock")
    with caplog.at_level(logging.ERROR, "holdfast"):
        lock.release(wait=False)
        eventually(lambda: records(caplog, "WRONGTYPE"))


def test_other_clients_have_their_turn(make_client: MakeClient, server: Server) -> None:
    """greedy-client.

    A client that releases and acquires without a pause gets the lock only in turn.
    """
    eager = make_client(server.url, releases="deferred").lock(NAME)
    modest = make_client(server.url).lock(NAME)
    over = threading.Event()
    turns = [0]

    def insist() -> None:
        while not over.is_set():
            with eager:
                turns[0] += 1
                let_pass(0.005)  # longer than other clients go first

    thread = threading.Thread(target=insist)
    thread.start()
    try:
        passed_by = []
        for _ in range(11):
            before = turns[0]
            assert modest.acquire(timeout=5)
            passed_by.append(turns[0] - before)
            modest.release()
    finally:
        over.set()
        thread.join()
    assert statistics.median(passed_by) <= 3


def test_close_and_exit_wait_for_what_is_owed(
    start_child: StartChild, private_server: Server
) -> None:
    """deferred-at-close."""
    child = start_child(
        """
        client = holdfast.Client(URL, releases="deferred")
        with client.lock("closed", lease=3600):
            pass
        client.close()
        say(str(client.stats().released))
        client = holdfast.Client(URL, releases="deferred")
        with client.lock("exited", lease=3600):
            pass
        """,
        URL=private_server.url,
    )
    child.expect("1")
    assert child.wait() == 0
    assert private_server.keys() == set()
    assert "Warning" not in child.errors


def test_a_child_of_fork_repeats_no_release_of_its_parent(
    start_child: StartChild, private_server: Server
) -> None:
    """deferred-at-close."""
    child = start_child(
        """
        client = holdfast.Client(URL, releases="deferred")
        lock = client.lock("myLock", lease=3600)
        for _ in range(20):
            with lock:
                pass
            pid = os.fork()
            if not pid:
                held = lock.acquire(timeout=10)
                lock.release()
                os._exit(0 if held else 1)
            assert os.waitpid(pid, 0)[1] == 0
        say("done")
        """,
        URL=private_server.url,
    )
    child.expect("done")


def test_ctrl_c_leaves_nothing_held(start_child: StartChild, private_server: Server) -> None:
    """deferred-at-close.

    At whatever moment of pairs of acquisitions and deferred releases it comes.
    """
    child = start_child(
        """
        import signal, random
        client = holdfast.Client(URL, releases="deferred")
        lock = client.lock("myLock", lease=3600)
        for _ in range(60):
            timer = random.random() * 0.003 + 0.0005
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            try:
                signal.setitimer(signal.ITIMER_REAL, timer)
                while True:
                    with lock:
                        pass
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert not lock._is_owned()
            other = holdfast.Client(URL)
            assert other.lock("myLock").acquire(timeout=10), "left behind"
            other.lock("myLock").release()
            other.close()
        say("done")
        """,
        URL=private_server.url,
    )
    child.expect("done")
