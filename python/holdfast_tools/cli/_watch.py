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
from ._choosing import ORDERS, chosen, sort_option
from ._errors import complain
from ._keys import pressed, single_keys
from ._settings import NAME, SecondsType, Settings, as_json, json_option
from ._text import cells, console, duration, on_terminal, owner_text, table_of, write_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.inspect import LockInfo

__all__ = ["watch"]

#: The keys that sort.
SORTS: Final = {word[0]: word for word in ORDERS}
#: Lines of the screen that are no rows of locks.
BESIDE_ROWS: Final = 5
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

    Shows, for each lock of 'holdfast ls', the owners, for how long it has been held (where that is
    not known, how long the current owner has been seen), the number of waiters, and the hand-overs
    per second over the last 10 s. Owners that come and go between two readings are not seen. On a
    terminal keys sort and scroll the table; its last line names them.

    If the output is not a terminal, each change is a line: time, event ("lock" or "gone"), name,
    owners, waiters, separated by tabs; with --json, an object with the lock's fields. When the
    server goes away, the command waits for it.
    """
    with settings.client() as client:
        first = inspect.locks(client, pattern)
        view = _Live(sort) if on_terminal() and not wants_json else _Lines(wants_json)
        with view.live, single_keys() as has_keys:
            view.has_keys = has_keys
            view.show(first)
            while _wait(view, interval):
                _read_again(client, pattern, view)


def _wait(view: _Live | _Lines, interval: float) -> bool:
    """Until the next reading; ``False``: the user has ended it."""
    if not view.has_keys:
        time.sleep(interval)
        return True
    return all(view.take(key) for key in pressed(interval))


def _read_again(client: Client, pattern: bytes | None, view: _Live | _Lines) -> None:
    try:
        found = inspect.locks(client, pattern)
    except ConnectionError as error:
        view.show_failure(error)
    else:
        view.show(found)


class _Lines:
    """A line for each change."""

    has_keys = False

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

    def take(self, key: str) -> bool:
        """A key was pressed; ``False`` ends it."""
        return key != "q"

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

    has_keys = False

    def __init__(self, sort: str) -> None:
        self.live = Live(console=console(), auto_refresh=False)
        self._sort = sort
        self._changes = Changes()
        self._found: Sequence[LockInfo] = ()
        self._message = ""
        self._first = 0  # of the rows that are shown

    def show(self, found: Sequence[LockInfo]) -> None:
        self._changes.update(found, time.monotonic())
        self._found = chosen(found, self._sort)
        self._message = "" if found else "No lock is held."
        self._draw()

    def show_failure(self, error: ConnectionError) -> None:
        self._message = str(error)
        self._draw()

    def take(self, key: str) -> bool:
        """A key was pressed; ``False`` ends it."""
        if key in SORTS:
            self._sort = SORTS[key]
            self._found = chosen(self._found, self._sort)
        page = self._room()
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -page, "page down": page}
        steps |= {" ": page, "home": -len(self._found), "end": len(self._found)}
        self._first += steps.get(key, 0)
        self._draw()
        return key != "q"

    def _room(self) -> int:
        """The rows that fit beside the head, the message and the last line."""
        return max(1, console().height - BESIDE_ROWS)

    def _draw(self) -> None:
        now, room = time.monotonic(), self._room()
        self._first = max(0, min(self._first, len(self._found) - room))
        rows: list[tuple[str, ...]] = []
        for info in self._found[self._first : self._first + room]:
            name, kind, owners, _, held, left, waiters = cells(info)
            held = held or duration(self._changes.held_for(info.key, now))
            rate = f"{self._changes.handovers(info.key, now):.1f}"
            rows.append((name, kind, owners, held, left, waiters, rate))
        lines = [Text(line) for line in (self._message, self._last_line(room)) if line]
        self.live.update(Group(table_of(COLUMNS, rows), *lines), refresh=True)

    def _last_line(self, room: int) -> str:
        """Which rows are shown, and which keys there are."""
        all_rows, last = len(self._found), min(self._first + room, len(self._found))
        where = f"{self._first + 1}-{last} of {all_rows}, " if all_rows > room else ""
        if not self.has_keys:
            return where.removesuffix(", ")
        sorts = " ".join(f"{key}={word}" for key, word in SORTS.items())
        return f"{where}by {self._sort}; sort: {sorts}; scroll: arrows, PgUp, PgDn; q=quit"
