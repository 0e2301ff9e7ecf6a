"""Which locks are listed, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from holdfast.inspect import LockInfo, Owner

__all__ = ["chosen", "owner_option", "sort_option"]

ORDERS: Final[Mapping[str, Callable[[LockInfo], Any]]] = {
    "name": lambda info: info.raw_name,
    "waiters": lambda info: -info.waiters,
    "left": lambda info: float("inf") if info.ttl is None else info.ttl,
}

sort_option: Callable[[Any], Any] = click.option(
    "--sort",
    type=click.Choice(list(ORDERS)),
    default="name",
    show_default=True,
    help="By name, by the most waiters, or by the least time left.",
)
owner_option: Callable[[Any], Any] = click.option(
    "--owner",
    metavar="TEXT",
    help="Those with TEXT in an owner's label, purpose, host and process, or id.",
)


def chosen(found: Iterable[LockInfo], sort: str, owner: str | None) -> list[LockInfo]:
    """Those with such an owner, in that order; equal ones by name."""
    kept = [info for info in found if owner is None or _any_has(info.owners, owner.casefold())]
    return sorted(kept, key=ORDERS[sort])


def _any_has(owners: Iterable[Owner], text: str) -> bool:
    return any(text in said.casefold() for owner in owners for said in _said(owner))


def _said(owner: Owner) -> list[str]:
    client = owner.client
    program = [client.process, client.name, client.address] if client else []
    return [text for text in (owner.id, owner.label, owner.purpose, *program) if text]
