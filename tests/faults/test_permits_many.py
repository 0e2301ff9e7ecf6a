"""Several permits at once under faults: lost replies, callers that leave, a server out of reach."""

from __future__ import annotations

import signal
from threading import Event
from typing import Any

import pytest

import holdfast
from tests.contract.permits import NAME, Permits
from tests.faults.conftest import IMPATIENT
from tests.faults.test_interrupted_blocks import INTERRUPTS
from tests.faults.test_permits import LONG
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.waiting import BOUND, eventually

LEASES = pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])

WAITER = """
semaphore = holdfast.Client(URL).permit_semaphore(NAME)
for _ in range(3):
    say("waits")
    try:
        semaphore.acquire_many(3)
    except KeyboardInterrupt:
        say("interrupted")
    hear("next")
"""

HOLDER = """
semaphore = holdfast.Client(URL, lease=1).permit_semaphore(NAME)
say("took", *semaphore.acquire_many(3))
hear("end")
"""

RELEASES = """
import random

def ring(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, ring)
random.seed(7)
client = holdfast.Client(URL, lease=60)
semaphore = client.permit_semaphore(NAME)
interrupted, left = 0, []
while interrupted < INTERRUPTS:
    permits = semaphore.acquire_many(3)
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00002, 0.0005))
        try:
            semaphore.release_many(permits)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
    if client._permits:  # it has not begun
        semaphore.release_many(permits)
    end = time.monotonic() + 60
    while semaphore.acquired_permits() and time.monotonic() < end:
        pass
    if semaphore.acquired_permits():
        left.append(interrupted)
        semaphore.release_many(permits)
say("left", *left)
"""


@pytest.fixture
def far(make_client: MakeClient, proxy: FaultProxy) -> Any:
    """The semaphore, of a client that reaches the server through the proxy."""
    return make_client(proxy.url).permit_semaphore(NAME)


def know_the_scripts(permits: Permits, semaphore: Any) -> None:
    permits.do(semaphore.release_many, permits.do(semaphore.acquire_many, 2))


@LEASES
def test_an_acquire_whose_reply_is_lost_takes_its_permits_once(
    permits: Permits, far: Any, proxy: FaultProxy, lease: float | None
) -> None:
    permits.semaphore(7)
    know_the_scripts(permits, far)
    lost = proxy.lose_reply()
    ids = permits.do(far.acquire_many, 3, lease=lease)
    assert lost.is_set()
    assert (permits.free, set(permits.out)) == (4, set(ids))


@LEASES
@pytest.mark.parametrize("mine", [True, False], ids=["own", "of another client"])
def test_a_release_whose_reply_is_lost_gives_them_back_once(
    permits: Permits, far: Any, proxy: FaultProxy, mine: bool, lease: float | None
) -> None:
    near = permits.semaphore(7)
    know_the_scripts(permits, far)
    kept = permits.take(near)
    ids = permits.do((far if mine else near).acquire_many, 3, lease=lease)
    lost = proxy.lose_reply()
    permits.do(far.release_many, ids)
    assert lost.is_set()
    assert (permits.free, set(permits.out)) == (6, {kept})


@pytest.mark.parametrize("step", ["set_permits", "add_permits"])
def test_a_new_number_whose_reply_is_lost_counts_once(
    permits: Permits, far: Any, proxy: FaultProxy, step: str
) -> None:
    permits.semaphore(1)
    change = getattr(far, step)
    permits.do(change, 3)
    before = permits.free
    lost = proxy.lose_reply()
    permits.do(change, 5)
    assert lost.is_set()
    assert permits.free == (5 if step == "set_permits" else before + 5)


@LEASES
def test_what_an_acquire_out_of_reach_may_have_got_is_given_back(
    permits: Permits, make_client: MakeClient, proxy: FaultProxy, lease: float | None
) -> None:
    permits.semaphore(4)
    semaphore = make_client(proxy.url, command_timeout=IMPATIENT).permit_semaphore(NAME)
    know_the_scripts(permits, semaphore)
    proxy.pass_one_more()
    acquiring = permits.flavour.actor().begin(semaphore.acquire_many, 3, lease=lease)
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        acquiring.result(BOUND)
    eventually(lambda: len(permits.out) == 3)  # and stays so: nothing else arrives
    proxy.heal()
    eventually(lambda: permits.out == {})
    assert permits.free == 4


