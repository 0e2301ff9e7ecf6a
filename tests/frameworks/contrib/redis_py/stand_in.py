"""A plugin for redis-py's test-suite that puts our locks into the place of redis-py's.

`LEFT_OUT` are the tests that check how redis-py does it: docs/guides/redis-py.md lists the same.
"""

from __future__ import annotations

import pytest

SLEEPING = "it counts redis-py's sleeps; ours waits for a message"
KEYS = "it reads the token out of redis-py's key; ours is a hash with the owner"

LEFT_OUT = {
    "test_blocking_timeout": SLEEPING,
    "test_context_manager_blocking_timeout": SLEEPING,
    "test_high_sleep_small_blocking_timeout": SLEEPING,
    "test_lock": KEYS,
    "test_lock_token": KEYS,
    "test_lock_token_thread_local_false": KEYS,
    "test_context_manager": KEYS,
}


def pytest_configure() -> None:
    """Before the tests import the names."""
    import redis.asyncio.lock
    import redis.lock

    from holdfast.contrib.redis_py import AsyncLock, Lock

    redis.lock.Lock = Lock
    redis.asyncio.lock.Lock = AsyncLock


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is listed, with its reason."""
    for item in items:
        reason = LEFT_OUT.get(getattr(item, "originalname", item.name))
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
