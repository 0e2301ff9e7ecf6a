"""holdfast, called from asyncio tasks."""

from __future__ import annotations

import holdfast.asyncio
from benchmarks.python import tasks
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> tasks.Locks:
    client = holdfast.asyncio.Client(f"redis://127.0.0.1:{words.port}/0")
    kinds: dict[str, tasks.Locks] = {
        "lock": client.lock,
        "read": lambda name: client.read_write_lock(name).read,
        "write": lambda name: client.read_write_lock(name).write,
    }
    return kinds[words.kind]


if __name__ == "__main__":
    tasks.main(open_locks)
