"""The plain path of `with lock:`, whose replies come in pieces, late, or from another holder."""

from __future__ import annotations

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT, NAME, holds
from tests.support.proxy import FaultProxy
from tests.support.servers import Server

PAIRS = 5
LATE = 0.03
"""Seconds; longer than a thread waits in its first reading."""


@pytest.mark.parametrize(("piece", "delay"), [(1, 0), (65536, LATE)], ids=["in bytes", "late"])
def test_however_replies_come_each_pair_is_whole(
    proxy: FaultProxy, server: Server, piece: int, delay: float
) -> None:
    with holdfast.Client(proxy.url) as client:
        lock = client.lock(NAME)
        with lock:
            pass
        proxy.slices(piece)
        proxy.delay(delay)
        for _ in range(PAIRS):
            with lock, lock:
                assert list(holds(server).values()) == [2]
            assert holds(server) == {}


def test_what_another_holds_is_refused_and_waited_for(server: Server) -> None:
    with holdfast.Client(server.url) as client, holdfast.Client(server.url) as other:
        lock, rival = client.lock(NAME), other.lock(NAME)
        with rival:
            assert not lock.acquire(blocking=False)
            assert not lock.acquire(timeout=0.01)
        with lock:
            assert not rival.acquire(blocking=False)


def test_after_a_release_without_an_answer_the_next_attempt_holds(
    proxy: FaultProxy, server: Server
) -> None:
    with holdfast.Client(proxy.url, command_timeout=IMPATIENT) as client:
        lock = client.lock(NAME)
        lock.acquire()
        proxy.black_hole()
        with pytest.raises(holdfast.ConnectionError):
            lock.release()
        proxy.heal()
        with lock:
            assert list(holds(server).values()) == [1]
        assert holds(server) == {}
