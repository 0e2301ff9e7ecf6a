"""``holdfast permits``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import inspect

from ._asking import agreed
from ._errors import Status, complain
from ._settings import NAME, Settings, written
from ._text import owner_text, write_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast import Client

__all__ = ["permits"]

KINDS = ("semaphore", "permit_semaphore")


@click.command(epilog="Example: holdfast permits licences --set 5")
@click.argument("name", type=NAME)
@click.option(
    "--set",
    "number",
    type=click.IntRange(0, 2**31 - 1),
    metavar="N",
    help="Set the number of permits: of a plain semaphore of those that are free.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def permits(settings: Settings, name: bytes, number: int | None, yes: bool) -> int:
    """Show the permits of a semaphore, or set their number.

    A plain semaphore knows its free permits only: those that a killed program had taken are not
    given back, and --set makes them free again. Of a permit semaphore --set is the number of all,
    those in use included: they stay in use.

    With --set it shows what is there, asks, and fails if there is no terminal and no --yes. Waiters
    wake. The status is 0, 1 if there is none, and 2 if it is no semaphore or the answer was no.
    """
    with settings.client() as client:
        name = written(client, name)
        found = _found(client, name)
        if found is None:
            complain(f"there is no semaphore '{inspect.shown(name)}'")
            return Status.FREE
        stays = f"'{found.name}' keeps its permits"
        if number is not None:
            stake = [f"'{found.name}': {word} {value}" for word, value in _pairs(found)]
            if not yes and not agreed(stays, stake, f"Set {_whole(found)} to {number}?"):
                return Status.USAGE
            _set(client, name, found, number)
            found = _found(client, name) or found
    write_pairs(list(_pairs(found)))
    return 0


def _found(client: Client, name: bytes) -> inspect.LockDetail | None:
    """A number that may be a latch is taken for a semaphore, as the caller says that it is one."""
    found = inspect.lock(client, name)
    if found is None or found.kind in KINDS:
        return found
    return inspect.lock(client, name, KINDS[0])


def _whole(found: inspect.LockDetail) -> str:
    return "all permits" if found.kind == "permit_semaphore" else "the free permits"


def _pairs(found: inspect.LockDetail) -> Iterator[tuple[str, str]]:
    yield "kind", found.known_as
    free = found.permits or 0
    if found.kind == "permit_semaphore":
        yield "permits", str(free + len(found.owners))
        yield "in use", str(len(found.owners))
        yield from (("owner", owner_text(owner)) for owner in found.owners)
    yield "free", str(free)
    yield "waiters", str(found.waiters)


def _set(client: Client, name: bytes, found: inspect.LockDetail, number: int) -> None:
    if found.kind == "permit_semaphore":
        client.permit_semaphore(name).set_permits(number)
        return
    # By what it is to change: what is acquired and released meanwhile counts as well.
    client.semaphore(name).add_permits(number - (found.permits or 0))
