"""Clients that notice what a test has left held."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import holdfast
import holdfast.inspect
from holdfast import testing

from ._verdict import leave

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest

    import holdfast.asyncio

    from ._server import TestServer

__all__ = ["closing", "new_async_client", "new_client"]


def new_client(server: TestServer) -> holdfast.Client:
    """A client for threads."""
    return holdfast.Client(server.url)


def new_async_client(server: TestServer, request: pytest.FixtureRequest) -> holdfast.asyncio.Client:
    """A client for the tasks of the library that runs the test."""
    import holdfast.asyncio

    if not _is_of_trio(request):
        return holdfast.asyncio.Client(server.url)
    import holdfast.trio

    return holdfast.trio.Client(server.url)


def _is_of_trio(request: pytest.FixtureRequest) -> bool:
    """Whether pytest-trio runs the test, or anyio's plugin on trio."""
    if "anyio_backend" in request.fixturenames:
        return bool(request.getfixturevalue("anyio_backend_name") == "trio")
    return request.node.get_closest_marker("trio") is not None


@contextmanager
def closing(client: Any, test: pytest.Item) -> Generator[None]:
    """Close the client at the end; the test fails when it still held something."""
    yield
    held = _held_by(client) | {
        name.decode(errors="backslashreplace") for name in testing.closed(client)
    }
    if held:
        names = ", ".join(map(repr, sorted(held)))
        leave(test, f"still held at the end of the test: {names}; release it")


def _held_by(client: Any) -> set[str]:
    """The names on the server under owners of this client, also of tasks that are done by now."""
    try:
        locks = holdfast.inspect.locks(client)
    except holdfast.HoldfastError:  # the test has made it unreachable
        return set()
    return {
        str(lock.name) for lock in locks if any(_is_of(client, owner.id) for owner in lock.owners)
    }


def _is_of(client: Any, owner: str) -> bool:
    """Owner 0 does not count: the rest of a minimum hold time."""
    return owner.startswith(client.id) and not owner.endswith(":0")
