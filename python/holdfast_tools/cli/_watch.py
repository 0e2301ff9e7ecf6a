"""``holdfast watch``."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from holdfast import Client, ConnectionError, inspect

from ._changes import Change, Changes
from ._choosing import chosen, sort_option
from ._errors import complain
from ._settings import NAME, SecondsType, Settings, as_json, json_option
from ._text import cells, console, duration, on_terminal, owner_text, table_of, write_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.inspect import LockInfo

__all__ = ["watch"]

COLUMNS: Final = ("name", "kind", "owners", "held for", "left", "waiters", "per second")


@click.command(epilog="Example: holdfast watch 'order:*'")
@click.argument("pattern", type=NAME, required=False)
@click.option(
    "--interval",
    type=SecondsType(0.1, 3600),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds between two readings.",
)
@sort_option
@json_option
@click.pass_obj
def watch(
    settings: Settings, pattern: bytes | None, interval: float, sort: str, wants_json: bool
) -> None:
    """Watch the locks that are held, until Ctrl-C.

    Shows, for each lock of 'holdfast ls', the owners, how long the current owner has been seen, the
    number of waiters, and the hand-overs per second over the last 10 s. Owners that come and go
    between two readings are not seen.

    If the output is not a terminal, each change is a line: time, event ("lock" or "gone"), name,
    owners, waiters, separated by tabs; with --json, an object with the lock's fields. When the
    server goes away, the command waits for it.
    """
    with settings.client() as client:
        first = inspect.locks(client, pattern)
        view = _Live(sort) if on_terminal() and not wants_json else _Lines(wants_json)
        with view.live:
            view.show(first)
            while True:
                time.sleep(interval)
                _read_again(client, pattern, view)


def _read_again(client: Client, pattern: bytes | None, view: _Live | _Lines) -> None:
    try:
        found = inspect.locks(client, pattern)
    except ConnectionError as error:
        view.show_failure(error)
    else:
        view.show(found)


class _Lines:
    """A line for each change."""

    def __init__(self, wants_json: bool) -> None:
        self.live: Any = nullcontext()
        self._wants_json = wants_json
        self._changes = Changes()
        self._failed = False

    def show(self, found: Sequence[LockInfo]) -> None:
        self._failed = False
        for change in self._changes.update(found, time.monotonic()):
            if self._wants_json:
                event = {"event": change.event, "at": time.time()}
                print(as_json(event | change.info.to_json()), flush=True)
            else:
                write_lines([_line(change)])

    def show_failure(self, error: ConnectionError) -> None:
        if not self._failed:
            complain(error)
        self._failed = True


def _line(change: Change) -> tuple[str, ...]:
    info = change.info
    at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    owners = ",".join(map(owner_text, info.owners))
    return at, change.event, info.name, owners, str(info.waiters)


class _Live:
    """A table that is drawn again and again."""

    def __init__(self, sort: str) -> None:
        self.live = Live(console=console(), auto_refresh=False)
        self._sort = sort
        self._changes = Changes()
        self._found: Sequence[LockInfo] = ()

    def show(self, found: Sequence[LockInfo]) -> None:
        self._changes.update(found, time.monotonic())
        self._found = chosen(found, self._sort, None)
        self._draw("" if found else "No lock is held.")

    def show_failure(self, error: ConnectionError) -> None:
        self._draw(str(error))

    def _draw(self, message: str) -> None:
        now = time.monotonic()
        rows: list[tuple[str, ...]] = []
        for info in self._found:
            name, kind, owners, _, held, left, waiters = cells(info)
            held = held or duration(self._changes.held_for(info.key, now))
            rate = f"{self._changes.handovers(info.key, now):.1f}"
            rows.append((name, kind, owners, held, left, waiters, rate))
        self.live.update(Group(table_of(COLUMNS, rows), Text(message)), refresh=True)
