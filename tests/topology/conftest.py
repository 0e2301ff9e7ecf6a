"""Fixtures of the tests of several servers: a service under Sentinel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.sentinels import Service
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"

MakeService = Callable[..., Service]


@pytest.fixture
def make_service(server_kind: str) -> Iterator[MakeService]:
    """Start a service of the test's own: see `Service` for the options."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Service(server_kind, **options))


@pytest.fixture
def service(make_service: MakeService) -> Service:
    """A primary, two replicas and three sentinels of the test's own, to be broken at will."""
    return make_service()


def begin_waiting(actor: Any, lock: Any, service: Service, waiters: int = 1) -> Any:
    """Let `actor` wait for `lock`; returns once the primary has seen so many clients wait."""
    waiting = actor.begin(lock.acquire)
    eventually(lambda: service.primary.subscribers(CHANNEL) == waiters)
    return waiting
