"""The state of a deployment's primaries, as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import servers

if TYPE_CHECKING:
    from holdfast import Client

__all__ = ["primaries"]

FIELDS = {
    "redis_version": "version",
    "valkey_version": "version",
    "uptime_in_seconds": "uptime",
    "connected_clients": "connections",
    "used_memory_human": "memory",
    "maxmemory_policy": "eviction",
}
"""What is shown of a reply to ``INFO``; of two fields for one word the later one counts."""


def primaries(client: Client) -> list[dict[str, Any]]:
    """Address and figures of each server that answers for keys; blocks.

    Figures that this user may not read are left out. Raises ``HoldfastError``.
    """
    return [
        {"address": server.text, **_figures(server.ask([(b"INFO",)])[0])}
        for server in servers.of(client).primaries()
    ]


def _figures(info: Any) -> dict[str, str]:
    if not isinstance(info, bytes):
        return {}
    lines = (line.partition(":") for line in info.decode(errors="replace").splitlines())
    values = {field: value for field, _, value in lines}
    return {word: values[field] for field, word in FIELDS.items() if field in values}
