"""Slots under faults: owners that die in each state, lost replies, cancelled and forked owners."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from holdfast._locks import slots as slots_module
from holdfast._locks.slots import Table, Taken
from tests.contract.permits import UNKNOWN
from tests.faults.conftest import IMPATIENT, SHORT
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "mySlots"
TIMEOUTS = "{mySlots}:timeout"
SLOTS = "holdfast_slots:{mySlots}"
CHANNEL = "redisson_sc:{mySlots}"

HOLDING = """
slot = slots.acquire()
say("there", slot.index)
hear("end")
"""

WITHOUT_A_SLOT = """
from holdfast._locks.slots import BaseSlots
def halt(self, *given):
    say("there", 0)
    hear("end")
BaseSlots._agree = halt
slots.acquire()
"""

WAITING = """
slots.acquire(), slots.acquire()
say("there", 1)
slots.acquire()
"""

BEGIN = """
slots = holdfast.Client(URL, lease=LEASE).slots(NAME, 2)
"""

FORKING = """
slots = holdfast.Client(URL).slots(NAME, 1)
try:
    with slots as slot:
        child = os.fork() == 0
        if not child:
            os.wait()
            say("parent", slot.lost, list(slots.taken()))
        else:
            try:
                slot.release()
            except holdfast.NotOwnedError as error:
                say("child", slot.lost, error)
except holdfast.NotOwnedError:
    os._exit(0)
say("end", list(slots.taken()))
"""

GUARDED = """
slot = holdfast.Client(URL, lease=60.0, guard=True).slots(NAME, 1).acquire()
say("there", slot.index)
hear("end")
"""


class Between:
    """Does something once the server has given a slot, before its caller has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, slots: Any) -> None:
        self._patch = monkeypatch
        self._class = type(slots)

    def do(self, what: Callable[[], Any]) -> None:
        agree = self._class._agree

        def agree_late(*given: Any) -> None:
            what()
            agree(*given)

        self._patch.setattr(self._class, "_agree", agree_late)


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """Two slots, of a client that reaches the server through the proxy."""
    return make_client(proxy.url, command_timeout=IMPATIENT).slots(NAME, 2)


@pytest.fixture
def near(make_client: MakeClient, server: Server) -> Any:
    """The same slots, of another client."""
    return make_client(server.url).slots(NAME, 2)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch, far: Any) -> Between:
    return Between(monkeypatch, far)


@pytest.mark.realtime
@pytest.mark.flavours("sync")
@pytest.mark.parametrize("state", [HOLDING, WITHOUT_A_SLOT, WAITING])
def test_the_slots_of_a_killed_process_are_free_after_its_lease(
    server: Server, near: Any, alice: Any, start_child: StartChild, state: str
) -> None:
    child = start_child(BEGIN + state, URL=server.url, NAME=NAME, LEASE=SHORT)
    child.expect("there")
    child.signal(signal.SIGKILL)
    taken = [alice.do(near.acquire, timeout=BOUND) for _ in range(2)]
    assert {slot.index for slot in taken} == {0, 1}


@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
def test_with_a_guard_they_are_free_at_once(
    server: Server, make_client: MakeClient, alice: Any, start_child: StartChild
) -> None:
    child = start_child(GUARDED, URL=server.url, NAME=NAME)
    child.expect("there")
    child.signal(signal.SIGKILL)
    slots = make_client(server.url).slots(NAME, 1)
    assert alice.do(slots.acquire, timeout=BOUND).index == 0


@pytest.mark.flavours("sync")
def test_a_child_of_fork_has_no_slot_of_its_parent(server: Server, start_child: StartChild) -> None:
    parent = start_child(FORKING, URL=server.url, NAME=NAME)
    assert parent.expect("child")[0] == "True"
    assert parent.expect("parent") == ["False", "[0]"]
    assert parent.expect("end") == ["[]"]


