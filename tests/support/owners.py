"""pytest fixtures over actors.py: clients of both flavours and the owners that use them.

A test that uses any of them runs once for sync and once for asyncio (`flavour`), unless it is
marked `flavours("sync")` or `flavours("asyncio")`; some also for trio: see matrix.py. `client` is
a client of `server`; `make_client(url=None, **options)` makes further ones; all are closed at the
end. `alice`, `bob` and `carol` are three owners; `make_actor()` makes more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.actors import RELEASES, Flavour
from tests.support.matrix import flavours_of, spread
from tests.support.servers import Server
from tests.support.waiting import BOUND

MakeClient = Callable[..., Any]
MakeActor = Callable[[], Any]


def pytest_configure(config: pytest.Config) -> None:
    line = "flavours(*names): sync, asyncio or trio, where a test is about one of them"
    config.addinivalue_line("markers", line)
    line = "awaited: of a release that cannot be deferred, or tells its caller what the server knew"
    config.addinivalue_line("markers", line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each flavour that it allows."""
    if "flavour" in metafunc.fixturenames:
        spread(metafunc, "flavour", flavours_of(metafunc))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if RELEASES and item.get_closest_marker("awaited"):
        pytest.skip("about releases that are awaited")


@pytest.fixture
def flavour(request: pytest.FixtureRequest) -> Iterator[Flavour]:
    """How this run of the test uses the library."""
    flavour = Flavour(request.param)
    yield flavour
    flavour.end()


@pytest.fixture
def make_client(flavour: Flavour, request: pytest.FixtureRequest) -> Iterator[MakeClient]:
    """Make a client, of `server` unless a URL is given, with any option of the constructor."""
    clients: list[Any] = []
    for way in ("start_server", "proxy"):
        if way in request.fixturenames:
            request.getfixturevalue(way)  # first, to be there until the clients are closed

    def make(url: str | None = None, **options: Any) -> Any:
        if url is None:
            server: Server = request.getfixturevalue("server")
            url = server.url
        clients.append(flavour.client(url, **options))
        return clients[-1]

    yield make
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for closing in [flavour.actor().begin(client.close) for client in clients]:
            closing.result(BOUND)


@pytest.fixture
def client(server: Server, make_client: MakeClient) -> Any:
    """A client of `server` with the default options."""
    return make_client(server.url)


@pytest.fixture
def make_actor(flavour: Flavour) -> MakeActor:
    """Make an owner: a thread or a task."""
    return flavour.actor


@pytest.fixture
def alice(flavour: Flavour) -> Any:
    return flavour.actor()


@pytest.fixture
def bob(flavour: Flavour) -> Any:
    return flavour.actor()


@pytest.fixture
def carol(flavour: Flavour) -> Any:
    return flavour.actor()
