"""``holdfast unlock``."""

from __future__ import annotations

import sys

import click
from rich.prompt import Confirm
from rich.text import Text

from holdfast import inspect

from ._errors import Status, complain
from ._settings import NAME, Settings
from ._text import console, owner_details

__all__ = ["unlock"]


@click.command(epilog="Example: holdfast unlock myLock --yes")
@click.argument("name", type=NAME)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def unlock(settings: Settings, name: bytes, yes: bool) -> int:
    """Release a lock by force.

    Its owner may still be at work: two owners may then work at the same time. The former owner
    learns of the loss, and waiters wake. For a permit semaphore, all permits in use are released.

    Without --yes it asks first, and fails if there is no terminal. The status is 0 if the lock was
    held, 1 if it was free, and 2 if it is not a lock or the answer was no.
    """
    with settings.client() as client:
        found = inspect.lock(client, name)
        if found is None:
            complain(f"'{inspect.shown(name)}' is free: there is nothing to release")
            return Status.FREE
        if not yes and found.owners and not _confirmed(found):
            return Status.USAGE
        if inspect.force_release(client, name):
            return 0
        complain(f"'{found.name}' was released by its owner meanwhile")
        return Status.FREE


def _confirmed(found: inspect.LockDetail) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain(f"'{found.name}' stays locked: there is no terminal for the question; use --yes")
        return False
    terminal = console()
    for owner in found.owners:
        terminal.print(Text(f"'{found.name}' is held by {owner_details(owner)}"))
    try:
        agreed = Confirm.ask(Text("Release it by force?"), console=terminal, default=False)
    except EOFError:
        agreed = False
    if not agreed:
        complain(f"'{found.name}' stays locked")
    return agreed
