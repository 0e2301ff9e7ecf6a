"""Shared by the modules for monitoring: the meaning of each figure, and the name of a client."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

from holdfast.integration import BaseClient

__all__ = ["HELP", "by_program", "checked_clients"]

#: By the fields of ``holdfast.Stats``, in their order.
HELP = {
    "acquired": "Grants of locks, nested ones included, and of permits",
    "contended": "Grants that had to wait",
    "timed_out": "Acquisitions that ended because others held the lock, or all permits",
    "cancelled": "Acquisitions that their caller gave up",
    "failed": "Acquisitions that ended with an error",
    "released": "Releases of locks, nested ones included, and of permits",
    "lost": "Holds lost, or left behind by a thread or task that ended",
    "renewals": "Renewals that the server answered",
    "renewal_failures": "Renewals that were refused, could not be sent, or had no answer",
    "commands": "Commands sent to servers",
    "reconnects": "Connections established again",
    "protocol_errors": "Connections ended by bytes that cannot be replies to the commands sent",
    "busy_polls": "Replies for which a thread looked before it slept",
    "busy_polls_right": "Replies that a thread found while it looked",
    "held": "Locks and permits held now",
    "waiting": "Acquisitions that wait now",
    "tracked": "Holds whose changes the server reports at once",
    "guarded": "Clients whose holds a guard releases if their program dies",
    "wait_seconds": "Time from the beginning of an acquisition to its grant",
    "hold_seconds": "Time from a grant to its last release, or its loss",
}


def by_program(client: BaseClient) -> str:
    """The name that the client was given, else ``host:program``: the same after each start."""
    return client.client_name or f"{socket.gethostname()}:{_program()}"


def _program() -> str:
    """The name of the script, or of the module that ``python -m`` runs."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name.removesuffix(".__main__"))
    return Path(sys.argv[0] if sys.argv else "").name or "python"


def checked_clients(clients: tuple[Any, ...]) -> tuple[BaseClient, ...]:
    """Raise ``TypeError`` unless these are clients, one at least."""
    if not clients:
        msg = "clients: at least one holdfast.Client is needed"
        raise TypeError(msg)
    for client in clients:
        if not isinstance(client, BaseClient):
            msg = f"clients must be holdfast.Client, not {type(client).__name__}"
            raise TypeError(msg)
    return clients
