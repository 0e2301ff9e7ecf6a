"""Fixtures of the contract tests: the kind of lock, and the stage that the owners act on."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import KINDS, SYNCHRONIZERS, Kind, Name, Synchronizer, as_bytes, prefixed
from tests.contract.leaders import NAME as LEADER
from tests.contract.leaders import MakeLeader
from tests.contract.permits import Permits
from tests.support.actors import Flavour
from tests.support.clusters import slot_of
from tests.support.matrix import spread
from tests.support.owners import MakeActor, MakeClient
from tests.support.recording import Messages
from tests.support.renewals import see_longer
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

    def rival(self, client: Any = None, name: Name = NAME, **options: Any) -> Any:
        """A new lock object that excludes, and is excluded by, those of this kind."""
        make = self.kind.make_rival or self.kind.make
        return make(client or self.default_client, name, **options)

    def actor(self) -> Any:
        """A new owner: a thread or a task."""
        return self.flavour.actor()

    def wait(self, actor: Any, lock: Any, **how: Any) -> Future[Any]:
        """Let `actor` wait for `lock`; returns once the server has seen a waiter.

        Where the server keeps a line: once the waiter stands there, and all in it are subscribed.
        """
        return self._seen(self.first_name(lock), lambda: actor.begin(lock.acquire, **how))

    def wait_inside(self, actor: Any, lock: Any, block: Any) -> Future[Any]:
        """The same by `with lock:`, to run `block(lock)` inside."""
        return self._seen(self.first_name(lock), lambda: actor.begin_inside(lock, block))

    def _seen(self, name: Name, begin: Callable[[], Future[Any]]) -> Future[Any]:
        before = self.server.scripts_run()
        line = self.kind.line or (lambda _server, _name: 1)
        longer = line(self.server, name) + (1 if self.kind.line else 0)
        waiting = begin()

        def settled() -> bool:
            if not self.kind.listens:
                return before is None or self.server.scripts_run() != before
            return self.subscribers(name) >= line(self.server, name) >= longer

        eventually(lambda: waiting.done() or settled())
        return waiting

    # ---- what can be seen on the server

    def holds(self, name: Name = NAME) -> dict[bytes, int]:
        """The owners of a name and their hold counts."""
        return self.kind.holds(self.server, name)

    def left(self, name: Name = NAME) -> float:
        """Seconds until the name is free; negative when it has no time to live."""
        return min(float(self.server.inspect.pttl(key)) for key in self.keys_of(name)) / 1000

    def see_renewals(self, times: int = 1, name: Name = NAME) -> None:
        """Wait until the lease of a name was made longer so often."""
        see_longer(lambda: self.left(name), times)

    def keys_of(self, name: Name = NAME) -> tuple[bytes, ...]:
        """The keys of a lock."""
        return self.kind.keys(name)

    def first_name(self, lock: Any) -> Any:
        """The name of a lock, of one that is made of several the first."""
        return lock._members[0].name if len(self.keys_of()) > 1 else lock.name

    def all_keys(self) -> set[bytes]:
        """All keys except those that this kind leaves behind on purpose."""
        there = self.server.keys()
        return {key for key in there if not key.startswith(self.kind.stays)}

    def take_away(self, name: Name = NAME) -> None:
        """Delete the keys of a lock, as an operator's hand or an eviction would."""
        keys = {*self.keys_of(name), *self.kind.beside(self.server, name)}
        assert sum(self.server.inspect.delete(key) for key in keys) == len(keys)

    def channels(self, name: Name = NAME) -> list[bytes]:
        """Where those who wait for a name listen."""
        channel = self.kind.channel(name)
        if not self.kind.line:
            return [channel]
        everywhere = self.server.subscribed_channels()
        return sorted(each for each in everywhere if each.startswith(channel + b":"))

    def subscribers(self, name: Name = NAME) -> int:
        """How many connections wait for messages of a name; one counts for each channel."""
        return sum(self.server.subscribers(channel) for channel in self.channels(name))

    def messages(self, name: Name = NAME) -> Messages:
        """Collect the messages of a name: `with stage.messages() as messages:`."""
        return self.server.listening(self.kind.channel(name), below=self.kind.line is not None)


