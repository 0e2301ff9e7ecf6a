"""redis-py's asyncio ``Lock``; 30 s of lease, which nothing renews."""

from __future__ import annotations

import redis.asyncio

from benchmarks.python import tasks
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> tasks.Locks:
    client = redis.asyncio.Redis(port=words.port, max_connections=10_000)
    return lambda name: client.lock(name, timeout=30)


if __name__ == "__main__":
    tasks.main(open_locks)
