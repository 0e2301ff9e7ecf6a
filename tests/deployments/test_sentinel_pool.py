"""Many threads that take one lock in turn, through a failover."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

import holdfast
from tests.deployments.conftest import NAME
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.waiting import BOUND, eventually

pytestmark = [pytest.mark.servers("real")]

LONG = 180.0
"""Seconds that a busy machine may take to fail over."""


@dataclass
class Pool:
    """Threads that take the lock, stay a moment, and write down from when until when."""

    stays: list[tuple[float, float]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def work(self, client: Any) -> None:
        lock = client.lock(NAME)
        while not self.over.is_set():
            self._stay(lock)

    def _stay(self, lock: Any) -> None:
        lock.acquire()
        entered = time.monotonic()
        client_trusts_it = not self.over.wait(0.002) and not lock.lost
        if client_trusts_it:
            self.stays.append((entered, time.monotonic()))
        with contextlib.suppress(holdfast.LockLostError):
            lock.release()

    def stayed_since(self, moment: float) -> int:
        return sum(entered > moment for entered, _ in self.stays)


@pytest.mark.flavours("sync")
@pytest.mark.realtime
def test_no_two_threads_trust_the_lock_at_once(make_client: MakeClient, service: Service) -> None:
    """failover-with-lock: kill -9 under load; all go on with the new primary, one at a time."""
    pool = Pool()
    clients = [make_client(service.url, command_timeout=LONG) for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        works = [threads.submit(pool.work, clients[number % 2]) for number in range(8)]
        try:
            eventually(lambda: len(pool.stays) > 50)
            old = service.primary
            old.stop()
            service.new_primary(old)
            named = time.monotonic()
            eventually(lambda: pool.stayed_since(named) > 50)
        finally:
            pool.over.set()
        for work in works:
            work.result(BOUND)
    overlaps = [pair for pair in pairwise(sorted(pool.stays)) if pair[0][1] > pair[1][0]]
    assert overlaps == []
    assert service.primary.keys() == set()
