"""Permits under faults: holders that die, replies that get lost, servers that are gone."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import holdfast
from holdfast._locks.task_semaphores import Entered
from tests.contract.permits import NAME, UNKNOWN, Permits
from tests.faults.conftest import IMPATIENT, LASTING, SHORT
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

LONG = 600

HOLDER = """
semaphore = holdfast.Client(URL, lease=LEASE).permit_semaphore(NAME)
say("took", semaphore.acquire(), semaphore.acquire())
hear("end")
"""

HOLDER_ASYNCIO = """
async def main():
    semaphore = holdfast.asyncio.Client(URL, lease=LEASE).permit_semaphore(NAME)
    say("took", await semaphore.acquire(), await semaphore.acquire())
    await asyncio.get_running_loop().run_in_executor(None, hear, "end")

asyncio.run(main())
"""

WAITER = """
semaphore = holdfast.Client(URL).permit_semaphore(NAME)
for _ in range(3):
    say("waits")
    try:
        semaphore.acquire(lease=LEASE)
    except KeyboardInterrupt:
        say("interrupted")
    hear("next")
"""

FORKING = """
semaphore = holdfast.Client(URL, lease=LEASE).permit_semaphore(NAME)
try:
    with semaphore as permit:
        child = os.fork() == 0
        if not child:
            os.wait()
            say("parent", permit, semaphore.available_permits())
except holdfast.NotOwnedError:
    say("child", child)
    os._exit(0)
