"""How the command line shows things: tables on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.inspect import LockInfo, Owner, OwnerClient, QueuedOwner

__all__ = [
    "COLUMNS",
    "cells",
    "console",
    "fields",
    "moment",
    "on_terminal",
    "owner_details",
    "owner_text",
    "seconds",
    "table_of",
    "write_lines",
    "write_pairs",
]

COLUMNS = ("name", "kind", "owners", "holds", "left", "waiters")
#: Of an owner whose program is not known, or of a permit.
ID_BEGIN: Final = 8
#: Between two columns of a table; and the least width that is left to the owners.
GAP: Final = 3
LEAST_OWNERS: Final = 16
NUMBERS = frozenset({"holds", "left", "waiters", "per second"})


def on_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()


def console() -> Console:
    """Where tables go. Nothing in a name is markup."""
    return Console(markup=False, emoji=False, highlight=False)


def seconds(value: float | None) -> str:
    """A time that is left; without one, the lock does not expire."""
    return "no expiry" if value is None else f"{value:.1f} s"


def moment(at: float) -> str:
    """A time in seconds since 1970, in UTC."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(" ", "seconds")


def program_text(client: OwnerClient | None) -> str:
    """The program of a client: host, process and client name; empty if it is not known."""
    if client is None:
        return ""
    if client.process is None:
        return client.name or client.address
    return client.process if client.label == "holdfast" else f"{client.process} {client.label}"


def owner_text(owner: Owner) -> str:
    """An owner as people know it: its label and its program, else how its id begins."""
    mode = f" ({owner.mode})" if owner.mode else ""
    if owner.slot is not None:
        mode = f" (slot {owner.slot})"
    program = program_text(owner.client) or f"{owner.id[:ID_BEGIN]}…"
    return (f"{owner.label} on {program}" if owner.label else program) + mode


def owner_details(owner: Owner | QueuedOwner) -> str:
    """All that is known of an owner or waiter, its program first."""
    client = owner.client
    address = client.address if client and client.process else ""
    library = client.library if client else None
    return " ".join(filter(None, (program_text(client), owner.id, address, library)))


def cells(info: LockInfo) -> tuple[str, ...]:
    """A lock as one line of a table: of several owners the first, and the sum of their holds."""
    more = len(info.owners) - 1
    return (
        info.name,
        info.known_as,
        "".join(map(owner_text, info.owners[:1])) + (f" and {more} more" if more > 0 else ""),
        str(sum(owner.holds for owner in info.owners)) if info.owners else "",
        seconds(info.ttl),
        str(info.waiters),
    )


def fields(info: LockInfo) -> tuple[str, ...]:
    """A lock as a line for other programs: each owner, and its holds."""
    name, kind, _, _, left, waiters = cells(info)
    owners = ",".join(map(owner_text, info.owners))
    holds = ",".join(str(owner.holds) for owner in info.owners)
    return name, kind, owners, holds, left, waiters


def table_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table. Where the terminal is narrow the owners are cut: ``show`` has all of them."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    natural = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for column, width in zip(columns, natural, strict=True):
        right = column in NUMBERS
        cut = column == "owners"
        rest = console().width - sum(natural) - GAP * (len(columns) - 1) + width
        table.add_column(
            column.upper(),
            justify="right" if right else "left",
            overflow="ellipsis" if cut else "fold",
            no_wrap=cut,
            max_width=max(LEAST_OWNERS, rest) if cut else None,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def write_lines(rows: Iterable[Sequence[str]]) -> None:
    """For other programs: a line for each row, its cells separated by tabs."""
    for row in rows:
        print("\t".join(row), flush=True)


def write_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """The properties of one lock: a word and its value in each line."""
    if not on_terminal():
        write_lines(pairs)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for word, value in pairs:
        table.add_row(Text(word), Text(value))
    console().print(table)
