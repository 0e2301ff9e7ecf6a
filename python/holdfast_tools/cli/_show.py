"""``holdfast show``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast import inspect, servers

from ._errors import Status
from ._settings import NAME, Settings, as_json, json_option, written
from ._text import (
    duration,
    life,
    moment,
    on_terminal,
    owner_details,
    seconds,
    write_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["show"]

#: What else a kind may be called: as `holdfast run` calls it.
OTHER_WORDS: Final = {
    word: kind.seen_as or kind.word
    for kind in servers.KINDS
    for word in kind.short_words
    if word not in inspect.KINDS
}


class KindType(click.Choice[str]):
    """A kind, by any of its words."""

    def __init__(self) -> None:
        super().__init__([*inspect.KINDS, *OTHER_WORDS])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        chosen = super().convert(value, param, ctx)
        return OTHER_WORDS.get(chosen, chosen)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return "[" + "|".join(inspect.KINDS) + "]"


@click.command(epilog="Example: holdfast show myLock")
@click.argument("name", type=NAME)
@click.option("--kind", type=KindType(), help="The kind, if the keys do not show it.")
@json_option
@click.pass_obj
def show(settings: Settings, name: bytes, kind: str | None, wants_json: bool) -> int:
    """Show one lock, semaphore or latch.

    Besides what 'holdfast ls' lists: the ids and addresses of owners, the queue of a fair lock with
    the seconds after which each waiter counts as dead, the permits that are free (of a permit
    semaphore: of how many), the count of a latch, the last fencing token, the value of a leader,
    who has which slot, the parties of a barrier, the keys and channels on the server, and the
    latest releases by force (these also of a lock that is free): when, by which user and
    connection, and who held it. A number for which no client waits is a semaphore or a latch, which
    look alike: --kind says which.

    The status is 1 if it is free, and 2 if it is not a lock.
    """
    with settings.client() as client:
        name = written(client, name)
        found = inspect.lock(client, name, kind)
        forced = inspect.forced_releases(client, name) if found is None else found.forced
    if wants_json:
        print(as_json(found.to_json() if found else None))
        return 0 if is_held(found) else Status.FREE
    if found is None and on_terminal():
        print("It is free.")
    pairs = list(_pairs(found)) if found is not None else []
    write_pairs([*pairs, *(("forced", _forced_text(one)) for one in forced)])
    return 0 if is_held(found) else Status.FREE


def _forced_text(forced: inspect.ForcedRelease) -> str:
    owners = ", ".join(forced.owners)
    return inspect.shown(f"{forced}, held by {owners}")


def is_held(found: inspect.LockDetail | None) -> bool:
    """Whether it is held; for counters without owners, whether they exist."""
    if found is None:
        return False
    return bool(found.owners) or bool(servers.kind_of(found.kind).number)


def _pairs(found: inspect.LockDetail) -> Iterator[tuple[str, str]]:
    yield "name", found.name
    yield "kind", found.known_as if found.certain else "semaphore or latch"
    yield from _owners(found)
    yield "left", seconds(found.ttl)
    yield "waiters", str(found.waiters)
    for queued in found.queue or ():
        left = "" if queued.timeout is None else f", counts as dead in {seconds(queued.timeout)}"
        yield "queued", f"{owner_details(queued)}{left}"
        yield from _said(queued)
        yield "client", life(queued)
    for client in found.unnamed:
        words = filter(None, (client.address, client.name, client.library))
        yield "unnamed", f"{' '.join(words)}, may be the program of an owner that is not known"
    if found.truncated:
        yield "truncated", "there is more than is shown"
    yield from _numbers(found)
    yield from (("key", key) for key in found.keys)
    yield from (("channel", channel) for channel in found.channels)


def _owners(found: inspect.LockDetail) -> Iterator[tuple[str, str]]:
    for owner in found.owners:
        mode = f", {owner.mode}s" if owner.mode else ""
        slot = "" if owner.slot is None else f", has slot {owner.slot}"
        yield "owner", f"{owner_details(owner)}{mode}, holds {owner.holds}{slot}"
        yield from _said(owner)
        if ":" in owner.id or owner.slot is not None or owner.client:  # else anybody's permit
            yield "client", life(owner, found.ttl if len(found.owners) == 1 else None)


def _said(owner: inspect.Owner | inspect.QueuedOwner) -> Iterator[tuple[str, str]]:
    if owner.label:
        yield "label", owner.label
    if owner.purpose:
        yield "purpose", owner.purpose
    if owner.since:
        yield "since", f"{moment(owner.since)}, for {duration(max(0.0, time.time() - owner.since))}"
    elif owner.within:
        dead = "" if owner.connection == "connected" else ", if its program is at work"
        yield "since", f"less than {owner.within:.0f} s ago{dead}"


def _numbers(found: inspect.LockDetail) -> Iterator[tuple[str, str]]:
    numbers = {"count": found.count, "token": found.token, "value": found.value}
    if found.parties is not None:
        broken = ", broken until a reset" if found.broken else ""
        yield "parties", f"{len(found.owners)} of {found.parties} are there{broken}"
    if not found.certain:
        numbers["number"] = found.permits
    elif found.permits is not None:
        yield "permits", _permits(found, found.permits)
    yield from ((word, str(value)) for word, value in numbers.items() if value is not None)


def _permits(found: inspect.LockDetail, free: int) -> str:
    """The free ones, and all where the permits in use are known."""
    if found.kind != "permit_semaphore":
        return f"{free} free"
    return f"{free} free of {free + len(found.owners)} in all"
