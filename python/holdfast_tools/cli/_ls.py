"""``holdfast ls``."""

from __future__ import annotations

from typing import Any

import click

from holdfast import inspect

from ._choosing import chosen, older_option, owner_option, sort_option
from ._settings import NAME, Settings, as_json, json_option
from ._text import COLUMNS, cells, console, fields, on_terminal, table_of, write_lines

__all__ = ["ls"]


@click.command(epilog="Example: holdfast ls 'order:*'")
@click.argument("pattern", type=NAME, required=False)
@sort_option
@older_option
@owner_option
@json_option
@click.pass_obj
def ls(settings: Settings, /, pattern: bytes | None, wants_json: bool, **choice: Any) -> None:
    """List the locks that are held.

    PATTERN is a glob over the whole name, as that of SCAN MATCH; without one all are listed, of
    Python and Java programs. Of semaphores without leases and latches those are listed for which
    somebody waits, and semaphores whose permits are all in use since a few seconds; the others
    cannot be distinguished from other counters: 'holdfast show' shows them by name.

    On a terminal it is a table with a line for each lock, where an owner is host and process of its
    program, else the same separated by tabs: name, kind, owners, holds, time left, waiters, and
    since when. 'holdfast show' and --json have the ids of owners. What a hold is for, and since
    when it lasts, is known where its client or the hold has a label.
    """
    with settings.client() as client:
        found = chosen(
            inspect.locks(client, pattern), choice["sort"], choice["owner"], choice["older_than"]
        )
    if wants_json:
        print(as_json([info.to_json() for info in found]))
    elif not on_terminal():
        write_lines(map(fields, found))
    elif found:
        console().print(table_of(COLUMNS, list(map(cells, found))))
    else:
        print("No lock is held.")
