"""redis-py's ``Lock``, called from threads; 30 s of lease, which nothing renews."""

from __future__ import annotations

import redis

from benchmarks.python import blocking
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> blocking.Locks:
    client = redis.Redis(port=words.port, max_connections=10_000)
    return lambda name: client.lock(name, timeout=words.lease or 30)


if __name__ == "__main__":
    blocking.main(open_locks)
