"""python-redis-lock, 30 s of lease; its renewal, a thread for each lock, is left off."""

from __future__ import annotations

import redis
import redis_lock  # type: ignore[import-untyped]

from benchmarks.python import blocking
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> blocking.Locks:
    # It waits by BLPOP, which redis-py's default timeout of 5 s would cut off.
    client = redis.StrictRedis(port=words.port, max_connections=10_000, socket_timeout=None)
    return lambda name: redis_lock.Lock(client, name, expire=words.lease or 30)


if __name__ == "__main__":
    blocking.main(open_locks)
