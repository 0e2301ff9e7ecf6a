"""``holdfast unlock``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import inspect

from ._asking import agreed
from ._errors import Status, complain
from ._settings import NAME, Settings, written
from ._text import life, moment, owner_details

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["unlock"]


@click.command(epilog="Example: holdfast unlock myLock --yes")
@click.argument("name", type=NAME)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def unlock(settings: Settings, name: bytes, yes: bool) -> int:
    """Release a lock by force.

    Its owner may still be at work: two owners may then work at the same time. The former owner
    learns of the loss, and waiters wake. For a permit semaphore, all permits in use are released.

    Without --yes it shows who holds it and what is at stake, asks, and fails if there is no
    terminal, or if another holds it by the time of the answer. Afterwards it says what was
    released. The status is 0 if the lock was held, 1 if it was free, and 2 if it is not a lock, the
    answer was no, or another holds it by then.
    """
    with settings.client() as client:
        name = written(client, name)
        found = inspect.lock(client, name)
        if found is None:
            complain(f"'{inspect.shown(name)}' is free: there is nothing to release")
            return Status.FREE
        asks = found.owners and not yes
        stays = f"'{found.name}' stays locked"
        if asks and not agreed(stays, _at_stake(found), "Release it by force?"):
            return Status.USAGE
        now = inspect.lock(client, name) if asks else None
        if now is not None and now.owners and _holders(now).isdisjoint(_holders(found)):
            owners = ", ".join(map(owner_details, now.owners))
            complain(f"{stays}: it is held by {owners} now, which the question did not name")
            return Status.USAGE
        if inspect.force_release(client, name):
            print(_done(found))
            return 0
        complain(f"'{found.name}' was released by its owner meanwhile")
        return Status.FREE


def _holders(found: inspect.LockDetail) -> set[tuple[str, str | None]]:
    return {(owner.id, owner.mode) for owner in found.owners}


def _at_stake(found: inspect.LockDetail) -> Iterator[str]:
    for owner in found.owners:
        label = f", labelled {owner.label!r}" if owner.label else ""
        purpose = f", for {owner.purpose!r}" if owner.purpose else ""
        young = f", for less than {owner.within:.0f} s" if owner.within else ""
        since = f", since {moment(owner.since)}" if owner.since else young
        yield f"'{found.name}' is held by {owner_details(owner)}{label}{purpose}{since}"
        yield f"Its program: {life(owner, found.ttl if len(found.owners) == 1 else None)}"
    many = len(found.owners)
    yield (
        f"All {many} permits in use are released; their owners may still be at work."
        if found.kind == "permit_semaphore" and many > 1
        else "The owner may still be at work: the next one then works at the same time."
        if many == 1
        else f"All {many} owners lose it; they may still be at work."
    )
    yield f"{found.waiters} wait for it" if found.waiters != 1 else "1 waits for it"


def _done(found: inspect.LockDetail) -> str:
    """What was released, as it was seen before."""
    owners = ", ".join(map(owner_details, found.owners)) or "an owner that came meanwhile"
    what = f"{len(found.owners)} permits of '{found.name}' were"
    if found.kind != "permit_semaphore" or len(found.owners) == 1:
        what = f"'{found.name}' was"
    return f"{what} released by force; held by {owners}"
