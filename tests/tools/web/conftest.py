"""One server and one inspector for each file of tests; the server is emptied before each test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from tests.support.servers import Server, why_absent
from tests.support.waiting import eventually
from tests.tools.web.inspector import Inspector

pytest.importorskip("starlette", reason="the inspector needs the extra web")


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    reason = why_absent("redis")
    if reason:
        pytest.skip(f"redis: {reason}")
    with Server("redis") as server:
        yield server


@pytest.fixture(scope="module")
def running_inspector(own_server: Server) -> Iterator[Inspector]:
    with Inspector(own_server.url) as inspector:
        yield inspector


@pytest.fixture
def locks_server(own_server: Server) -> Server:
    """The server of the inspector, empty."""
    own_server.flush()
    return own_server


@pytest.fixture
def inspector(locks_server: Server, running_inspector: Inspector) -> Inspector:
    """A running inspector of a server without keys."""
    return running_inspector


@pytest.fixture
def client(locks_server: Server) -> Iterator[Any]:
    """A client of the inspector's server, whose connections are all there.

    The pages show the address of an owner's connection for renewals, once there is one.
    """
    with warnings.catch_warnings():
        # What a test still holds ends with the server's data.
        warnings.simplefilter("ignore", ResourceWarning)
        with holdfast.Client(locks_server.url) as client:
            with client.lock("first hold"):
                eventually(lambda: _tracks(locks_server))
            yield client


def _tracks(server: Server) -> bool:
    """Whether a connection for renewals is there."""
    return any("t" in each["flags"] for each in server.connections())