@LEASES
@pytest.mark.flavours("asyncio")
def test_what_a_cancelled_acquire_may_have_got_is_given_back(
    permits: Permits, far: Any, proxy: FaultProxy, lease: float | None
) -> None:
    permits.semaphore(4)
    know_the_scripts(permits, far)
    proxy.pass_one_more()
    actor = permits.flavour.actor()
    acquiring = actor.begin(far.acquire_many, 3, lease=lease)
    eventually(lambda: len(permits.out) == 3)
    actor.cancel()
    eventually(acquiring.done)
    proxy.heal()
    eventually(lambda: permits.out == {})
    assert permits.free == 4


def test_a_release_that_does_not_get_through_is_carried_on(
    permits: Permits, make_client: MakeClient, proxy: FaultProxy
) -> None:
    lost: list[str] = []
    permits.semaphore(3)
    client = make_client(proxy.url, command_timeout=IMPATIENT)
    semaphore = client.permit_semaphore(NAME, on_lost=lost.append)
    ids = permits.do(semaphore.acquire_many, 3)
    proxy.black_hole()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        permits.do(semaphore.release_many, ids)
    assert (permits.free, client._permits) == (0, {})
    proxy.heal()
    eventually(lambda: permits.free == 3)
    with pytest.raises(holdfast.NotOwnedError):
        permits.do(semaphore.release_many, ids)
    assert (lost, permits.free) == ([], 3)


@pytest.mark.flavours("asyncio")
def test_a_cancelled_release_is_carried_on(permits: Permits, far: Any, proxy: FaultProxy) -> None:
    permits.semaphore(3)
    know_the_scripts(permits, far)
    ids = permits.do(far.acquire_many, 3)
    proxy.stall()
    actor = permits.flavour.actor()
    begun = Event()

    def release() -> Any:
        begun.set()
        yield far.release_many(ids)

    releasing = actor.begin(release)
    assert begun.wait(BOUND)
    actor.cancel()
    eventually(releasing.done)
    assert far._client._permits == {}
    proxy.heal()
    eventually(lambda: permits.free == 3)


@pytest.mark.realtime
@pytest.mark.flavours("sync")
def test_the_permits_of_a_killed_process_come_back(
    permits: Permits, start_child: StartChild
) -> None:
    semaphore = permits.semaphore(3)
    child = start_child(HOLDER, URL=permits.server.url, NAME=NAME)
    assert set(child.expect("took")) == set(permits.out)
    waiting = permits.flavour.actor().begin(semaphore.acquire_many, 3)
    child.signal(signal.SIGKILL)
    assert set(waiting.result(BOUND)) == set(permits.out)


@pytest.mark.flavours("sync")
def test_ctrl_c_ends_a_wait_for_many_and_leaves_nothing(
    permits: Permits, start_child: StartChild
) -> None:
    permit = permits.take(permits.semaphore(3))
    child = start_child(WAITER, URL=permits.server.url, NAME=NAME)
    for _ in range(3):
        child.expect("waits")
        eventually(lambda: permits.subscribers == 1)
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        eventually(lambda: permits.subscribers == 0)
        child.send("next")
    assert (permits.free, list(permits.out)) == (2, [permit])


@pytest.mark.flavours("sync")
def test_ctrl_c_leaves_no_permit_of_a_release_to_its_lease(
    permits: Permits, start_child: StartChild
) -> None:
    """It has not begun, and they are renewed as before; or it goes on without its caller."""
    permits.semaphore(3)
    child = start_child(RELEASES, URL=permits.server.url, NAME=NAME, INTERRUPTS=INTERRUPTS)
    assert child.expect("left", within=6 * BOUND) == []
    assert child.wait() == 0
