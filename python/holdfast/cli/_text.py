"""How the command line shows things: tables on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.inspect import LockInfo, Owner, OwnerClient

__all__ = [
    "COLUMNS",
    "cells",
    "client_text",
    "console",
    "new_table",
    "on_terminal",
    "owner_text",
    "seconds",
    "write_lines",
    "write_pairs",
]

COLUMNS = ("name", "kind", "owners", "holds", "left", "waiters")
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


def client_text(client: OwnerClient | None) -> str:
    """The client behind an owner; empty if it is not known."""
    if client is None:
        return ""
    return " ".join(filter(None, (client.name, client.address, client.library)))


def owner_text(owner: Owner) -> str:
    """An owner in one line."""
    mode = f" ({owner.mode})" if owner.mode else ""
    client = client_text(owner.client)
    return f"{owner.id}{mode}" + (f" {client}" if client else "")


def cells(info: LockInfo) -> tuple[str, ...]:
    """A lock as a row of a table; an owner is a line."""
    return (
        info.name,
        info.kind,
        "\n".join(map(owner_text, info.owners)),
        "\n".join(str(owner.holds) for owner in info.owners),
        seconds(info.ttl),
        str(info.waiters),
    )


def new_table(columns: Sequence[str]) -> Table:
    """An empty table with these columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        right = column in NUMBERS
        table.add_column(column.upper(), justify="right" if right else "left", overflow="fold")
    return table


def write_lines(rows: Iterable[Sequence[str]]) -> None:
    """For other programs: a line for each row, its cells separated by tabs."""
    for row in rows:
        print("\t".join(cell.replace("\n", ",") for cell in row), flush=True)


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
