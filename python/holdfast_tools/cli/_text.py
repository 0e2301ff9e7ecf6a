"""How the command line shows things: tables on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.inspect import LockInfo, Owner, QueuedOwner

__all__ = [
    "COLUMNS",
    "age",
    "cells",
    "console",
    "duration",
    "fields",
    "life",
    "moment",
    "on_terminal",
    "owner_details",
    "owner_text",
    "program_text",
    "seconds",
    "since",
    "table_of",
    "write_lines",
    "write_pairs",
    "young",
]

COLUMNS = ("name", "kind", "owners", "holds", "held for", "left", "waiters")
#: Of an owner whose program is not known, or of a permit.
ID_BEGIN: Final = 8
MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86400
#: Between two columns of a table; and the least width that is left to the owners.
GAP: Final = 3
LEAST_OWNERS: Final = 16
#: Columns of a terminal; and what the table has on one that is narrower than the second.
NARROW: Final = 100
NARROWEST: Final = 72
LEAST_COLUMNS: Final = ("name", "owners", "held for")
NUMBERS = frozenset({"holds", "held for", "left", "waiters", "per second"})
#: What a person reads of ``Owner.connection``.
KNOWN: Final = {
    "connected": "connected",
    "not connected": "not connected",
    "unknown": "not known whether connected",
}


def on_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()


def console() -> Console:
    """Where tables go. Nothing in a name is markup."""
    return Console(markup=False, emoji=False, highlight=False)


def seconds(value: float | None) -> str:
    """A time that is left; without one, the lock does not expire."""
    return "no expiry" if value is None else f"{value:.1f} s"


def duration(value: float) -> str:
    """A time that has passed."""
    if value < MINUTE:
        return f"{value:.1f} s"
    whole = int(value)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def moment(at: float) -> str:
    """A time in seconds since 1970, in UTC."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(" ", "seconds")


def since(info: LockInfo) -> float | None:
    """Since when the longest of its known holds lasts, in seconds since 1970."""
    return min((owner.since for owner in info.owners if owner.since is not None), default=None)


def age(info: LockInfo) -> float | None:
    """For how many seconds it has been held, by the clock of this machine."""
    began = since(info)
    return None if began is None else max(0.0, time.time() - began)


def young(info: LockInfo) -> float | None:
    """All its holds are younger than this many seconds, where that is all that is known."""
    known = [owner.within for owner in info.owners if owner.within is not None]
    return max(known) if known and len(known) == len(info.owners) else None


def held_for(info: LockInfo) -> str:
    """For how long it has been held; empty: it is not known."""
    held, within = age(info), young(info)
    return f"< {within:.0f} s" if within else "" if held is None else duration(held)


def program_text(owner: Owner | QueuedOwner) -> str:
    """The program of an owner: host, process and client name; empty if it is not known."""
    client = owner.client
    process = f"{owner.host}:{owner.pid}" if owner.host and owner.pid else ""
    if client is None:
        return process
    if client.process is None:
        return process or client.name or client.address
    process = process or client.process
    return process if client.label == "holdfast" else f"{process} {client.label}"


def owner_text(owner: Owner) -> str:
    """An owner as people know it: its label and its program, else how its id begins; and why."""
    mode = f" ({owner.mode})" if owner.mode else ""
    if owner.slot is not None:
        mode = f" (slot {owner.slot})"
    program = program_text(owner) or f"{owner.id[:ID_BEGIN]}…"
    dead = "not connected: " if owner.connection == "not connected" else ""
    purpose = f" for {owner.purpose}" if owner.purpose else ""
    return dead + (f"{owner.label} on {program}" if owner.label else program) + mode + purpose


def owner_details(owner: Owner | QueuedOwner) -> str:
    """All that is known of an owner or waiter, its program first."""
    client = owner.client
    address = client.address if client and client.process else ""
    library = client.library if client else None
    return " ".join(filter(None, (program_text(owner), owner.id, address, library)))


def life(owner: Owner | QueuedOwner, left: float | None = None) -> str:
    """Whether it is alive, as far as the server tells; ``left``: of its lease."""
    known = [KNOWN[owner.connection]]
    if owner.renewed is not None:
        known.append(f"last renewed {owner.renewed:.1f} s ago")
    if left is not None:
        known.append(f"its lease ends in {left:.1f} s")
    return ", ".join(known)


def cells(info: LockInfo) -> tuple[str, ...]:
    """A lock as one line of a table: of several owners the first, and the sum of their holds."""
    more = len(info.owners) - 1
    return (
        info.name,
        info.known_as,
        "".join(map(owner_text, info.owners[:1])) + (f" and {more} more" if more > 0 else ""),
        str(sum(owner.holds for owner in info.owners)) if info.owners else "",
        held_for(info),
        seconds(info.ttl),
        str(info.waiters),
    )


def fields(info: LockInfo) -> tuple[str, ...]:
    """A lock as a line for other programs: each owner, and its holds."""
    name, kind, _, _, _, left, waiters = cells(info)
    owners = ",".join(map(owner_text, info.owners))
    holds = ",".join(str(owner.holds) for owner in info.owners)
    began = since(info)
    since_when = held_for(info) if began is None else moment(began)
    return name, kind, owners, holds, left, waiters, since_when


def table_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table. Owners that are too long are cut: ``show`` has all of them.

    On a narrow terminal they take further lines, as little would be left of them; on one that is
    narrower yet the table has who holds each lock, and for how long.
    """
    if console().width < NARROWEST:
        kept = [place for place, column in enumerate(columns) if column in LEAST_COLUMNS]
        columns, *rows = ([row[place] for place in kept] for row in (columns, *rows))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    natural = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    beside = sum(natural) + GAP * (len(columns) - 1)
    for column, width in zip(columns, natural, strict=True):
        _add_column(table, column, console().width - beside + width)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _add_column(table: Table, column: str, rest: int) -> None:
    """``rest``: the width that the others leave."""
    is_owners, wide = column == "owners", console().width >= NARROW
    table.add_column(
        column.upper(),
        justify="right" if column in NUMBERS else "left",
        overflow="ellipsis" if is_owners and wide else "fold",
        no_wrap=wide if is_owners else column == "kind",
        min_width=LEAST_OWNERS if is_owners else None,
        max_width=max(LEAST_OWNERS, rest) if is_owners else None,
    )


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
