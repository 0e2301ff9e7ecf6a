"""Finds the locks of a deployment, by ``SCAN`` over all primaries.

It does not subscribe to the locks' channels, which would show a release at once: to a server a
subscriber, by name or by pattern, is a waiter. ``PUBLISH`` counts it, and a client that releases
then lets it go first for 2 ms: with one ``PSUBSCRIBE`` on the server a pair without contention took
824 us instead of 26. Keyspace notifications need the server's configuration. If scans become too
slow, ``CLIENT TRACKING ... BCAST`` is the way: it counts as no waiter.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from . import _names as names
from ._connections import Clients
from ._people import Around, channels_like, info_of, said_of
from ._read import checked, read_locks, read_permits, read_semaphore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.servers import Command, Deployment, Server

    from ._held import Held
    from ._model import LockInfo
    from ._read import Ask

__all__ = ["scan"]

#: How many keys the server looks at in one step: well below a millisecond.
KEYS_PER_STEP: Final = b"1000"


def scan(deployment: Deployment, pattern: bytes) -> list[LockInfo]:
    """The held locks with matching names, by name."""
    servers = deployment.primaries()
    whole = names.escaped(deployment.prefix) + pattern
    held: dict[bytes, Held] = {}
    for server in servers:
        for lock in _held_at(server, deployment, whole):
            # A request shows a counter only: with permits in use it is a permit semaphore's.
            if lock.kind != "semaphore" or lock.name not in held:
                held[lock.name] = lock
    for lock in _awaited(deployment, servers, whole):
        held.setdefault(lock.name, lock)
    unqueued = [lock.channel for lock in held.values() if not lock.queued]
    waiting = deployment.subscribers(servers, unqueued)
    clients = Clients(servers if held else ())
    around = Around(clients, said_of(deployment, held.values()), waiting)
    return [info_of(held[name], deployment.prefix, around) for name in sorted(held)]


def _held_at(server: Server, deployment: Deployment, pattern: bytes) -> Iterator[Held]:
    matches = names.matcher(pattern).fullmatch
    seen: set[bytes] = set()
    for hashes, timeouts, requests in _steps(server, pattern):
        held, elsewhere = read_locks(server.ask_gently, hashes)
        yield from held
        for key in elsewhere:
            yield from read_locks(partial(deployment.ask_gently, key), [key])[0]
        for timeout in timeouts:
            for name in filter(matches, names.permits_of(timeout)):
                yield from _if_any(read_permits(_ask(deployment, name), name, timeout))
        counters = {name for one in requests for name in names.counters_of(one)} - seen
        for name in filter(matches, counters):
            yield from _if_any(read_semaphore(_ask(deployment, name), name, taken=True))
        seen |= counters


def _ask(deployment: Deployment, name: bytes) -> Ask:
    return partial(deployment.ask_gently, name)


def _if_any(found: Held | None) -> list[Held]:
    return [] if found is None else [found]


def _awaited(deployment: Deployment, servers: Sequence[Server], pattern: bytes) -> Iterator[Held]:
    """Semaphores for which somebody waits: by their keys they look like plain counters."""
    matches = names.matcher(pattern).fullmatch
    glob = names.SEMAPHORE_CHANNEL + b"*"
    for channel in {one for server in servers for one in channels_like(deployment, server, glob)}:
        for name in filter(matches, names.semaphores_of(channel)):
            yield from _if_any(read_semaphore(_ask(deployment, name), name))


def _steps(server: Server, pattern: bytes) -> Iterator[tuple[list[bytes], ...]]:
    """Hashes with matching names, possible timeout keys of permit semaphores, and requests."""
    globs = {b"hash": pattern, b"zset": b"*:timeout", b"string": names.REQUESTS + b"*"}
    cursors = dict.fromkeys(globs, b"0")
    while cursors:
        found: dict[bytes, list[bytes]] = {}
        commands = [_scan_command(kind, at, globs[kind]) for kind, at in cursors.items()]
        for kind, reply in zip(list(cursors), server.ask_gently(commands), strict=True):
            cursors[kind], found[kind] = checked(reply)
            if cursors[kind] == b"0":
                del cursors[kind]
        yield tuple(found.get(kind, []) for kind in globs)


def _scan_command(kind: bytes, cursor: bytes, pattern: bytes) -> Command:
    return (b"SCAN", cursor, b"MATCH", pattern, b"COUNT", KEYS_PER_STEP, b"TYPE", kind)
