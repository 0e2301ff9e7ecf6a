"""Barriers under faults: parties that die in each state, lost replies, interrupts, lost data."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from holdfast._locks.barrier import BaseBarrier
from tests.faults.conftest import IMPATIENT, LASTING, SHORT
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myBarrier"
STATE = "holdfast_state:{myBarrier}"
TIMEOUTS = "{myBarrier}:timeout"

BEGIN = """
from holdfast._locks.barrier import BaseBarrier

arrive, go_on = BaseBarrier._arrive, BaseBarrier._pass

def halt():
    say("there")
    hear("end")

def halt_before_it_arrives(*given):
    halt()
    return arrive(*given)

def halt_before_it_leaves(*given):
    place = yield from go_on(*given)
    halt()
    return place

client = holdfast.Client(URL, lease=LEASE, **OPTIONS)
barrier = client.barrier(NAME, PARTIES)
"""

WAITING = """
say("there")
barrier.wait()
"""

BEFORE_IT_WAITS = """
BaseBarrier._arrive = halt_before_it_arrives
barrier.wait()
"""

BEFORE_IT_LEAVES = """
BaseBarrier._pass = halt_before_it_leaves
barrier.wait()
"""

FORKING = """
child = os.fork() == 0
index = barrier.wait()
if child:
    os._exit(index)
