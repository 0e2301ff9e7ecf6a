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
from ._read import checked, read_latch, read_locks, read_permits, read_semaphore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.servers import Deployment, Server

    from ._held import Held
    from ._model import LockInfo
    from ._read import Ask

__all__ = ["scan"]

#: How many keys the server looks at in one step: well below a millisecond.
STEP: Final = (b"COUNT", b"1000")
#: The keys of timeouts and of requests: either the name has braces, or they stand around it.
BESIDE: Final = b"*{*:*"


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
    """Semaphores and latches for which somebody waits: by their keys they look like counters."""
    matches = names.matcher(pattern).fullmatch
    for channel in _channels(deployment, servers, names.SEMAPHORE_CHANNEL):
        for name in filter(matches, names.semaphores_of(channel)):
            yield from _if_any(read_semaphore(_ask(deployment, name), name))
    for channel in _channels(deployment, servers, names.LATCH_CHANNEL):
        for name in filter(matches, [names.latch_of(channel)]):
            yield from _if_any(read_latch(_ask(deployment, name), name))


def _channels(deployment: Deployment, servers: Sequence[Server], begin: bytes) -> set[bytes]:
    glob = begin + b"*"
    return {one for server in servers for one in channels_like(deployment, server, glob)}


def _steps(server: Server, pattern: bytes) -> Iterator[tuple[list[bytes], ...]]:
    """Hashes with matching names, possible timeout keys of permit semaphores, and requests.

    One pass over the keys: both commands of a step look at the same keys, the second time in the
    server's caches, and the names of keys beside a name say what they are.
    """
    asked = [(b"MATCH", pattern, b"TYPE", b"hash"), (b"MATCH", BESIDE)]
    cursors: dict[int, bytes] = dict.fromkeys(range(len(asked)), b"0")
    while cursors:
        found: list[list[bytes]] = [[], []]
        commands = [(b"SCAN", at, *asked[which], *STEP) for which, at in cursors.items()]
        for which, reply in zip(list(cursors), server.ask_gently(commands), strict=True):
            cursors[which], found[which] = checked(reply)
            if cursors[which] == b"0":
                del cursors[which]
        hashes, beside = found
        timeouts = [key for key in beside if key.endswith(names.TIMEOUTS)]
        yield hashes, timeouts, [key for key in beside if key.startswith(names.REQUESTS)]
