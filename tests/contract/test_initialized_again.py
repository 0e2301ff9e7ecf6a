"""A lock object whose constructor is called again while a thread waits in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conftest import NAME, Stage
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.flavours("sync")

REFUSED = r"__init__\(\) was called again during another call"


def test_a_lock_in_which_a_thread_waits_is_not_bound_again(
    alice: Any, bob: Any, stage: Stage, lock: Any, rival: Any
) -> None:
    alice.do(rival.acquire)
    waiting = stage.wait(bob, lock)
    eventually(lambda: stage.default_client.stats().waiting > 0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=REFUSED):
            lock._bind_core(lock._core)
    alice.do(rival.release)
    assert waiting.result(BOUND) is True
    lock._bind_core(lock._core)
    bob.do(lock.release)


def _initialize(lock: Any, client: Any, waiting: Any) -> None:
    while not waiting.done():
        lock.__init__(client, NAME)


def test_nor_is_it_initialized_again(alice: Any, bob: Any, client: Any) -> None:
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(lock.acquire)
    with pytest.raises(RuntimeError, match=REFUSED):
        _initialize(lock, client, waiting)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    bob.do(lock.release)