_, status = os.wait()
say("met", sorted([index, os.waitstatus_to_exitcode(status)]))
"""


def waiting_parties(server: Server) -> int:
    fields = server.inspect.hgetall(STATE)
    return sum(value[:1] == b"w" for field, value in fields.items() if field[:6] == b"party:")


def wait(server: Server, flavour: Flavour, barrier: Any, **how: Any) -> Future[Any]:
    """Let a new party wait; returns once the server has it there, or its wait is over."""
    before = waiting_parties(server)
    waiting: Future[Any] = flavour.actor().begin(barrier.wait, **how)
    eventually(lambda: waiting.done() or waiting_parties(server) > before)
    return waiting


def is_broken(waiting: Future[Any]) -> bool:
    with pytest.raises(holdfast.BrokenBarrierError, match=NAME):
        waiting.result(BOUND)
    return True


@pytest.fixture
def near(make_client: MakeClient, server: Server) -> Any:
    """A barrier of two parties."""
    return make_client(server.url, lease=LASTING).barrier(NAME, 2)


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """The same barrier, of a client that reaches the server through the proxy."""
    return make_client(proxy.url, lease=LASTING, command_timeout=IMPATIENT).barrier(NAME, 2)


Losing = Callable[[str], tuple[list[Any], Any]]
ARRIVES, LEAVES = "arrives", "leaves"


@pytest.fixture
def losing(far: Any, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> Losing:
    """Lose the reply to what is sent next where a party arrives, or leaves; it, and `far`."""
    return lambda when: (before(monkeypatch, when, proxy.lose_reply), far)


def before(monkeypatch: pytest.MonkeyPatch, when: str, what: Callable[[], Any]) -> list[Any]:
    """Do something before the next party arrives, or leaves, once; what it returned."""
    arrive, go_on, done = BaseBarrier._arrive, BaseBarrier._pass, list[Any]()

    def do() -> None:
        if not done:
            done.append(None)
            done[0] = what()

    def arrive_late(*given: Any) -> Any:
        do()
        return arrive(*given)

    def leave_late(*given: Any) -> Any:
        place = yield from go_on(*given)
        do()
        return place

    if when == ARRIVES:
        monkeypatch.setattr(BaseBarrier, "_arrive", arrive_late)
    else:
        monkeypatch.setattr(BaseBarrier, "_pass", leave_late)
    return done


# ---- parties that die


@pytest.mark.realtime
@pytest.mark.flavours("sync")
@pytest.mark.parametrize(
    "dying",
    [
        {"LEASE": SHORT, "OPTIONS": {}},
        pytest.param(
            {"LEASE": 60.0, "OPTIONS": {"guard": True}}, marks=pytest.mark.servers("real")
        ),
    ],
    ids=["without a guard", "with a guard"],
)
def test_a_killed_party_breaks_the_barrier_at_the_end_of_a_lease(
    server: Server,
    make_client: MakeClient,
    flavour: Flavour,
    start_child: StartChild,
    dying: dict[str, Any],
) -> None:
    """Its own lease; with a guard the shortest one of all that wait."""
    three = make_client(server.url, lease=LASTING).barrier(NAME, 3)
    waiting = wait(server, flavour, three)
    child = start_child(BEGIN + WAITING, URL=server.url, NAME=NAME, PARTIES=3, **dying)
    child.expect("there")
    eventually(lambda: waiting_parties(server) == 2)
    child.signal(signal.SIGKILL)
    assert is_broken(waiting)


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("state", [BEFORE_IT_WAITS, BEFORE_IT_LEAVES])
def test_a_party_that_is_killed_before_or_after_its_wait_breaks_nothing(
    server: Server, near: Any, flavour: Flavour, start_child: StartChild, state: str
) -> None:
    how = {"URL": server.url, "NAME": NAME, "PARTIES": 2, "LEASE": SHORT, "OPTIONS": {}}
    child = start_child(BEGIN + state, **how)
    if state is BEFORE_IT_LEAVES:
        assert flavour.actor().do(near.wait) in {0, 1}
    child.expect("there")
    child.signal(signal.SIGKILL)
    waiting = wait(server, flavour, near)
    assert flavour.actor().do(near.wait) == 1
    assert waiting.result(BOUND) == 0


@pytest.mark.flavours("sync")
def test_a_child_of_fork_is_another_party(server: Server, start_child: StartChild) -> None:
    how = {"URL": server.url, "NAME": NAME, "PARTIES": 2, "LEASE": 30, "OPTIONS": {}}
    parent = start_child(BEGIN + FORKING, **how)
    assert "".join(parent.expect("met")) == "[0,1]"
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)


@pytest.mark.realtime
def test_a_party_out_of_reach_breaks_it_for_the_others(
    server: Server, make_client: MakeClient, flavour: Flavour, proxy: FaultProxy
) -> None:
    three = make_client(server.url, lease=LASTING).barrier(NAME, 3)
    far = make_client(proxy.url, lease=SHORT, command_timeout=IMPATIENT).barrier(NAME, 3)
    waiting, cut_off = wait(server, flavour, three), wait(server, flavour, far)
    proxy.black_hole()
    assert is_broken(waiting)
    proxy.heal()
    with pytest.raises(
        (holdfast.BrokenBarrierError, holdfast.ConnectionError, holdfast.LockLostError)
    ):
        cut_off.result(BOUND)


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("when", [ARRIVES, LEAVES])
def test_an_interrupted_party_leaves_nothing_behind(
    server: Server, near: Any, flavour: Flavour, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    before(monkeypatch, when, interrupt)
    with pytest.raises((KeyboardInterrupt, holdfast.BrokenBarrierError)):
        flavour.actor().do(near.wait, timeout=0.05)
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)
    assert waiting_parties(server) == 0


class Alarm(ValueError):
    """What a signal handler of the program raises."""


@pytest.mark.flavours("sync")
def test_a_party_that_a_signal_handler_ends_breaks_the_barrier_whatever_it_raises(
    server: Server, make_client: MakeClient, flavour: Flavour
) -> None:
    client = make_client(server.url, lease=4 * BOUND)  # so that no lease ends in the test
    waiting = wait(server, flavour, client.barrier(NAME, 3))
    ended = client.barrier(NAME, 3)

    def ring(*_: object) -> None:
        raise Alarm

    before_it = signal.signal(signal.SIGALRM, ring)
    try:
        main = threading.main_thread().ident
        assert main is not None

        def kill() -> None:
            eventually(lambda: waiting_parties(server) == 2)
            signal.pthread_kill(main, signal.SIGALRM)

        killing = threading.Thread(target=kill)
        killing.start()
        with pytest.raises(Alarm):
            ended.wait()
        killing.join()
    finally:
        signal.signal(signal.SIGALRM, before_it)
    assert is_broken(waiting)
    assert waiting_parties(server) == 0


# ---- lost replies, lost data


def test_a_party_whose_reply_is_lost_waits_once(
    server: Server, near: Any, flavour: Flavour, losing: Losing
) -> None:
    lost, far = losing(ARRIVES)
    waiting = wait(server, flavour, far)
    eventually(lost[0].is_set)
    assert waiting_parties(server) == 1
    assert flavour.actor().do(near.wait) == 1
    assert waiting.result(BOUND) == 0


def test_a_party_whose_permit_is_gone_before_it_arrives_takes_another(
    server: Server, near: Any, flavour: Flavour, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = before(monkeypatch, ARRIVES, lambda: server.inspect.delete(TIMEOUTS))
    waiting = wait(server, flavour, near)
    assert done == [1]
    assert flavour.actor().do(near.wait) == 1
    assert waiting.result(BOUND) == 0


def test_a_last_party_whose_reply_is_lost_goes_on(
    server: Server, near: Any, flavour: Flavour, losing: Losing
) -> None:
    lost, far = losing(ARRIVES)
    waiting = wait(server, flavour, near)
    assert flavour.actor().do(far.wait) == 1
    assert lost[0].is_set()
    assert waiting.result(BOUND) == 0


def test_a_party_that_leaves_and_whose_reply_is_lost_has_gone_on(
    server: Server, near: Any, flavour: Flavour, losing: Losing
) -> None:
    lost, far = losing(LEAVES)
    waiting = wait(server, flavour, far)
    assert flavour.actor().do(near.wait) == 1
    assert waiting.result(BOUND) == 0
    eventually(lost[0].is_set)
    eventually(lambda: not server.inspect.exists(STATE))


@pytest.mark.flavours("sync")
def test_a_party_that_passed_when_its_time_was_over_goes_on_also_without_a_reply(
    near: Any, far: Any, flavour: Flavour, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive, lost = BaseBarrier._arrive, list[Any]()

    def pass_late(barrier: Any, grant: Any, waits: bool, time: Any) -> Any:
        if barrier is far and not waits:
            assert flavour.actor().do(near.wait) == 1
            lost.append(proxy.lose_reply())
        return arrive(barrier, grant, waits, time)

    monkeypatch.setattr(BaseBarrier, "_arrive", pass_late)
    assert flavour.actor().do(far.wait, timeout=0.05) == 0
    assert lost[0].is_set()


@pytest.mark.realtime
def test_lost_data_break_it_for_all_that_wait(
    make_client: MakeClient, private_server: Server, flavour: Flavour
) -> None:
    """At the end of the lease, at the latest."""
    barriers = [make_client(private_server.url, lease=SHORT).barrier(NAME, 3) for _ in range(2)]
    waiting = [wait(private_server, flavour, barrier) for barrier in barriers]
    private_server.inspect.flushall()
    assert all(map(is_broken, waiting))
    fresh = wait(private_server, flavour, make_client(private_server.url).barrier(NAME, 2))
    assert flavour.actor().do(make_client(private_server.url).barrier(NAME, 2).wait) == 1
    assert fresh.result(BOUND) == 0
