"""The servers of a client, under the names that the doctor and the benchmark use."""

from __future__ import annotations

from holdfast.servers import Command, Deployment, Server, listed

__all__ = ["Command", "Deployment", "Server", "listed"]
