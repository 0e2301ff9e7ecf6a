"""Observers of the locks of a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast import observe
from tests.support.losses import until
from tests.support.waiting import BOUND


class _Losses(observe.Observer):
    """Keeps what callers report; the threads of the library wait for `rest`."""

    def __init__(self) -> None:
        self.rest = threading.Event()
        self.seen: list[bytes] = []

    def begun(self, kind: str, name: bytes) -> None:
        pass

    def ended(self, begun: Any, outcome: str, client: str, owner: int) -> None:
        pass

    def released(self, name: bytes, client: str, owner: int) -> None:
        pass

    def lost(self, name: bytes, client: str, owner: int, reason: str) -> None:
        if threading.current_thread().name.startswith("holdfast"):
            self.rest.wait(BOUND)
        self.seen.append(name)


@pytest.fixture
def losses() -> Iterator[_Losses]:
    observer = _Losses()
    observe.add_observer(observer)
    yield observer
    observer.rest.set()
    observe.remove_observer(observer)


@pytest.mark.parametrize("step", ["acquire", "release"])
def test_a_loss_is_observed_before_its_error_is_raised(
    client: Any, alice: Any, bob: Any, losses: _Losses, step: str
) -> None:
    lock = client.lock("myLock", on_lost=lambda _: None)  # so that no error is logged

    def work() -> Iterator[Any]:
        yield lock.acquire()
        bob.begin(client.lock("myLock").force_release)
        yield from until(lambda: lock.lost)
        with pytest.raises(holdfast.LockLostError):
            yield getattr(lock, step)()
        assert losses.seen == [b"myLock"]

    alice.do(work)
