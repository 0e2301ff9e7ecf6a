"""Who holds a lock: its owners, as the server has them, with what their clients say."""

from __future__ import annotations

import math
from typing import Any

from tests.contract.conftest import NAME, Stage

JAVA = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"


def mode_of(stage: Stage) -> str | None:
    """What a holder of that kind has as its mode."""
    return {"read_lock": "read", "write_lock": "write"}.get(stage.kind.name)


def owner_of(stage: Stage) -> str:
    """The owner of the lock on the server, which has one."""
    [owner] = stage.holds()
    return owner.decode()


def test_a_free_lock_has_no_holders(alice: Any, lock: Any) -> None:
    assert alice.do(lock.holders) == []


def test_the_holder_is_named_with_its_holds_and_the_time_left(
    alice: Any, bob: Any, lock: Any, stage: Stage
) -> None:
    alice.do(lock.acquire, lease=3600)
    alice.do(lock.acquire, lease=3600)
    [holder] = bob.do(stage.lock(stage.client()).holders)
    assert holder.owner == owner_of(stage)
    assert holder.owner.startswith(stage.default_client.id + ":")
    assert (holder.mode, holder.holds) == (mode_of(stage), 2)
    assert 3500 < holder.ttl <= 3600
    assert (holder.label, holder.purpose, holder.host, holder.pid) == (None, None, None, None)
    alice.do(lock.release)
    alice.do(lock.release)
    assert bob.do(lock.holders) == []


def test_a_hold_of_another_library_is_named(alice: Any, lock: Any, stage: Stage) -> None:
    for key in stage.keys_of():
        stage.server.inspect.hset(key, mapping=stage.kind.foreign(JAVA, 2))
    if stage.kind.name == "read_lock":
        timeout = "{" + NAME + "}:" + JAVA + ":rwlock_timeout:1"
        stage.server.inspect.set(timeout, 1)
    [holder] = alice.do(lock.holders)
    assert (holder.owner, holder.holds, holder.ttl) == (JAVA, 2, math.inf)
    assert holder.label is None


def test_both_sides_of_a_read_write_lock_are_named(alice: Any, bob: Any, rw: Any) -> None:
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    assert {one.mode for one in bob.do(rw.read.holders)} == {"read", "write"}
    alice.do(rw.write.release)
    bob.do(rw.read.acquire)
    holders = alice.do(rw.write.holders)
    assert [one.mode for one in holders] == ["read", "read"]
    assert len({one.owner for one in holders}) == 2


def test_a_reader_that_has_died_is_no_holder(alice: Any, bob: Any, rw: Any, stage: Stage) -> None:
    alice.do(rw.read.acquire)
    bob.do(rw.read.acquire)
    dead, alive = bob.do(rw.read.holders)
    stage.server.inspect.delete("{" + NAME + "}:" + dead.owner + ":rwlock_timeout:1")
    assert [one.owner for one in bob.do(rw.read.holders)] == [alive.owner]
