"""A hold that is passed on: lost replies, deaths in between, two that have one ticket."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.kinds import KINDS, Kind
from tests.faults.conftest import IMPATIENT, LASTING, NAME, SHORT, holds
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

MOVABLE = [
    kind for kind in KINDS if kind.name in {"lock", "fair_lock", "fenced_lock", "write_lock"}
]
ALL = pytest.mark.parametrize("kind", MOVABLE, ids=repr)


def pass_on_once(alice: Any, client: Any, lock: Any) -> None:
    """Let the server know the scripts: one whose reply is swallowed is executed then."""
    hold = alice.do(client.attach, alice.do(alice.do(lock.hold).detach))
    alice.do(hold.release)


@ALL
def test_a_detach_and_an_attach_whose_replies_are_lost_are_done_once(
    alice: Any, kind: Kind, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """passed-on-hold: the repeat finds the hold moved already, and says so."""
    client = make_client(proxy.url)
    hold = alice.do(kind.make(client, NAME).hold)
    token = hold.token
    lost = proxy.lose_reply()
    ticket = alice.do(hold.detach)
    assert lost.is_set()
    lost = proxy.lose_reply()
    attached = alice.do(client.attach, ticket)
    assert lost.is_set()
    assert attached.token == token
    assert len(kind.holds(server, NAME)) == 1
    assert not attached.lost
    lost = proxy.lose_reply()
    alice.do(attached.release)
    assert lost.is_set()
    assert not kind.holds(server, NAME)


@ALL
@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not executed"])
def test_a_detach_without_an_answer_leaves_the_hold_to_its_lease(
    alice: Any, kind: Kind, make_client: MakeClient, proxy: FaultProxy, executed: bool
) -> None:
    """passed-on-hold: release and detach go by both owners, whichever the server has."""
    client = make_client(proxy.url, command_timeout=IMPATIENT)
    rival = kind.make(client, NAME)
    pass_on_once(alice, client, rival)
    for end in ("release", "detach"):
        hold = alice.do(kind.make(client, NAME).hold)
        (proxy.deafen if executed else proxy.black_hole)()
        with pytest.raises(holdfast.ConnectionError):
            alice.do(hold.detach)
        proxy.heal()
        assert hold.left is not None
        assert not alice.do(hold.extend, 5)
        if end == "detach":
            hold = alice.do(client.attach, alice.do(hold.detach))
        alice.do(hold.release)
        assert not alice.do(rival.locked)


@pytest.mark.realtime
@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not executed"])
def test_a_hold_is_not_renewed_after_a_detach_without_an_answer(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server, executed: bool
) -> None:
    """passed-on-hold: it ends with its lease, which is shorter than the ticket's."""
    lease = 1.5 * LASTING
    client = make_client(proxy.url, lease=lease, command_timeout=IMPATIENT)
    pass_on_once(alice, client, client.lock(NAME))
    hold = alice.do(client.lock(NAME).hold)
    before = set(holds(server))
    (proxy.deafen if executed else proxy.black_hole)()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(hold.detach)
    proxy.heal()
    assert (set(holds(server)) != before) is executed
    eventually(lambda: hold.lost)
    with pytest.raises(holdfast.LockLostError):
        alice.do(hold.release)


@pytest.mark.realtime
def test_trust_ends_at_the_earlier_deadline_after_a_detach_without_an_answer(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """passed-on-hold: the server may have set the ticket's lease, however late."""
    client = make_client(proxy.url, command_timeout=IMPATIENT)
    pass_on_once(alice, client, client.lock(NAME))
    told: list[Any] = []
    hold = alice.do(client.lock(NAME, on_lost=told.append).hold)
    proxy.deafen()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(hold.detach, 2 * IMPATIENT)
    eventually(lambda: told == [hold])
    eventually(lambda: not holds(server))


@pytest.mark.realtime
def test_an_attach_without_an_answer_may_be_tried_again(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """passed-on-hold: what it may have got is given back to the ticket."""
    client = make_client(proxy.url, command_timeout=IMPATIENT)
    pass_on_once(alice, client, client.lock(NAME))
    ticket = alice.do(alice.do(client.lock(NAME).hold).detach)
    for fault in (proxy.deafen, proxy.black_hole):
        fault()
        with pytest.raises(holdfast.ConnectionError):
            alice.do(client.attach, ticket)
        proxy.heal()
    hold = alice.do(client.attach, ticket)
    [owner] = holds(server)
    assert owner.startswith(client.id.encode())
    alice.do(hold.release)
    assert not holds(server)


@ALL
def test_of_two_processes_one_attaches_a_ticket(
    alice: Any, kind: Kind, make_client: MakeClient, server: Server, start_child: StartChild
) -> None:
    """passed-on-hold: the other gets the error that it is used."""
    program = """
        client = holdfast.Client(URL)
        client.ping()
        say("ready")
        ticket = hear()
        try:
            hold = client.attach(ticket)
        except holdfast.LockLostError:
            say("lost")
        else:
            say("held", hold.token)
            hear("go")
            hold.release()
            say("released")
    """
    client = make_client(server.url)
    hold = alice.do(kind.make(client, NAME).hold)
    token, ticket = hold.token, alice.do(hold.detach)
    children = [start_child(program, URL=server.url) for _ in range(2)]
    for child in children:
        child.expect("ready")
    for child in children:
        child.send(ticket)
    said = sorted((child.next_line(), child) for child in children)
    assert [line for line, _ in said] == [f"held {token}", "lost"]
    assert len(kind.holds(server, NAME)) == 1
    winner = said[0][1]
    winner.send("go")
    winner.expect("released")
    assert not kind.holds(server, NAME)


@pytest.mark.realtime
def test_a_death_between_detach_and_attach_costs_the_lease_of_the_ticket(
    alice: Any, make_client: MakeClient, server: Server, start_child: StartChild
) -> None:
    """passed-on-hold: it is not renewed; a waiter gets the lock when it is over."""
    program = """
        client = holdfast.Client(URL, lease=SHORT)
        say("ticket", client.lock(NAME).hold().detach(2 * SHORT))
        hear("never")
    """
    child = start_child(program, URL=server.url, NAME=NAME, SHORT=SHORT)
    [ticket] = child.expect("ticket")
    child.kill()
    client = make_client(server.url)
    waiting = alice.begin(client.lock(NAME).hold)
    hold = waiting.result(BOUND)
    with pytest.raises(holdfast.LockLostError):
        alice.do(client.attach, ticket)
    alice.do(hold.release)
