"""Which locks are listed, and in which order."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

import click

from ._settings import SecondsType
from ._text import age, program_text, since, young

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from holdfast.inspect import LockInfo, Owner

__all__ = ["ORDERS", "chosen", "older_option", "owner_option", "sort_option"]

ORDERS: Final[Mapping[str, Callable[[LockInfo], Any]]] = {
    "name": lambda info: info.raw_name,
    "age": lambda info: since(info) or (math.inf if young(info) is None else time.time()),
    "waiters": lambda info: -info.waiters,
    "left": lambda info: math.inf if info.ttl is None else info.ttl,
}
#: Seconds, and other units that a duration may end with.
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class DurationType(SecondsType):
    """A number of seconds, or of minutes, hours or days: ``90``, ``10m``, ``2h``, ``1d``."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        text = str(value)
        unit = UNITS.get(text[-1:], 0)
        number = super().convert(text[:-1] if unit else text, param, ctx)
        return number * (unit or 1)


sort_option: Callable[[Any], Any] = click.option(
    "--sort",
    type=click.Choice(list(ORDERS)),
    default="name",
    show_default=True,
    help="By name, by who has held it longest, the most waiters, or the least time left.",
)
older_option: Callable[[Any], Any] = click.option(
    "--older-than",
    type=DurationType(0),
    metavar="S|10m",
    help="Those that are known to be held for longer: seconds, or with m, h or d.",
)
owner_option: Callable[[Any], Any] = click.option(
    "--owner",
    metavar="TEXT",
    help="Those with TEXT in an owner's label, purpose, host and process, or id.",
)


def chosen(
    found: Iterable[LockInfo], sort: str, owner: str | None = None, older: float | None = None
) -> list[LockInfo]:
    """Those with such an owner that are older, in that order; equal ones by name."""
    kept = [info for info in found if owner is None or _any_has(info.owners, owner.casefold())]
    if older is not None:
        kept = [info for info in kept if (age(info) or 0.0) > older]
    return sorted(sorted(kept, key=ORDERS["name"]), key=ORDERS[sort])


def _any_has(owners: Iterable[Owner], text: str) -> bool:
    return any(text in said.casefold() for owner in owners for said in _said(owner))


def _said(owner: Owner) -> list[str]:
    client = owner.client
    program = [program_text(owner), client.name, client.address] if client else []
    if owner.host:
        program.append(f"{owner.host}:{owner.pid}")
    return [text for text in (owner.id, owner.label, owner.purpose, *program) if text]
