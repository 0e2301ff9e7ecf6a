"""A renewal that is held up on its way lengthens no lease that its owner sets after it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tests.faults.conftest import NAME
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, stays

LEASE = 6.0
FIXED = 4.0
COMMAND_TIMEOUT = 2.0

pytestmark = [pytest.mark.realtime, pytest.mark.servers("redis", "valkey")]


@pytest.fixture
def held_up(alice: Any, make_client: MakeClient, proxy: FaultProxy) -> Any:
    """A held lock with a renewal that the proxy holds back."""
    lock = make_client(proxy.url, lease=LEASE, command_timeout=COMMAND_TIMEOUT).lock(NAME)
    alice.do(lock.acquire)
    eventually(lambda: lock._client.stats().tracked == 1)
    proxy.hold_renewals()
    eventually(lambda: proxy.held_renewals == 1, what="the renewal")
    return lock


def waits_for_the_renewal(
    begun: Future[Any], proxy: FaultProxy, server: Server, during: float = 0.3
) -> None:
    """What sets a fixed lease ends after the renewal, and has set it."""
    stays(lambda: not begun.done(), during=during)
    proxy.heal()
    assert begun.result(BOUND) is True
    assert 0 < server.inspect.pttl(NAME) <= FIXED * 1000


def test_the_owners_next_fixed_lease_is_not_lengthened(
    alice: Any, held_up: Any, proxy: FaultProxy, server: Server
) -> None:
    """crossing-renewal."""
    alice.do(held_up.release)
    waits_for_the_renewal(alice.begin(held_up.acquire, lease=FIXED), proxy, server)


def test_a_renewal_whose_connection_failed_may_still_arrive(
    alice: Any, held_up: Any, proxy: FaultProxy, server: Server
) -> None:
    """crossing-renewal."""
    alice.do(held_up.release)
    proxy.leave_renewals()
    acquiring = alice.begin(held_up.acquire, lease=FIXED)
    waits_for_the_renewal(acquiring, proxy, server, during=COMMAND_TIMEOUT / 2)


def test_a_renewal_that_waits_for_its_connection_holds_up_nothing(
    alice: Any, make_client: MakeClient, proxy: FaultProxy
) -> None:
    """crossing-renewal."""
    lock = make_client(proxy.url, lease=LEASE).lock(NAME)

    def held_up_for() -> float:
        alice.do(lock.acquire)
        eventually(lambda: lock._client.stats().tracked == 1)
        proxy.hold_renewals()
        proxy.cut_renewals()
        eventually(lambda: proxy.held_renewals == 1, what="the greeting")
        alice.do(lock.release)
        watch = Stopwatch()
        assert alice.do(lock.acquire, lease=3600) is True
        seconds = watch.seconds
        proxy.heal()
        alice.do(lock.release)
        return seconds

    assert any(held_up_for() < 1 for _ in range(5)), "a machine may be busy once, not each time"


def test_an_extension_is_not_lengthened(
    alice: Any, held_up: Any, proxy: FaultProxy, server: Server
) -> None:
    """crossing-renewal."""
    waits_for_the_renewal(alice.begin(held_up.extend, FIXED), proxy, server)


def test_another_owner_and_a_renewed_lease_do_not_wait(
    alice: Any, bob: Any, held_up: Any, proxy: FaultProxy
) -> None:
    alice.do(held_up.release)
    assert bob.do(held_up.acquire, lease=FIXED, blocking=False)
    bob.do(held_up.release)
    assert alice.do(held_up.acquire, blocking=False)
    alice.do(held_up.release)
    proxy.heal()
