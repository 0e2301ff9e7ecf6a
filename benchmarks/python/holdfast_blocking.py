"""holdfast, called from threads."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import holdfast
from benchmarks.python import blocking
from benchmarks.python.protocol import Config

MEMBERS = 3  # of a multi lock
PERMITS = 2  # of a semaphore


def open_clients(words: Config) -> list[holdfast.Client]:
    """One for each server, or one for the cluster; the watchdog renews by the lease given."""
    renewed: dict[str, Any] = {"lease": words.lease} if words.mode == "watchdog" else {}
    renewed["releases"] = words.releases
    hosts = [f"127.0.0.1:{port}" for port in words.servers()]
    if words.cluster:
        return [holdfast.Client(f"redis+cluster://{','.join(hosts)}", **renewed)]
    return [holdfast.Client(f"redis://{host}/0", **renewed) for host in hosts]


def open_locks(words: Config) -> blocking.Locks:
    clients = open_clients(words)
    client = clients[0]
    lease = None if words.mode == "watchdog" else words.lease or None
    kinds: dict[str, blocking.Locks] = {
        "lock": lambda name: client.lock(name, lease=lease),
        "fair": lambda name: client.fair_lock(name, lease=lease),
        "read": lambda name: client.read_write_lock(name, lease=lease).read,
        "write": lambda name: client.read_write_lock(name, lease=lease).write,
        "semaphore": lambda name: semaphore(client, name),
        "multi": lambda name: client.multi_lock(
            *(client.lock(f"{name}:{member}") for member in range(MEMBERS)), lease=lease
        ),
        "red": lambda name: holdfast.RedLock(*(each.lock(name) for each in clients), lease=lease),
    }
    make = kinds[words.kind]
    return (lambda name: deferred(make(name))) if words.releases == "deferred" else make


def semaphore(client: holdfast.Client, name: str) -> blocking.Lock:
    made = client.semaphore(name)
    made.try_set_permits(PERMITS)
    return made


def deferred(lock: Any) -> blocking.Lock:
    """Its releases are those of the end of `with`."""
    return SimpleNamespace(acquire=lock.acquire, release=partial(lock.__exit__, None, None, None))


if __name__ == "__main__":
    blocking.main(open_locks)
