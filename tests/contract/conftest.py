"""Fixtures of the contract tests: the kind of lock, and the stage that the owners act on."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tests.contract.kinds import KINDS, Kind, Name
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.recording import Messages
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"


class Stage:
    """One kind of lock, used in one flavour, on one server: makes what a test needs of it."""

    def __init__(
        self, kind: Kind, flavour: Flavour, server: Server, make_client: MakeClient
    ) -> None:
        self.kind = kind
        self.flavour = flavour
        self.server = server
        self._make_client = make_client
        self._clients: list[Any] = []

    def client(self, **options: Any) -> Any:
        """A new client of the server."""
        return self._make_client(self.server.url, **options)

    @property
    def default_client(self) -> Any:
        """The client of the locks that are made without one."""
        if not self._clients:
            self._clients.append(self.client())
        return self._clients[0]

    def lock(self, client: Any = None, name: Name = NAME, **options: Any) -> Any:
        """A new lock object of this kind."""
        return self.kind.make(client or self.default_client, name, **options)

    def actor(self) -> Any:
        """A new owner: a thread or a task."""
        return self.flavour.actor()

    def wait(self, actor: Any, lock: Any, **how: Any) -> Future[Any]:
        """Let `actor` wait for `lock`; returns once a waiter is subscribed."""
        waiting: Future[Any] = actor.begin(lock.acquire, **how)
        name = self.first_name(lock)
        eventually(lambda: waiting.done() or self.subscribers(name) > 0)
        return waiting

    # ---- what can be seen on the server

    def holds(self, name: Name = NAME) -> dict[bytes, int]:
        """The owners of a name and their hold counts."""
        return self.kind.holds(self.server, name)

    def left(self, name: Name = NAME) -> float:
        """Seconds until the name is free; negative when it has no time to live."""
        return min(float(self.server.inspect.pttl(key)) for key in self.keys_of(name)) / 1000

    def keys_of(self, name: Name = NAME) -> tuple[bytes, ...]:
        """The keys of a lock."""
        return self.kind.keys(name)

    def first_name(self, lock: Any) -> Any:
        """The name of a lock, of one that is made of several the first."""
        return lock._members[0].name if len(self.keys_of()) > 1 else lock.name

    def all_keys(self) -> set[bytes]:
        return self.server.keys()

    def take_away(self, name: Name = NAME) -> None:
        """Delete the keys of a lock, as an operator's hand or an eviction would."""
        assert self.server.inspect.delete(*self.keys_of(name)) == len(self.keys_of(name))

    def subscribers(self, name: Name = NAME) -> int:
        """How many connections wait for messages of a name."""
        return self.server.subscribers(self.kind.channel(name))

    def messages(self, name: Name = NAME) -> Messages:
        """Collect the messages of a name: `with stage.messages() as messages:`."""
        return self.server.listening(self.kind.channel(name))


@pytest.fixture(params=KINDS, ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of lock of this run of the test."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def stage(kind: Kind, flavour: Flavour, server: Server, make_client: MakeClient) -> Stage:
    return Stage(kind, flavour, server, make_client)


@pytest.fixture
def lock(stage: Stage) -> Any:
    """A lock named NAME of the default client."""
    return stage.lock()
