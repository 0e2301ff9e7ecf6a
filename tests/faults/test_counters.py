"""Semaphores and latches under lost replies, silence and interrupts: nothing counts twice."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT
from tests.support.actors import Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass

NAME = "counter"
PERMITS = "redisson_sc:{counter}"
OPENINGS = "redisson_countdownlatch__channel__{counter}"

# What each step makes of a counter of 5, and what it answers.
SEMAPHORE: dict[str, tuple[Callable[[Any], Any], Any, bytes | None]] = {
    "acquire": (lambda s: s.acquire(permits=2), True, b"3"),
    "release": (lambda s: s.release(2), None, b"7"),
    "release_if_exists": (lambda s: s.release_if_exists(2), True, b"7"),
    "add_permits": (lambda s: s.add_permits(-1), None, b"4"),
    "drain_permits": (lambda s: s.drain_permits(), 5, b"0"),
    "delete": (lambda s: s.delete(), True, None),
}
LATCH: dict[str, tuple[Callable[[Any], Any], Any, bytes | None]] = {
    "count_down": (lambda latch: latch.count_down(), None, b"4"),
    "delete": (lambda latch: latch.delete(), True, None),
}
STEPS = [("semaphore", step) for step in SEMAPHORE] + [("count_down_latch", step) for step in LATCH]


class Far:
    """Makes a counter whose client reaches the server through the proxy."""

    def __init__(self, make_client: MakeClient, proxy: FaultProxy) -> None:
        self._make_client = make_client
        self.proxy = proxy

    def __call__(self, kind: str, its: dict[str, Any] | None = None, **options: Any) -> Any:
        return getattr(self._make_client(self.proxy.url, **options), kind)(NAME, **(its or {}))


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Far:
    return Far(make_client, proxy)


def value(server: Server) -> bytes | None:
    found: bytes | None = server.inspect.get(NAME)
    return found


def is_back(server: Server, expected: bytes) -> bool:
    there = value(server)
    assert there == expected, f"the counter is {there!r}"
    return True


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
@pytest.mark.parametrize("case", STEPS, ids="-".join)
def test_a_step_executed_but_its_reply_lost_counts_once(
    alice: Any, far: Far, server: Server, case: tuple[str, str], kept: int
) -> None:
    """lost-reply."""
    kind, step = case
    call, answer, after = (SEMAPHORE if kind == "semaphore" else LATCH)[step]
    counter, proxy = far(kind), far.proxy
    for _ in range(3):  # the first time the server has to learn the script
        server.inspect.set(NAME, 5)
        lost = proxy.truncate_reply(kept)
        assert alice.do(call, counter) == answer
        assert lost.is_set()
        assert value(server) == after


@pytest.mark.parametrize("kind", ["semaphore", "count_down_latch"])
def test_a_counter_that_was_made_though_the_reply_was_lost(
    alice: Any, far: Far, proxy: FaultProxy, server: Server, kind: str
) -> None:
    counter = far(kind)
    make = counter.try_set_permits if kind == "semaphore" else counter.try_set_count
    for _ in range(2):
        server.inspect.delete(NAME)
        lost = proxy.lose_reply()
        assert alice.do(make, 3) is True
        assert lost.is_set()
    assert alice.do(make, 4) is False


def test_a_lost_release_wakes_once(
    alice: Any, make_actor: MakeActor, client: Any, far: Far, server: Server
) -> None:
    semaphore = far("semaphore")
    alice.do(semaphore.release)
    alice.do(semaphore.drain_permits)
    waiting = [make_actor().begin(client.semaphore(NAME).acquire) for _ in range(2)]
    eventually(lambda: server.subscribers(PERMITS) == 1)
    lost = far.proxy.lose_reply()
    alice.do(semaphore.release)
    assert lost.is_set()
    eventually(lambda: sum(each.done() for each in waiting) == 1)
    assert value(server) == b"0"
    alice.do(semaphore.release)
    assert all(each.result(BOUND) for each in waiting)


@pytest.mark.parametrize("kind", ["semaphore", "count_down_latch"])
def test_a_message_lost_with_its_connection_is_made_up_for(
    alice: Any, far: Far, proxy: FaultProxy, server: Server, kind: str
) -> None:
    """Long before the look that a waiter takes now and then."""
    counter = far(kind)
    server.inspect.set(NAME, 0 if kind == "semaphore" else 1)
    channel = PERMITS if kind == "semaphore" else OPENINGS
    waiting = alice.begin(counter.acquire if kind == "semaphore" else counter.wait)
    eventually(lambda: server.subscribers(channel) == 1)
    proxy.refuse()
    server.inspect.set(NAME, 1 if kind == "semaphore" else 0)
    server.inspect.publish(channel, "1" if kind == "semaphore" else "0")
    proxy.heal()
    assert waiting.result(BOUND) is True


@pytest.mark.realtime
def test_a_grant_after_the_callers_error_is_released(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    semaphore = make_client(private_server.url, command_timeout=IMPATIENT).semaphore(NAME)
    alice.do(semaphore.try_set_permits, 2)
    alice.do(semaphore.acquire)
    for _ in range(3):
        private_server.pause()
        waiting = alice.begin(semaphore.acquire)
        with pytest.raises(holdfast.ConnectionError):
            waiting.result(BOUND)
        private_server.resume()
        assert alice.do(semaphore.acquire, timeout=3) is True
        alice.do(semaphore.release)
        eventually(lambda: is_back(private_server, b"1"))


@pytest.mark.realtime
@pytest.mark.parametrize("kind", ["semaphore", "count_down_latch"])
def test_what_was_given_while_the_server_was_out_of_reach_arrives(
    alice: Any, far: Far, proxy: FaultProxy, server: Server, kind: str
) -> None:
    counter = far(kind, command_timeout=IMPATIENT)
    give = counter.release if kind == "semaphore" else counter.count_down
    server.inspect.set(NAME, 5)
    alice.do(give)
    expected = (value(server) or b"", b"7" if kind == "semaphore" else b"3")
    assert expected[0] == (b"6" if kind == "semaphore" else b"4")
    proxy.refuse()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(give)
    assert value(server) == expected[0]
    proxy.heal()
    eventually(lambda: is_back(server, expected[1]))


@pytest.mark.realtime
@pytest.mark.flavours("asyncio")
def test_a_task_cancelled_while_its_acquire_is_in_flight_has_taken_nothing(
    flavour: Flavour, make_client: MakeClient, private_server: Server
) -> None:
    semaphore = make_client(private_server.url).semaphore(NAME)
    flavour.actor().do(semaphore.try_set_permits, 3)
    for permits in (1, 2, 3):
        private_server.pause()
        owner = flavour.actor()
        waiting = owner.begin(semaphore.acquire, permits=permits)
        let_pass(0.02)
        owner.cancel()
        eventually(waiting.done)
        private_server.resume()
        assert flavour.actor().do(semaphore.available_permits) == 3


@pytest.mark.flavours("asyncio")
def test_a_release_is_carried_through_though_its_task_is_cancelled(
    flavour: Flavour, make_client: MakeClient, private_server: Server
) -> None:
    semaphore = make_client(private_server.url).semaphore(NAME)
    flavour.actor().do(semaphore.release)
    private_server.pause()
    owner = flavour.actor()
    waiting = owner.begin(semaphore.release)
    let_pass(0.02)
    owner.cancel()
    eventually(waiting.done)
    private_server.resume()
    eventually(lambda: is_back(private_server, b"2"))


@pytest.fixture
def way(private_server: Server) -> Iterator[FaultProxy]:
    """A way to the private server on which one sees what is sent."""
    with FaultProxy(private_server.port) as proxy:
        yield proxy


@pytest.mark.realtime
def test_ctrl_c_while_the_acquire_is_in_flight(
    start_child: StartChild, private_server: Server, way: FaultProxy
) -> None:
    child = start_child(
        """
        semaphore = holdfast.Client(URL).semaphore(NAME)
        semaphore.try_set_permits(1)
        say("ready")
        for _ in range(ROUNDS):
            hear("go")
            try:
                say("waits")
                semaphore.acquire()
            except KeyboardInterrupt:
                say("interrupted")
            hear("next")
            say("free", semaphore.available_permits())
        """,
        URL=way.url,
        NAME=NAME,
        ROUNDS=3,
    )
    child.expect("ready")
    for _ in range(3):
        private_server.pause()
        before = way.requests
        child.send("go")
        child.expect("waits")
        eventually(lambda seen=before: way.requests > seen)
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        private_server.resume()
        child.send("next")
        assert child.expect("free") == ["1"]


@pytest.mark.parametrize("kind", ["semaphore", "count_down_latch"])
def test_ctrl_c_ends_a_wait(start_child: StartChild, server: Server, kind: str) -> None:
    server.inspect.set(NAME, 0 if kind == "semaphore" else 1)
    channel = PERMITS if kind == "semaphore" else OPENINGS
    child = start_child(
        """
        counter = getattr(holdfast.Client(URL), KIND)(NAME)
        for _ in range(2):
            try:
                (counter.acquire if KIND == "semaphore" else counter.wait)()
            except KeyboardInterrupt:
                say("interrupted")
            hear("next")
        """,
        URL=server.url,
        NAME=NAME,
        KIND=kind,
    )
    before = value(server)
    for _ in range(2):
        eventually(lambda: server.subscribers(channel) == 1)
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        eventually(lambda: server.subscribers(channel) == 0)
        child.send("next")
    assert value(server) == before


PERMITS_CHANGES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "try_set_more": (lambda s: s.try_set_permits(4), 2),
    "try_set_less": (lambda s: s.try_set_permits(1), 1),
    "add": (lambda s: s.add_permits(1), 2),
    "remove": (lambda s: s.add_permits(-1), 1),
    "set_more": (lambda s: s.set_permits(4), 2),
    "set_less": (lambda s: s.set_permits(1), 1),
}
PERMITS_CASES = [
    (kind, change)
    for kind in ("semaphore", "permit_semaphore")
    for change in PERMITS_CHANGES
    if kind == "permit_semaphore" or not change.startswith("set")
]


@pytest.mark.realtime
@pytest.mark.parametrize("case", PERMITS_CASES, ids="-".join)
def test_a_change_without_a_reply_sets_up_the_smaller_number_later(
    alice: Any, far: Far, server: Server, case: tuple[str, str]
) -> None:
    kind, name = case
    change, expected = PERMITS_CHANGES[name]
    semaphore = far(kind, {"permits": 2}, command_timeout=0.3)
    far.proxy.deafen()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(change, semaphore)
    far.proxy.heal()
    server.inspect.flushdb()
    taken = [bool(alice.do(semaphore.acquire, timeout=1)) for _ in range(expected + 1)]
    assert taken == [True] * expected + [False]
