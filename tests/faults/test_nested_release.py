"""A nested release that the server cannot see counts, and the last one frees the lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import KINDS, Kind
from tests.faults.conftest import IMPATIENT, LASTING, NAME, left
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.renewals import see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.realtime

LEASE = 3 * LASTING
"""Renewed in time although a release runs into its `command_timeout` meanwhile."""
SOME = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name in {"lock", "multi_lock"}], ids=repr
)
"""One kind, and one of those that are made of several."""


@pytest.fixture
def lock(kind: Kind, make_client: MakeClient, proxy: FaultProxy, server: Server) -> Any:
    """A renewed lock that is reached through the proxy."""
    return kind.make(make_client(proxy.url, command_timeout=IMPATIENT, lease=LEASE), NAME)


@pytest.fixture
def others_get_in(bob: Any, kind: Kind, make_client: MakeClient) -> Callable[..., bool]:
    """Whether another owner, whose client reaches the server directly, gets the lock."""
    rival = (kind.make_rival or kind.make)(make_client(), NAME)
    return lambda **how: bool(bob.do(rival.acquire, **how))


def test_the_last_release_frees_the_lock(
    alice: Any, lock: Any, kind: Kind, proxy: FaultProxy, server: Server
) -> None:
    """lost-release: the rest is not renewed, and no caller waits for it."""
    for _ in range(2):
        alice.do(lock.acquire)
    proxy.refuse()
    alice.do(lock.release)
    proxy.heal()
    alice.do(lock.release)
    eventually(lambda: left(kind, server) == set())
    assert not alice.do(lambda: lock.lost)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)


@SOME
@pytest.mark.awaited
def test_also_when_the_last_release_fails_too(
    alice: Any, lock: Any, proxy: FaultProxy, server: Server
) -> None:
    """lost-release.

    It goes on in the background, and frees the lock long before its lease is over.
    """
    for _ in range(2):
        alice.do(lock.acquire, lease=3600)
    proxy.refuse()
    alice.do(lock.release)
    with pytest.raises(holdfast.ConnectionError):
        alice.do(lock.release)
    proxy.heal()
    eventually(lambda: server.keys() == set())


@SOME
def test_what_is_still_held_is_kept(
    alice: Any, lock: Any, others_get_in: Callable[..., bool], proxy: FaultProxy, server: Server
) -> None:
    """lost-release: it is renewed, may be taken once more, and is free after as many releases."""
    for _ in range(2):
        alice.do(lock.acquire)
    proxy.refuse()
    alice.do(lock.release)
    proxy.heal()
    see_renewals(server)
    assert alice.do(lock.acquire)
    alice.do(lock.release)
    assert not others_get_in(blocking=False)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    assert others_get_in(timeout=BOUND)


@SOME
@pytest.mark.parametrize("fault", ["black_hole", "deafen", "stall"])
def test_a_server_that_says_nothing(
    alice: Any, lock: Any, proxy: FaultProxy, server: Server, fault: str
) -> None:
    """silent-network, lost-release: whether the call failed or not: one release is one release."""
    for _ in range(3):
        alice.do(lock.acquire, lease=3600)
    getattr(proxy, fault)()
    alice.do(lock.release)
    proxy.heal()
    assert alice.do(lock.owned)
    alice.do(lock.release)
    assert alice.do(lock.owned)
    alice.do(lock.release)
    eventually(lambda: server.keys() == set())
    assert not alice.do(lambda: lock.lost)
