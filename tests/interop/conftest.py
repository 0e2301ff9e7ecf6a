"""Fixtures of the interoperability tests: one Redis, Java peers of each release, measured waits."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio

import holdfast
import holdfast.asyncio
from tests.interop.java_build import RELEASES, build
from tests.interop.java_peer import JavaPeer
from tests.interop.lock_kinds import LOCK_KINDS, LockKind, SharedLock
from tests.interop.wire import LockKey
from tests.support.servers import Server
from tests.support.waiting import eventually

NewPeer = Callable[..., JavaPeer]

MEASURED = pytest.StashKey[list[str]]()
_numbers = itertools.count(1)

TIMEOUT = 300
"""Seconds for a test, since the first of a release may wait for Maven."""

LONG = 60.0
"""A lease that explains no wake-up."""

WOKEN = 0.2
"""Seconds within which a message wakes a waiter of the other language."""

SOON = 2.0
"""The bound for what should take milliseconds, on a busy machine too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.interop)
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    """One Redis for the whole session; each test uses separate names on it."""
    with Server("redis") as server:
        yield server


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each of the Redisson releases."""
    return str(request.param)


@pytest.fixture(scope="session")
def build_root(pytestconfig: pytest.Config) -> Path:
    """Where the built peers stay from session to session."""
    chosen = os.environ.get("HOLDFAST_INTEROP_BUILD")
    if chosen:
        return Path(chosen)
    cache: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    assert cache is not None, "set HOLDFAST_INTEROP_BUILD where pytest's cache is switched off"
    return cache.mkdir("redisson-peer")


@pytest.fixture(scope="session")
def class_path(release: str, build_root: Path) -> str:
    """The built peer of the release."""
    return build(release, build_root)


@pytest.fixture(scope="session")
def shared_peers(class_path: str, redis_server: Server) -> Iterator[list[JavaPeer]]:
    """The peer that the tests of a release share, as a list of one, or empty."""
    peers: list[JavaPeer] = []
    yield peers
    for peer in peers:
        peer.kill()


@pytest.fixture
def peer(shared_peers: list[JavaPeer], class_path: str, redis_server: Server) -> JavaPeer:
    """A Java peer with Redisson's defaults; replaced when a failed test left it busy."""
    if shared_peers and not shared_peers[0].idle:
        shared_peers.pop().kill()
    if not shared_peers:
        shared_peers.append(JavaPeer(class_path, redis_server.url))
    return shared_peers[0]


@pytest.fixture
def new_peer(class_path: str, redis_server: Server) -> Iterator[NewPeer]:
    """Starts a Java peer for this test alone: `new_peer(*addresses, watchdog=30.0, other=None)`.

    It is of the test's release, unless another class path is given, and on the session's server,
    unless addresses are.
    """
    with ExitStack() as peers:

        def start(*addresses: str, watchdog: float = 30.0, other: str | None = None) -> JavaPeer:
            places = addresses or (redis_server.url,)
            return peers.enter_context(JavaPeer(other or class_path, *places, watchdog=watchdog))

        yield start


@pytest.fixture(scope="session")
def red_servers() -> Iterator[list[Server]]:
    """Three servers that know nothing of each other."""
    with ExitStack() as servers:
        yield [servers.enter_context(Server("redis")) for _ in range(3)]


@pytest.fixture(scope="session")
def red_peer(class_path: str, red_servers: list[Server]) -> Iterator[JavaPeer]:
    """A Java peer on the three servers."""
    with JavaPeer(class_path, *(server.url for server in red_servers)) as started:
        yield started


@pytest.fixture
def python(redis_server: Server) -> Iterator[holdfast.Client]:
    """A Python client with the defaults, as Java's: leases of 30 s under the watchdog."""
    with holdfast.Client(redis_server.url) as client:
        yield client


@pytest_asyncio.fixture
async def client(redis_server: Server) -> AsyncIterator[holdfast.asyncio.Client]:
    """An asyncio client with a short lease of the watchdog, on the loop of the test."""
    async with holdfast.asyncio.Client(redis_server.url, lease=3.0) as opened:
        yield opened


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition while the loop goes on."""
    await asyncio.to_thread(eventually, condition)


@pytest.fixture
def python_thread() -> Iterator[ThreadPoolExecutor]:
    """A second Python thread: an executor of one, so that it is one owner."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield executor


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"interop {next(_numbers)}"


@pytest.fixture
def key(redis_server: Server, name: str) -> LockKey:
    """A lock name that no other test uses, and what the server knows of it."""
    return LockKey(redis_server, name)


@pytest.fixture(params=LOCK_KINDS, ids=[kind.word for kind in LOCK_KINDS])
def kind(request: pytest.FixtureRequest) -> LockKind:
    """Each kind of lock, one after the other."""
    chosen: LockKind = request.param
    return chosen


@pytest.fixture
def shared(kind: LockKind, release: str, redis_server: Server, name: str) -> SharedLock:
    """A lock of each kind that no other test uses."""
    return SharedLock(kind, release, kind.key(redis_server, name))


class Report:
    """Lines shown at the end of the session, each with the name of the test that wrote it."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._test = request.node.name
        self._lines = request.config.stash.setdefault(MEASURED, [])

    def line(self, text: str) -> None:
        """Add a line."""
        self._lines.append(f"{self._test}  {text}")

    def waits(self, what: str, seconds: Sequence[float]) -> None:
        """Add the median and the worst of measured seconds."""
        middle, worst = statistics.median(seconds) * 1000, max(seconds) * 1000
        self.line(f"{what}: median {middle:.2f} ms, worst {worst:.2f} ms of {len(seconds)}")

    def wake_ups(self, what: str, seconds: Sequence[float]) -> None:
        """Add them, and check the bounds: one of them may meet a busy machine, half may not."""
        self.waits(what, seconds)
        assert statistics.median(seconds) < WOKEN
        assert max(seconds) < SOON


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """The test's place in the report at the end of the session."""
    return Report(request)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what the tests measured."""
    lines = config.stash.get(MEASURED, [])
    if lines:
        terminalreporter.section("measured with Redisson")
        for line in lines:
            terminalreporter.line(line)