@pytest.fixture(autouse=True)
def _a_name_of_one_slot(request: pytest.FixtureRequest) -> None:
    """In a cluster other names are refused, as tests/deployments shows."""
    callspec = getattr(request.node, "callspec", None)
    params = callspec.params if callspec is not None else {}
    name = params.get("name")
    if not isinstance(name, str | bytes) or "server_kind" not in request.fixturenames:
        return
    if request.getfixturevalue("server_kind") != "cluster":
        return
    key = as_bytes(name)
    latch = any(getattr(each, "name", "") == "count_down_latch" for each in params.values())
    derived = {prefixed(b"", key), *([b"{" + key + b"}"] if latch else [])}
    if {slot_of(each) for each in derived} != {slot_of(key)}:
        pytest.skip("refused in a cluster")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    spread(metafunc, "kind", KINDS)
    spread(metafunc, "synchronizer", SYNCHRONIZERS)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of lock of this run of the test."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def synchronizer(request: pytest.FixtureRequest) -> Synchronizer:
    """What is waited for and not owned, in this run of the test."""
    synchronizer: Synchronizer = request.param
    return synchronizer


@pytest.fixture
def stage(kind: Kind, flavour: Flavour, server: Server, make_client: MakeClient) -> Stage:
    return Stage(kind, flavour, server, make_client)


@pytest.fixture
def lock(stage: Stage) -> Any:
    """A lock named NAME of the default client."""
    return stage.lock()


@pytest.fixture
def quiet_lock(stage: Stage) -> Any:
    """A lock of a client that sends its callers' commands only, until a renewal is due."""
    return stage.lock(stage.client(tracking="off"))


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A socket that listens; the test fails when anybody connected.

    Not at 127.0.0.1: there, clients of other tests look for servers that had the same port.
    """
    with socket.create_server(("127.0.0.2", 0)) as listener:
        listener.setblocking(False)
        yield listener
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.fixture
def deaf(silent: socket.socket, make_client: MakeClient) -> Any:
    """A client of a server that never answers; the test fails when it connects."""
    return make_client("redis://{}:{}".format(*silent.getsockname()), command_timeout=1)


@pytest.fixture
def rival(stage: Stage) -> Any:
    """What owners of `lock` keep out: the same lock, where it is not shared."""
    return stage.rival()


@pytest.fixture
def rw(client: Any) -> Any:
    """A read-write lock of the default client."""
    return client.read_write_lock(NAME)


@pytest.fixture
def theirs(make_client: MakeClient) -> Any:
    """The same lock, of another client."""
    return make_client().read_write_lock(NAME)


@pytest.fixture
def permits(server: Server, flavour: Flavour, make_client: MakeClient) -> Permits:
    """A permit semaphore in one flavour, on one server."""
    return Permits(server, flavour, make_client)


# ---- candidates for a leadership


@pytest.fixture
def make_leader(client: Any, make_actor: MakeActor) -> Iterator[MakeLeader]:
    """Make candidates, of `client` unless another one is given; those that lead resign."""
    made: list[Any] = []

    def make(value: Any = None, of: Any = None, name: str = LEADER, **options: Any) -> Any:
        made.append((of or client).leader(name, value=value, **options))
        return made[-1]

    yield make
    for leader in made:
        if leader.leading:
            with suppress(holdfast.LockLostError):
                make_actor().do(leader.resign)


@pytest.fixture
def leader(make_leader: MakeLeader) -> Any:
    return make_leader("first")


@pytest.fixture
def other(make_client: MakeClient, make_leader: MakeLeader) -> Any:
    """A candidate of another client."""
    return make_leader("second", make_client())


@pytest.fixture
def hasty(make_client: MakeClient, make_leader: MakeLeader) -> Any:
    """A candidate whose lease is a second."""
    return make_leader("hasty", make_client(lease=1))
