"""Holds that are renewed together: what befalls one of them, or the batch, harms no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually, stays

pytestmark = [pytest.mark.servers("real")]

LEASE = 3.0
COUNT = 60


def name(number: int) -> str:
    return f"lock:{number}"


def hold_all(actor: Any, client: Any, lost: list[Any], count: int = COUNT) -> list[Any]:
    locks = [client.lock(name(number), on_lost=lost.append) for number in range(count)]
    for lock in locks:
        assert actor.do(lock.acquire)
    return locks


def see_all_renewed(client: Any, count: int = COUNT, times: int = 2) -> None:
    """Wait until each hold was renewed so often, on average."""
    renewed = client.stats().renewals
    eventually(lambda: client.stats().renewals >= renewed + times * count)


@pytest.mark.parametrize(("tracking", "batch"), [("off", 20), ("auto", 5)])
def test_many_holds_are_renewed_by_few_scripts(
    alice: Any, make_client: MakeClient, private_server: Server, tracking: str, batch: int
) -> None:
    client = make_client(private_server.url, lease=LEASE, tracking=tracking)
    lost: list[Any] = []
    hold_all(alice, client, lost)
    see_all_renewed(client)
    scripts, renewed = private_server.scripts_run(), client.stats().renewals
    assert scripts is not None
    see_all_renewed(client)
    scripts = (private_server.scripts_run() or 0) - scripts
    assert scripts <= (client.stats().renewals - renewed) / batch + 5
    assert not lost


@pytest.mark.parametrize("tracking", ["off", "auto"])
def test_a_hold_that_is_gone_is_the_only_one_that_is_lost(
    alice: Any, make_client: MakeClient, private_server: Server, tracking: str
) -> None:
    client = make_client(private_server.url, lease=LEASE, tracking=tracking)
    lost: list[Any] = []
    locks = hold_all(alice, client, lost)
    private_server.inspect.delete(name(7))
    eventually(lambda: lost == [locks[7]])
    see_all_renewed(client)
    assert lost == [locks[7]]


def test_a_key_of_another_type_ends_the_hold_of_its_lock_only(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=LEASE, tracking="off")
    lost: list[Any] = []
    locks = hold_all(alice, client, lost)
    private_server.inspect.set(name(7), "text")
    eventually(lambda: lost == [locks[7]])
    see_all_renewed(client)
    assert lost == [locks[7]]
    assert private_server.inspect.get(name(7)) == b"text"


DISTURBANCES = {
    "its scripts forgotten": lambda server: server.inspect.script_flush(),
    "connections ended": lambda server: server.inspect.client_kill_filter(
        _type="normal", skipme=True
    ),
}


@pytest.mark.parametrize("disturb", DISTURBANCES.values(), ids=DISTURBANCES)
def test_a_disturbance_with_batches_under_way_costs_no_hold(
    alice: Any, make_client: MakeClient, private_server: Server, disturb: Callable[[Server], Any]
) -> None:
    client = make_client(private_server.url, lease=LEASE)
    lost: list[Any] = []
    hold_all(alice, client, lost)
    for _ in range(3):
        disturb(private_server)
        see_all_renewed(client, times=1)
    assert not lost
    assert len(private_server.keys()) == COUNT


def test_every_hold_of_a_batch_is_still_tracked(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=LEASE)
    lost: list[Any] = []
    hold_all(alice, client, lost)
    see_all_renewed(client)
    eventually(lambda: client.stats().tracked == COUNT)
    for number in range(20):
        private_server.inspect.delete(name(number))
        eventually(lambda: len(lost) == number + 1, within=LEASE / 3 / 2)  # noqa: B023


def test_holds_that_are_released_while_others_are_renewed_stay_released(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url, lease=LEASE)
    lost: list[Any] = []
    locks = hold_all(alice, client, lost)
    for lock in locks[::2]:
        alice.do(lock.release)
    see_all_renewed(client, COUNT // 2)
    stays(lambda: len(private_server.keys()) == COUNT // 2, during=LEASE / 2)
    assert not lost
