"""Waiters of a fair lock that die or are stopped, in separate processes."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import NAME
from tests.support.processes import Child, StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

pytestmark = [pytest.mark.realtime, pytest.mark.servers("real")]

QUEUE = f"redisson_lock_queue:{{{NAME}}}"
TIMEOUTS = f"redisson_lock_timeout:{{{NAME}}}"

PATIENCE = 1.5
LONG = 30.0
"""The patience of waiters that a busy machine must not drop from the line."""

WAITER = """
client = holdfast.Client(URL)
lock = client.fair_lock(NAME, queue_timeout=PATIENCE)

def wait(number):
    lock.acquire()
    say("granted", number)
    hear("release")
    lock.release()
    say("released", number)

threads = [threading.Thread(target=wait, args=(number,)) for number in range(WAITERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.fixture
def client(server: Server) -> Any:
    with holdfast.Client(server.url) as client:
        yield client


class Line:
    """Processes that wait, one after the other, for a lock that is held here."""

    def __init__(self, server: Server, start_child: StartChild) -> None:
        self.server = server
        self._start_child = start_child

    def __len__(self) -> int:
        return int(self.server.inspect.llen(QUEUE))

    def joined_by(self, waiters: int = 1, patience: float = PATIENCE) -> Child:
        longer = len(self) + waiters
        child = self._start_child(
            WAITER, URL=self.server.url, NAME=NAME, PATIENCE=patience, WAITERS=waiters
        )
        eventually(lambda: len(self) == longer)
        return child


@pytest.fixture
def line(server: Server, start_child: StartChild) -> Line:
    return Line(server, start_child)


def test_processes_take_turns_in_the_order_of_asking(client: Any, line: Line) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    children = [line.joined_by(patience=LONG) for _ in range(4)]
    lock.release()
    for position, child in enumerate(children):
        child.expect("granted")
        assert not any(later.said_something for later in children[position + 1 :])
        child.send("release")
        child.expect("released")


def test_a_killed_waiter_is_passed_over_when_its_time_is_up(client: Any, line: Line) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    dead, living = line.joined_by(), line.joined_by()
    dead.kill()
    lock.release()
    living.expect("granted")
    assert len(line) == 0


def test_many_waiters_killed_at_once_cost_no_more_than_one(client: Any, line: Line) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    dead, living = line.joined_by(45), line.joined_by()  # together more than a minute
    dead.kill()
    lock.release()
    living.expect("granted")


def test_a_patient_waiter_does_not_make_a_dead_one_behind_it_last(client: Any, line: Line) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    granted: list[bool] = []
    patient = client.fair_lock(NAME, queue_timeout=600)

    def wait_and_release() -> None:
        granted.append(patient.acquire(timeout=BOUND))
        patient.release()

    thread = threading.Thread(target=wait_and_release)
    thread.start()
    eventually(lambda: len(line) == 1)
    dead, living = line.joined_by(), line.joined_by()
    dead.kill()
    lock.release()
    thread.join(BOUND)
    assert granted == [True]
    living.expect("granted")


def test_a_killed_holders_lock_goes_to_the_first_in_line(
    server: Server, start_child: StartChild, line: Line
) -> None:
    holder = start_child(
        """
        lock = holdfast.Client(URL, lease=3).fair_lock(NAME)
        lock.acquire()
        say("held")
        hear()
        """,
        URL=server.url,
        NAME=NAME,
    )
    holder.expect("held")
    first, second = line.joined_by(patience=LONG), line.joined_by(patience=LONG)
    holder.kill()
    first.expect("granted")
    assert not second.said_something


def test_a_waiter_that_stood_still_loses_its_place_and_nothing_else(
    client: Any, line: Line
) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    frozen, living = line.joined_by(), line.joined_by()
    frozen.pause()
    lock.release()
    living.expect("granted")
    frozen.resume()
    eventually(lambda: len(line) == 1)
    living.send("release")
    frozen.expect("granted")


def test_a_waiter_whose_interpreter_is_busy_keeps_its_place(
    client: Any, server: Server, start_child: StartChild
) -> None:
    """It gives its signs of life without the GIL."""
    lock = client.fair_lock(NAME)
    lock.acquire()
    child = start_child(
        """
        lock = holdfast.Client(URL).fair_lock(NAME, queue_timeout=1.5)
        threading.Thread(target=lambda: (lock.acquire(), say("granted"))).start()
        hear("seize")
        ctypes.PyDLL(None).usleep(3_000_000)  # with the GIL
        hear("end")
        os._exit(0)
        """,
        URL=server.url,
        NAME=NAME,
    )
    eventually(lambda: server.inspect.llen(QUEUE) == 1)
    (waiter,) = server.inspect.lrange(QUEUE, 0, -1)
    child.send("seize")

    def is_alive() -> bool:
        seconds, micros = server.inspect.time()
        return bool((server.inspect.zscore(TIMEOUTS, waiter) or 0) > seconds * 1000 + micros / 1000)

    stays(is_alive, during=2.5)
    child.send("end")
    lock.release()


def test_ctrl_c_takes_a_waiter_out_of_the_line(
    client: Any, server: Server, start_child: StartChild
) -> None:
    lock = client.fair_lock(NAME)
    lock.acquire()
    child = start_child(
        """
        client = holdfast.Client(URL)
        try:
            client.fair_lock(NAME).acquire()
        except KeyboardInterrupt:
            say("interrupted")
        hear("end")
        """,
        URL=server.url,
        NAME=NAME,
    )
    eventually(lambda: server.inspect.llen(QUEUE) == 1)
    child.signal(signal.SIGINT)
    child.expect("interrupted")
    eventually(lambda: server.inspect.llen(QUEUE) == 0)
    assert server.keys() == {NAME.encode()}
    child.send("end")
    lock.release()