def test_a_slot_whose_reply_is_lost_is_granted_once(
    far: Any, near: Any, alice: Any, proxy: FaultProxy
) -> None:
    earlier = alice.do(far.acquire)
    alice.do(earlier.release)
    lost = proxy.lose_reply()
    slot = alice.do(far.acquire)
    assert lost.is_set()
    assert slot.index == 0
    assert slot.token > earlier.token
    assert list(alice.do(near.taken)) == [0]
    assert alice.do(near.acquire).index == 1


def test_a_slot_that_is_refused_when_it_is_asked_for_again_leaves_nothing_behind(
    server: Server, make_client: MakeClient, flavour: Any, alice: Any, proxy: FaultProxy
) -> None:
    """The first reply is lost, and then the server has other slots."""
    slots = make_client(proxy.url, lease=600).slots(NAME, 2)
    alice.do(alice.do(slots.acquire).release)
    proxy.deafen()
    refused = flavour.actor().begin(slots.acquire)
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 1)
    server.inspect.hset(SLOTS, "values", "a\nb")
    proxy.heal()
    with pytest.raises(ValueError, match="have the values"):
        refused.result(BOUND)
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)
    assert server.inspect.get(NAME) == b"2"


def test_a_slot_out_of_reach_leaves_nothing_behind(
    far: Any, server: Server, alice: Any, proxy: FaultProxy
) -> None:
    alice.do(alice.do(far.acquire).release)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        alice.do(far.acquire)
    proxy.heal()
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)


@pytest.mark.flavours("asyncio")
def test_a_task_that_is_cancelled_before_it_has_a_slot_leaves_nothing_behind(
    server: Server, make_client: MakeClient, flavour: Any, alice: Any, proxy: FaultProxy
) -> None:
    slots = make_client(proxy.url, lease=600).slots(NAME, 2)
    alice.do(alice.do(slots.acquire).release)
    proxy.deafen()
    cancelled = flavour.actor()
    cancelled.begin(slots.acquire)
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 1)
    cancelled.cancel()
    proxy.heal()
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)


def test_a_wait_that_ends_with_its_client_leaves_nothing_behind(
    near: Any, server: Server, make_client: MakeClient, flavour: Any, alice: Any
) -> None:
    held = [alice.do(near.acquire) for _ in range(2)]
    client = make_client(server.url)
    waiting = flavour.actor().begin(client.slots(NAME, 2).acquire)
    eventually(lambda: server.subscribers(CHANNEL) > 0)
    alice.do(client.close)
    with pytest.raises(holdfast.ConnectionError):
        waiting.result(BOUND)
    alice.do(held[1].release)
    assert list(alice.do(near.taken)) == [0]
    assert server.inspect.zcard(TIMEOUTS) == 1


