"""Fixtures for tests of programs that use holdfast; pytest finds them by itself.

============================ =====================================================================
``holdfast_server``          a real server for the session, emptied before each test: ``.url``
``holdfast_client``          a client of it; a lock that is still held at the end fails the test
``holdfast_async_client``    the same for tasks: pytest-asyncio in both modes, pytest-trio, anyio
``holdfast_faults``          makes the locks of the test's clients fail, as servers and networks do
============================ =====================================================================

holdfast is imported by the first fixture that needs it: a run that uses none does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import holdfast
    import holdfast.asyncio

    from ._faults import Faults
    from ._server import TestServer

_CLIENTS = frozenset({"holdfast_client", "holdfast_async_client"})

_REQUIRED = "holdfast_require_server"

_running = pytest.StashKey["TestServer"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of pytest's configuration."""
    words = "a test that needs a server fails where there is none, instead of being skipped"
    parser.addini(_REQUIRED, words, type="bool", default=False)


@pytest.fixture(scope="session")
def holdfast_server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A real server, empty at the start of each test; ``url`` is its URL.

    It is that of ``HOLDFAST_TEST_URL``, else one that pip has installed with the extra
    ``holdfast-locks[server]``, else redis-server or valkey-server from PATH. Without any the test
    is skipped.
    """
    from ._server import NoServer, UnusableServer, find

    try:
        server = find()
    except UnusableServer as reason:
        pytest.fail(str(reason), pytrace=False)  # a traceback would show the URL's password
    except NoServer as reason:
        if request.config.getini(_REQUIRED):
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(f"{reason} ({_REQUIRED} = true makes this an error)")
    request.session.stash[_running] = server
    yield server
    del request.session.stash[_running]
    server.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Empty the server before each test, once there is one."""
    server = item.session.stash.get(_running, None)
    if server is not None:
        server.empty()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with a client, so that a lock that is still held fails the test."""
    if _CLIENTS.isdisjoint(getattr(item, "fixturenames", ())):
        return None
    from ._verdict import is_ours_to_run, run

    if not is_ours_to_run(item):
        return None
    run(item, nextitem)
    return True


@pytest.fixture
def holdfast_client(
    holdfast_server: TestServer, request: pytest.FixtureRequest
) -> Iterator[holdfast.Client]:
    """A client of the test's server; it fails the test that leaves a lock held."""
    from ._clients import closing, new_client

    client = new_client(holdfast_server)
    with closing(client, request.node):
        yield client


@pytest.fixture
def holdfast_async_client(
    holdfast_server: TestServer, request: pytest.FixtureRequest
) -> Iterator[holdfast.asyncio.Client]:
    """The same for tasks of asyncio or trio. It needs no loop to be made and none to be closed."""
    from ._clients import closing, new_async_client

    client = new_async_client(holdfast_server, request)
    with closing(client, request.node):
        yield client


@pytest.fixture
def holdfast_faults(holdfast_server: TestServer) -> Iterator[Faults]:
    """What goes wrong with locks, done on purpose: see ``holdfast_pytest._faults.Faults``."""
    from ._faults import Faults

    faults = Faults(holdfast_server)
    yield faults
    faults.end()


def __getattr__(name: str) -> Any:
    if name == "Faults":
        from ._faults import Faults

        return Faults
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
