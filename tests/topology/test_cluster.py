"""A cluster is used like a single server, for every kind and whatever slots its names have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clusters import Cluster
from tests.support.waiting import BOUND
from tests.topology.conftest import wait

pytestmark = pytest.mark.servers("real")


def test_holder_excludes(cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any) -> None:
    """A lock in a cluster is held by one."""
    assert alice.do(near.acquire)
    assert not bob.do(far.acquire, blocking=False)
    alice.do(near.release)
    assert bob.do(far.acquire, blocking=False)
    bob.do(far.release)


def test_waiter_is_woken(cluster: Cluster, near: Any, far: Any, alice: Any, bob: Any) -> None:
    """A release wakes who waits for it, long before the lease would end."""
    alice.do(near.acquire)
    waiting = wait(cluster, bob, far)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)
