"""Every kind of lock: what the server did, and could not say, is done once."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.contract.kinds import KINDS, Kind
from tests.faults.conftest import LASTING, NAME, left
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.renewals import see_longer
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

KEPT = pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
EXCLUSIVE = pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.shared], ids=repr)


class Ways:
    """Locks of one kind and name: `far` ones are reached through the proxy, `near` ones are not."""

    def __init__(
        self, kind: Kind, make_client: MakeClient, proxy: FaultProxy, server: Server
    ) -> None:
        self.kind = kind
        self.proxy = proxy
        self.server = server
        self._make_client = make_client

    def far(self, **options: Any) -> Any:
        """A lock of a separate client, with these options."""
        return self.kind.make(self._make_client(self.proxy.url, **options), NAME)

    def near(self) -> Any:
        """One that excludes the far ones, of another client."""
        make = self.kind.make_rival or self.kind.make
        return make(self._make_client(self.server.url), NAME)

    @property
    def counts(self) -> list[int]:
        """The hold counts of its owners; of a lock that is made of others, those of the first."""
        return list(self.kind.holds(self.server, NAME).values())

    @property
    def left(self) -> set[bytes]:
        return left(self.kind, self.server)


@pytest.fixture
def ways(kind: Kind, make_client: MakeClient, proxy: FaultProxy, server: Server) -> Ways:
    return Ways(kind, make_client, proxy, server)


@KEPT
def test_acquire_and_reentry_count_once(alice: Any, ways: Ways, kept: int) -> None:
    """lost-reply: a repeated acquire finds its own hold: the count is what the caller believes."""
    lock = ways.far()
    for expected in (1, 2, 3):
        lost = ways.proxy.truncate_reply(kept)
        assert alice.do(lock.acquire) is True
        assert lost.is_set()
        assert ways.counts == [expected]
    for _ in range(3):
        alice.do(lock.release)
    assert ways.left == set()


@KEPT
def test_partial_and_final_release_count_once(alice: Any, ways: Ways, kept: int) -> None:
    """lost-release: a repeated release finds it done: no error, no hold too few, nothing left."""
    lock = ways.far()
    for _ in range(3):
        alice.do(lock.acquire)
    for expected in ([2], [1], []):
        lost = ways.proxy.truncate_reply(kept)
        alice.do(lock.release)
        assert lost.is_set()
        assert ways.counts == expected
    assert not alice.do(lambda: lock.lost)
    assert ways.left == set()
    assert alice.do(lock.acquire, blocking=False)


@pytest.mark.realtime
def test_a_renewal_is_repeated_and_the_hold_kept(alice: Any, ways: Ways, server: Server) -> None:
    """connection-reset, lost-reply: at once, not a third of the lease later."""
    lock = ways.far(lease=LASTING)
    alice.do(lock.acquire)
    for _ in range(2):
        lost = ways.proxy.lose_reply(of_watchdog=True)
        eventually(lost.is_set)
    see_longer(lambda: min(server.inspect.pttl(key) for key in ways.kind.keys(NAME)))
    assert ways.counts == [1]
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    assert ways.left == set()


@EXCLUSIVE
def test_a_waiter_has_one_place_and_one_grant(alice: Any, bob: Any, ways: Ways) -> None:
    """lost-reply: the attempt that finds it held loses its reply.

    Of a fair lock it took its place.
    """
    near, far, line = ways.near(), ways.far(), ways.kind.line
    alice.do(near.acquire, lease=3600)
    lost = ways.proxy.lose_reply()
    waiting = bob.begin(far.acquire)
    eventually(lost.is_set)
    if line is not None:
        eventually(lambda: line(ways.server, NAME) == 1)
        stays(lambda: line(ways.server, NAME) == 1, during=0.05)
    alice.do(near.release)
    assert waiting.result(BOUND) is True
    assert ways.counts == [1]
    bob.do(far.release)
    assert ways.left == set()


def test_a_try_in_vain_leaves_nothing(alice: Any, bob: Any, ways: Ways) -> None:
    """lost-reply, I7: "held by another" is the answer, and nothing of the try is left."""
    near, far = ways.near(), ways.far()
    alice.do(near.acquire)
    before = ways.server.keys()
    lost = ways.proxy.lose_reply()
    assert bob.do(far.acquire, blocking=False) is False
    assert lost.is_set()
    assert ways.server.keys() == before
    alice.do(near.release)
    assert ways.left == set()


def test_the_log_names_lock_and_server_of_each_lost_reply_once(
    alice: Any, make_client: MakeClient, proxy: FaultProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """lost-reply.

    In the order of the events, so that a second record of a lock would be among them.
    """
    client = make_client(proxy.url)
    locks = [client.lock(f"{NAME}:{number}\n") for number in range(3)]
    with caplog.at_level(logging.INFO, "holdfast"):
        for lock in locks:
            alice.do(lock.acquire)
            lost = proxy.lose_reply()
            alice.do(lock.release)
            assert lost.is_set()
        eventually(lambda: len(caplog.records) >= len(locks))
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.INFO,
            f"'{NAME}:{number}\\x0a': resolved after a lost reply, server 127.0.0.1:{proxy.port}",
        )
        for number in range(3)
    ]


@pytest.mark.realtime
@pytest.mark.parametrize("fault", ["delay", "slices"])
def test_a_slow_way_is_slower_and_nothing_else(
    alice: Any, bob: Any, ways: Ways, fault: str
) -> None:
    """slow-link: late replies, and replies in pieces, are not taken for "busy" or "lost"."""
    near, far = ways.near(), ways.far()
    hurried = ways.kind.polls  # a red lock gives each server 50 ms
    if fault == "delay":
        slow = 0.002 if hurried else 0.05
        ways.proxy.delay(slow, jitter=slow)
    else:
        ways.proxy.slices(256 if hurried else 1)
    for _ in range(2):
        assert alice.do(far.acquire, timeout=BOUND) is True
        waiting = bob.begin(near.acquire)
        alice.do(far.release)
        assert waiting.result(BOUND) is True
        assert alice.do(far.acquire, blocking=False) is False
        again = alice.begin(far.acquire)
        bob.do(near.release)
        assert again.result(BOUND) is True
        alice.do(far.release)
    assert ways.left == set()
