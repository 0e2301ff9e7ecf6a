"""``holdfast bench``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast_tools import bench as measuring

from ._settings import SecondsType, Settings, as_json, json_option
from ._text import console, on_terminal, table_of, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bench"]

WORDS: Final[Mapping[str, str]] = {
    "round_trip": "round trip",
    "pair": "pair",
    "wake_up": "wake-up of another process",
    "renewals": "renewals per second",
}
COLUMNS: Final = ("what", "value", "floor", "times the floor")


@click.command(epilog="Example: holdfast bench --seconds 10")
@click.option(
    "--seconds",
    type=SecondsType(1, 3600),
    default=5.0,
    show_default=True,
    metavar="S",
    help="How long to measure, in all.",
)
@json_option
@click.pass_obj
def bench(settings: Settings, seconds: float, wants_json: bool) -> None:
    """Measure how fast locks are on this server, from here.

    Beside each value stands its floor, measured on bare sockets: a PING; two of them for a pair, an
    acquire and a release; a message between two connections for a wake-up; and as many PINGs as go
    through in a second for renewals. Random names are locked, and released again.
    """
    live: Any = nullcontext()
    if on_terminal() and not wants_json:
        live = console().status(f"measuring for {seconds:g} s")
    with settings.client() as client, live:
        results = dict(measuring.bench(client, settings.url, seconds))
    if wants_json:
        print(as_json({name: asdict(result) for name, result in results.items()}))
        return
    rows = [(WORDS[name], *_cells(result)) for name, result in results.items()]
    if not on_terminal():
        write_lines(rows)
        return
    console().print(table_of(COLUMNS, rows))


def _cells(result: measuring.Result) -> tuple[str, str, str]:
    digits = 3 if result.unit == "ms" else 0
    value, floor = f"{result.value:,.{digits}f}", f"{result.floor:,.{digits}f}"
    return f"{value} {result.unit}", f"{floor} {result.unit}", f"{result.ratio:.2f}"
