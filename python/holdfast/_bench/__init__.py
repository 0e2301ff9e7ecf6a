"""The speed of locks on a deployment, from here, beside a lower bound for any client."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from holdfast import _core
from holdfast.servers import of as deployment_of

from ._measure import Result, Stand, measure
from ._peer import Peer, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast._client import Client
    from holdfast.inspect._deployment import Deployment

__all__ = ["Result", "bench", "serve"]


def bench(client: Client, url: str | None, seconds: float) -> Iterator[tuple[str, Result]]:
    """The results by name, one after the other, in about ``seconds`` altogether.

    ``url``: of the client, for a second process. A random name is locked and released. Raises
    ``ConnectionError`` or ``ServerError``.
    """
    client.ping()
    deployment = deployment_of(client)
    name = f"holdfast-bench:{secrets.token_hex(4)}"
    stand = Stand(client, deployment, _address(deployment), name)
    with Peer(stand, url) as peer:
        yield from measure(stand, peer, seconds)


def _address(deployment: Deployment) -> tuple[str, int, str]:
    """Of a primary: host, port, and the path of a unix socket."""
    [(host, port, path), *_] = _core.addresses(deployment.options.endpoint)
    if path:
        return host, port, path
    host, port = deployment.primary_addresses()[0]
    return host, port, ""
