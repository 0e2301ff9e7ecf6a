"""Fixtures of the tests with replicas, and the things that replicas are to know of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.owners import MakeClient
from tests.support.replicas import Replicated

NAME = "myLock"


@dataclass(frozen=True)
class Thing:
    """What a client is granted.

    `make(client)` is an object to acquire, `free(object)` whether it is free;
    with `begin` there have to be permits first.
    """

    name: str
    make: Callable[[Any], Any]
    free: Callable[[Any], Any]
    options: dict[str, Any]
    begin: bool = False

    def __repr__(self) -> str:
        return self.name


def _lock(name: str, make: Callable[[Any], Any], **options: Any) -> Thing:
    return Thing(name, make, lambda lock: lock.locked, options)


def _permits(name: str, make: Callable[[Any], Any], **options: Any) -> Thing:
    return Thing(name, make, lambda semaphore: semaphore.available_permits, options, begin=True)


THINGS = (
    _lock("lock", lambda client: client.lock(NAME)),
    _lock("lock_with_a_lease", lambda client: client.lock(NAME), lease=60),
    _lock("fenced_lock", lambda client: client.fenced_lock(NAME)),
    _lock("spin_lock", lambda client: client.spin_lock(NAME)),
    _lock("fair_lock", lambda client: client.fair_lock(NAME)),
    _lock("read_lock", lambda client: client.read_write_lock(NAME).read),
    _lock("write_lock", lambda client: client.read_write_lock(NAME).write),
    _lock("multi_lock", lambda client: client.multi_lock(client.lock(NAME), client.lock("2"))),
    _permits("semaphore", lambda client: client.semaphore(NAME)),
    _permits("permit_semaphore", lambda client: client.permit_semaphore(NAME)),
    _permits("permit_with_a_lease", lambda client: client.permit_semaphore(NAME), lease=60),
)


OTHERS = {"lock_with_a_lease", "fenced_lock", "spin_lock", "write_lock", "permit_with_a_lease"}
"""What is granted by the same steps as another thing."""


def _param(thing: Thing) -> Any:
    marks = [pytest.mark.slow] if thing.name in OTHERS else []
    return pytest.param(thing, marks=marks, id=thing.name)


@pytest.fixture(params=map(_param, THINGS))
def thing(request: pytest.FixtureRequest) -> Thing:
    """What is acquired in this run of the test."""
    thing: Thing = request.param
    return thing


@dataclass(frozen=True)
class Granted:
    """A thing of a client that waits for both replicas, and a client that waits for none."""

    thing: Thing
    group: Replicated
    own: Any
    seen: Any

    def acquire(self, owner: Any, **options: Any) -> Any:
        return owner.do(self.own.acquire, **options, **self.thing.options)

    def begin(self, owner: Any, **options: Any) -> Any:
        return owner.begin(self.own.acquire, **options, **self.thing.options)

    def free(self, owner: Any) -> bool:
        """It is free."""
        state = owner.do(self.thing.free(self.seen))
        return state == 1 if self.thing.begin else state is False


@pytest.fixture
def granted(thing: Thing, replicated: Replicated, make_client: MakeClient, carol: Any) -> Granted:
    url = replicated.primary.url
    own = thing.make(make_client(url, replicas_to_wait=2, command_timeout=6))
    if thing.begin:
        assert carol.do(own.try_set_permits, 1)
    return Granted(thing, replicated, own, thing.make(make_client(url)))
