"""A server out of memory: no permit is taken, and those that are out live on and are given back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.permit_steps import MINUTE, NAME, ONE, TIMEOUTS, TWO, PermitSemaphore


@pytest.fixture
def semaphore(private_server: Server) -> PermitSemaphore:
    """A semaphore with a permit out of two, on a server that has just run out of memory."""
    semaphore = PermitSemaphore(private_server.inspect)
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE, MINUTE)
    private_server.inspect.config_set("maxmemory", 1)
    return semaphore


def left(semaphore: PermitSemaphore) -> float:
    assert set(semaphore.out) == {ONE}
    return semaphore.out[ONE]


def test_a_release_works(semaphore: PermitSemaphore, private_server: Server) -> None:
    assert semaphore.release(ONE) == 1
    assert (semaphore.free, private_server.keys()) == (2, {NAME})


@pytest.mark.parametrize("step", [PermitSemaphore.renew, PermitSemaphore.extend])
def test_a_permit_lives_on(
    semaphore: PermitSemaphore, step: Callable[[PermitSemaphore, bytes, int], object]
) -> None:
    assert step(semaphore, ONE, 5 * MINUTE) == 1
    assert left(semaphore) == pytest.approx(5 * MINUTE, abs=2000)


def test_what_has_expired_is_counted_back(
    semaphore: PermitSemaphore, private_server: Server
) -> None:
    private_server.inspect.config_set("maxmemory", 0)
    semaphore.let_expire(ONE)
    private_server.inspect.config_set("maxmemory", 1)
    assert semaphore.available_permits() == 2


def test_delete_works(semaphore: PermitSemaphore, private_server: Server) -> None:
    assert semaphore.delete() == 1
    assert private_server.keys() == set()


def test_no_permits_are_set_up(private_server: Server) -> None:
    private_server.inspect.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        PermitSemaphore(private_server.inspect).acquire(ONE, setup=2)
    assert private_server.keys() == set()


def test_no_permit_is_taken(semaphore: PermitSemaphore, private_server: Server) -> None:
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        semaphore.acquire(TWO)
    assert semaphore.free == 1
    assert left(semaphore) == pytest.approx(MINUTE, abs=2000)
    assert private_server.keys() == {NAME, TIMEOUTS}


def test_no_permits_are_set(semaphore: PermitSemaphore, private_server: Server) -> None:
    private_server.inspect.delete(NAME)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        semaphore.try_set_permits(2)
    assert private_server.keys() == {TIMEOUTS}