say("end", semaphore.available_permits())
"""


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """The semaphore, of a client that reaches the server through the proxy."""
    return make_client(proxy.url).permit_semaphore(NAME)


@pytest.mark.realtime
@pytest.mark.flavours("sync")
@pytest.mark.parametrize("program", [HOLDER, HOLDER_ASYNCIO], ids=["sync", "asyncio"])
def test_the_permits_of_a_killed_process_come_back_and_wake_waiters(
    permits: Permits, start_child: StartChild, program: str
) -> None:
    """killed-process."""
    semaphore = permits.semaphore(2)
    child = start_child(program, URL=permits.server.url, NAME=NAME, LEASE=SHORT)
    taken = set(child.expect("took"))
    assert set(permits.out) == taken
    waiting = [permits.wait(semaphore, lease=LONG) for _ in range(2)]
    child.signal(signal.SIGKILL)
    assert {each.result(BOUND) for each in waiting} == set(permits.out)
    assert not taken & set(permits.out)


@pytest.mark.flavours("sync")
def test_ctrl_c_ends_a_wait_and_leaves_nothing(permits: Permits, start_child: StartChild) -> None:
    permit = permits.take(permits.semaphore(1))
    child = start_child(WAITER, URL=permits.server.url, NAME=NAME, LEASE=LONG)
    for _ in range(3):
        child.expect("waits")
        eventually(lambda: permits.subscribers == 1)
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        eventually(lambda: permits.subscribers == 0)
        child.send("next")
    assert (permits.free, list(permits.out)) == (0, [permit])


@pytest.mark.flavours("sync")
def test_a_child_of_fork_does_not_give_its_parents_permit_back(
    permits: Permits, start_child: StartChild
) -> None:
    permits.semaphore(1)
    parent = start_child(FORKING, URL=permits.server.url, NAME=NAME, LEASE=30)
    assert parent.expect("child") == ["True"]
    assert parent.expect("parent")[1] == "0"
    assert parent.expect("end") == ["1"]


@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
def test_an_acquire_whose_reply_is_lost_takes_one_permit(
    permits: Permits, far: Any, proxy: FaultProxy, lease: float | None
) -> None:
    """lost-reply."""
    permits.semaphore(3)
    permits.do(far.release, permits.take(far, lease=lease))  # now the server knows the scripts
    lost = proxy.lose_reply()
    permit = permits.take(far, lease=lease)
    assert lost.is_set()
    assert (permits.free, list(permits.out)) == (2, [permit])


@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
@pytest.mark.parametrize("mine", [True, False], ids=["own", "of another client"])
def test_a_release_whose_reply_is_lost_gives_one_permit_back(
    permits: Permits, far: Any, proxy: FaultProxy, mine: bool, lease: float | None
) -> None:
    """lost-release."""
    near = permits.semaphore(3)
    permits.take(near, lease=LONG)
    permits.do(far.release, permits.take(far, lease=lease))
    permit = permits.take(far if mine else near, lease=lease)
    lost = proxy.lose_reply()
    permits.do(far.release, permit)
    assert lost.is_set()
    assert permits.free == 2
    assert permit not in permits.out


def test_a_waiters_permit_is_not_given_back_by_the_repeat_of_a_release(
    permits: Permits, far: Any, proxy: FaultProxy
) -> None:
    near = permits.semaphore(1)
    permit = permits.take(far)
    waiting = permits.wait(near, lease=LONG)
    lost = proxy.lose_reply()
    permits.do(far.release, permit)
    assert lost.is_set()
    assert [waiting.result(BOUND)] == list(permits.out)
    assert permits.free == 0


@pytest.mark.realtime
def test_a_renewal_whose_reply_is_lost_loses_no_permit(
    permits: Permits, make_client: MakeClient, proxy: FaultProxy
) -> None:
    permits.semaphore(1)
    semaphore = make_client(proxy.url, lease=LASTING).permit_semaphore(NAME)
    permit = permits.take(semaphore)
    for _ in range(3):
        lost = proxy.lose_reply(of_watchdog=True)
        eventually(lost.is_set)
    permits.do(semaphore.release, permit)
    assert permits.free == 1


def test_a_release_that_does_not_get_through_is_carried_on(
    permits: Permits, make_client: MakeClient, proxy: FaultProxy
) -> None:
    permits.semaphore(1)
    client = make_client(proxy.url, command_timeout=IMPATIENT)
    semaphore = client.permit_semaphore(NAME)
    permit = permits.take(semaphore)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        permits.do(semaphore.release, permit)
    assert (permits.free, client._permits) == (0, {})
    proxy.heal()
    eventually(lambda: permits.free == 1)
    assert permits.do(semaphore.try_release, permit) is True
    assert permits.do(semaphore.try_release, permit) is False
    assert permits.free == 1


@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
def test_what_an_acquire_out_of_reach_may_have_got_is_given_back(
    permits: Permits, make_client: MakeClient, proxy: FaultProxy, lease: float | None
) -> None:
    permits.semaphore(1)
    semaphore = make_client(proxy.url, command_timeout=IMPATIENT).permit_semaphore(NAME)
    permits.do(semaphore.release, permits.take(semaphore))
    proxy.pass_one_more()
    acquiring = permits.flavour.actor().begin(semaphore.acquire, lease=lease)
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        acquiring.result(BOUND)
    eventually(lambda: len(permits.out) == 1)  # and stays so: nothing else arrives
    proxy.heal()
    eventually(lambda: permits.out == {})
    assert permits.free == 1


@pytest.mark.realtime
def test_a_server_that_loses_its_data_is_reported_as_a_loss(
    make_client: MakeClient, private_server: Server, alice: Any
) -> None:
    """restart-without-data."""
    semaphore = make_client(private_server.url, lease=2).permit_semaphore(NAME)
    alice.do(semaphore.try_set_permits, 1)
    permit = alice.do(semaphore.acquire)
    private_server.restart(keep_data=False)

    def gone() -> bool:
        with pytest.raises(holdfast.NotOwnedError):
            alice.do(semaphore.release, permit)
        return True

    eventually(gone)
    assert alice.do(semaphore.available_permits) == 0


@pytest.mark.realtime
def test_a_permit_whose_lease_is_over_on_arrival_is_given_back(
    permits: Permits, far: Any, proxy: FaultProxy
) -> None:
    """expired-on-arrival: the caller gets an error, never the id of a permit that is free again."""
    permits.semaphore(1)
    assert permits.do(far.available_permits) == 1
    proxy.delay(0.1)
    with pytest.raises(holdfast.LockLostError):
        permits.take(far, lease=0.05)
    proxy.heal()
    eventually(lambda: permits.free == 1)


def test_a_refusal_of_a_repeated_command_leaves_the_smaller_number(
    proxy: FaultProxy, permits: Permits, make_client: MakeClient
) -> None:
    """The first copy of the command may have been executed."""
    semaphore = make_client(proxy.url).permit_semaphore(NAME, permits=5)
    permits.do(semaphore.release, permits.take(semaphore))
    lost = proxy.lose_reply()
    proxy.replace_reply(b"-ERR refused\r\n")
    with pytest.raises(holdfast.ServerError, match="refused"):
        permits.do(semaphore.set_permits, 3)
    assert lost.is_set()
    permits.server.inspect.delete(NAME)
    permits.do(semaphore.release, permits.take(semaphore))
    assert permits.do(semaphore.permits) == 3


def test_a_refusal_of_a_command_leaves_the_number(
    proxy: FaultProxy, permits: Permits, make_client: MakeClient
) -> None:
    semaphore = make_client(proxy.url).permit_semaphore(NAME, permits=5)
    permits.do(semaphore.release, permits.take(semaphore))
    proxy.replace_reply(b"-ERR refused\r\n")
    with pytest.raises(holdfast.ServerError, match="refused"):
        permits.do(semaphore.set_permits, 3)
    permits.server.inspect.delete(NAME)
    permits.do(semaphore.release, permits.take(semaphore))
    assert permits.do(semaphore.permits) == 5


@pytest.fixture
def impatient(permits: Permits, make_client: MakeClient, proxy: FaultProxy) -> Any:
    """The semaphore with one permit and its reports, of a client with a short lease."""
    permits.semaphore(1)
    client = make_client(proxy.url, lease=KEPT, command_timeout=IMPATIENT)
    reported: list[str] = []
    return client.permit_semaphore(NAME, on_lost=reported.append), reported


def _is_lost_at_its_end(permits: Permits, impatient: Any, permit: str) -> None:
    semaphore, reported = impatient
    assert semaphore.lost is False
    eventually(lambda: reported == [permit])
    assert semaphore.lost is True
    with pytest.raises(holdfast.LockLostError, match="its lease ran out"):
        permits.do(semaphore.release, permit)


@pytest.mark.realtime
def test_a_permit_whose_extension_fails_is_lost_at_its_end(
    permits: Permits, impatient: Any, proxy: FaultProxy
) -> None:
    """The shorter of both leases counts, and nothing renews it any more."""
    semaphore, _ = impatient
    permit = permits.take(semaphore)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        permits.do(semaphore.extend, permit, LONG)
    proxy.heal()
    _is_lost_at_its_end(permits, impatient, permit)


@pytest.mark.realtime
@pytest.mark.flavours("asyncio")
def test_a_permit_whose_extension_is_cancelled_is_lost_at_its_end(
    permits: Permits, impatient: Any, proxy: FaultProxy
) -> None:
    semaphore, _ = impatient
    permits.do(semaphore.extend, UNKNOWN, LONG)  # now the server knows the script
    permit = permits.take(semaphore)
    before = permits.end_of(permit)
    proxy.deafen()
    cancelled = permits.flavour.actor()
    cancelled.begin(semaphore.extend, permit, LONG)
    eventually(lambda: permits.end_of(permit) > before + 1000 * LONG / 2)
    cancelled.cancel()
    proxy.heal()
    _is_lost_at_its_end(permits, impatient, permit)


@pytest.mark.flavours("asyncio")
def test_an_interrupt_before_the_block_begins_gives_the_permit_back(
    permits: Permits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interrupted-acquire: a signal handler of the program raises."""
    semaphore = permits.semaphore(1)
    add = Entered.add

    def interrupt(entered: Entered[Any], taken: Any) -> None:
        add(entered, taken)
        raise KeyError

    monkeypatch.setattr(Entered, "add", interrupt)
    with pytest.raises(KeyError):
        permits.flavour.actor().inside(semaphore, lambda _: None)
    eventually(lambda: permits.free == 1)
    assert not semaphore._client._permits
