"""Fixtures of the inspector's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holdfast
from tests.support.servers import Server


@pytest.fixture
def client(server: Server) -> Iterator[holdfast.Client]:
    """A client that is named after its program."""
    name = "0f66c2a4-2b5d-8d8d-8a2b-80b5a469f259"
    with holdfast.Client(server.url, id=name, client_name="orders") as client:
        yield client


@pytest.fixture
def other(server: Server) -> Iterator[holdfast.Client]:
    """Another client."""
    with holdfast.Client(server.url) as client:
        yield client