@pytest.mark.parametrize("way", ["acquire", "with"])
def test_a_client_that_closes_before_the_caller_has_its_slot_gives_it_back(
    make_client: MakeClient, near: Any, alice: Any, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """grant-at-close: after the last reply, so that no exchange of the call says so."""
    keep, slots = Taken.keep, make_client(lease=600).slots(NAME, 2)

    def close_first(taken: Taken) -> Any:
        slots._client._begin_close(False)
        return keep(taken)

    monkeypatch.setattr(Taken, "keep", close_first)
    with pytest.raises(holdfast.ConnectionError, match=r"'mySlots': its client was closed"):
        alice.do(slots.acquire) if way == "acquire" else alice.inside(slots, lambda _: None)
    eventually(lambda: alice.do(near.taken) == {})


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("way", ["acquire", "with"])
def test_an_interrupt_before_the_slot_leaves_nothing_behind(
    far: Any, server: Server, alice: Any, between: Between, way: str
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    between.do(interrupt)
    with pytest.raises(KeyboardInterrupt):
        alice.do(far.acquire) if way == "acquire" else alice.inside(far, lambda _: None)
    eventually(lambda: server.inspect.zcard(TIMEOUTS) == 0)


@pytest.mark.realtime
def test_a_server_that_loses_its_data_is_reported_and_set_up_again(
    make_client: MakeClient, private_server: Server, alice: Any
) -> None:
    lost: list[Any] = []
    slots = make_client(private_server.url, lease=SHORT).slots(NAME, 2, on_lost=lost.append)
    slot = alice.do(slots.acquire)
    private_server.inspect.flushall()
    eventually(lambda: lost == [slot])
    again = alice.do(slots.acquire)
    assert (again.index, again.token > slot.token) == (0, True)


@pytest.fixture
def reported() -> list[Any]:
    """With what `on_lost` of the slots was called."""
    return []


@pytest.fixture
def hasty(make_client: MakeClient, proxy: FaultProxy, reported: list[Any]) -> Any:
    """The same slots, of a client through the proxy with a short lease."""
    client = make_client(proxy.url, lease=KEPT, command_timeout=IMPATIENT)
    return client.slots(NAME, 2, on_lost=reported.append)


@pytest.mark.realtime
def test_a_slot_whose_extension_fails_is_lost_at_its_end(
    hasty: Any, alice: Any, proxy: FaultProxy, reported: list[Any]
) -> None:
    slot = alice.do(hasty.acquire)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        alice.do(slot.extend, 600)
    proxy.heal()
    assert not slot.lost
    eventually(lambda: slot.lost)
    eventually(lambda: reported == [slot])


def _end_of(server: Server, slot: Any) -> float:
    """When its lease ends, in ms since 1970."""
    return float(server.inspect.zscore(TIMEOUTS, bytes.fromhex(slot._permit)))


@pytest.mark.realtime
@pytest.mark.flavours("asyncio")
def test_a_slot_whose_extension_is_cancelled_is_lost_at_its_end(
    hasty: Any, flavour: Any, server: Server, proxy: FaultProxy, reported: list[Any]
) -> None:
    alice = flavour.actor()
    alice.do(hasty._semaphore.extend, UNKNOWN, 600)  # now the server knows the script
    slot = alice.do(hasty.acquire)
    before = _end_of(server, slot)
    proxy.deafen()
    cancelled = flavour.actor()
    cancelled.begin(slot.extend, 600)
    eventually(lambda: _end_of(server, slot) > before + 300_000)
    cancelled.cancel()
    proxy.heal()
    assert not slot.lost
    eventually(lambda: slot.lost)
    eventually(lambda: reported == [slot])


def test_a_slot_that_was_extended_is_lost_at_its_end_without_a_report(
    hasty: Any, alice: Any, reported: list[Any]
) -> None:
    slot = alice.do(hasty.acquire)
    assert alice.do(slot.extend, SHORT) is True
    assert not slot.lost
    eventually(lambda: slot.lost)
    with pytest.raises(holdfast.LockLostError, match="slot 0 of 'mySlots'"):
        alice.do(slot.release)
    alice.do(alice.do(hasty.acquire).release)
    assert reported == []


def test_a_resize_whose_repeat_is_refused_may_have_changed_the_slots(
    far: Any, alice: Any, proxy: FaultProxy
) -> None:
    """lost-reply: acquires are refused until it is called again."""
    alice.do(far.resize, 2)  # now the server knows the scripts
    lost = proxy.lose_reply()
    proxy.replace_reply(b"-ERR refused\r\n")
    with pytest.raises(holdfast.ServerError, match="refused"):
        alice.do(far.resize, 3)
    assert lost.is_set()
    with pytest.raises(ValueError, match="has 2 slots, not 3"):
        alice.do(far.acquire)
    alice.do(far.resize, 3)
    assert alice.do(far.acquire).index == 0


def test_a_refused_resize_leaves_the_slots_of_a_later_one(
    far: Any, alice: Any, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    later, step = Table(4), slots_module.step

    def step_beside_another(*given: Any, **options: Any) -> Any:
        far._table = later
        return step(*given, **options)

    monkeypatch.setattr(slots_module, "step", step_beside_another)
    proxy.replace_reply(b"-ERR refused\r\n")
    with pytest.raises(holdfast.ServerError, match="refused"):
        alice.do(far.resize, 3)
    assert far._table is later
