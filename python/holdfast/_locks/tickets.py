"""The tickets of detached holds, for threads and for tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast._engine.arguments import Name, checked_name
from holdfast._engine.errors import HoldfastError, NotOwnedError, quoted

if TYPE_CHECKING:
    from holdfast._engine.process import AnyClient
    from holdfast._locks.steps import Steps


def lock_of(client: Any, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Any:
    """The lock of a ticket, with these options; raises ``ValueError`` for an invalid ticket.

    ``name``: that of the lock whose ticket it has to be; ``None``: of any.
    """
    wanted = None if name is None else checked_name("name", name)
    if not isinstance(ticket, str):
        msg = f"ticket must be str, not {type(ticket).__name__}"
        raise TypeError(msg)
    if not ticket.isascii():
        msg = "ticket is not a ticket of Hold.detach(): it is not ASCII"
        raise ValueError(msg)
    kind, key, _ = client._core.read_ticket(ticket)
    if wanted is not None and wanted != key:
        msg = f"ticket is for {quoted(key)}, not for {quoted(wanted)}: nothing was attached"
        raise ValueError(msg)
    if kind == "write_lock":
        return client.read_write_lock(_shown(key), lease=lease, on_lost=on_lost).write
    return getattr(client, kind)(_shown(key), lease=lease, on_lost=on_lost)


def forced_ticket(client: AnyClient, ticket: str, error: NotOwnedError) -> Steps[NotOwnedError]:
    """The error of ``attach()``, with who has released the ticket's lock by force, if recorded."""
    _, name, owner = client._core.read_ticket(ticket)
    with suppress(HoldfastError, OSError, ImportError):  # the error itself is what matters
        from holdfast._locks.force import forcing

        forced = yield from forcing(client._core, client.name_prefix + name, {owner})
        if forced is not None:
            return type(error)(f"{error}; it was released by force {forced}")
    return error


def _shown(key: bytes) -> Name:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
