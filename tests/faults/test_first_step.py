"""The first step of threads and tasks: replies in pieces, late, lost, or about another holder."""

from __future__ import annotations

import asyncio

import pytest

import holdfast
import holdfast.asyncio
from tests.faults.conftest import IMPATIENT, NAME, holds
from tests.support.proxy import FaultProxy
from tests.support.servers import Server

PAIRS = 5
LATE = 0.03
"""Seconds; longer than a thread waits in its first reading."""


@pytest.mark.parametrize(("piece", "delay"), [(1, 0), (65536, LATE)], ids=["in bytes", "late"])
def test_however_replies_come_each_pair_is_whole(
    proxy: FaultProxy, server: Server, piece: int, delay: float
) -> None:
    with holdfast.Client(proxy.url) as client:
        lock = client.lock(NAME)
        with lock:
            pass
        proxy.slices(piece)
        proxy.delay(delay)
        for _ in range(PAIRS):
            with lock, lock:
                assert list(holds(server).values()) == [2]
            assert holds(server) == {}


@pytest.mark.parametrize(("piece", "delay"), [(1, 0), (65536, LATE)], ids=["in bytes", "late"])
def test_however_replies_come_each_deferred_release_is_done(
    proxy: FaultProxy, server: Server, piece: int, delay: float
) -> None:
    with holdfast.Client(proxy.url, releases="deferred") as client:
        locks = [client.lock(NAME), client.read_write_lock(NAME + "-rw").read]
        for lock in locks:
            with lock:
                pass
        proxy.slices(piece)
        proxy.delay(delay)
        for _ in range(PAIRS):
            for lock in locks:
                with lock:
                    assert lock.hold_count() == 1
        assert client.stats().lost == 0
    assert holds(server) == {}
    assert client.stats().released == len(locks) * (PAIRS + 1)


def test_after_a_lost_connection_a_deferred_release_frees_no_newer_hold(
    proxy: FaultProxy, server: Server
) -> None:
    with holdfast.Client(proxy.url, releases="deferred") as client:
        lock = client.lock(NAME)
        with lock:
            pass
        for _ in range(PAIRS):
            with lock:
                pass
            proxy.cut()
            with lock:
                assert list(holds(server).values()) == [1]
                assert lock.hold_count() == 1
        assert client.stats().lost == 0
    assert holds(server) == {}


def test_what_another_holds_is_refused_and_waited_for(server: Server) -> None:
    with holdfast.Client(server.url) as client, holdfast.Client(server.url) as other:
        lock, rival = client.lock(NAME), other.lock(NAME)
        with rival:
            assert not lock.acquire(blocking=False)
            assert not lock.acquire(timeout=1)
        with lock:
            assert not rival.acquire(blocking=False)


def test_after_a_release_without_an_answer_the_next_attempt_holds(
    proxy: FaultProxy, server: Server
) -> None:
    with holdfast.Client(proxy.url, command_timeout=IMPATIENT) as client:
        lock = client.lock(NAME)
        lock.acquire()
        proxy.black_hole()
        with pytest.raises(holdfast.ConnectionError):
            lock.release()
        proxy.heal()
        with lock:
            assert list(holds(server).values()) == [1]
        assert holds(server) == {}


@pytest.mark.parametrize(("piece", "delay"), [(1, 0), (65536, LATE)], ids=["in bytes", "late"])
def test_of_a_task_too_however_replies_come(
    proxy: FaultProxy, server: Server, piece: int, delay: float
) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(proxy.url) as client:
            lock = client.lock(NAME)
            async with lock:
                pass
            proxy.slices(piece)
            proxy.delay(delay)
            for _ in range(PAIRS):
                async with lock, lock:
                    assert list(holds(server).values()) == [2]
                assert holds(server) == {}

    asyncio.run(main())


def test_of_a_task_too_what_another_holds_is_refused(server: Server) -> None:
    async def main() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as other,
        ):
            lock, rival = client.lock(NAME), other.lock(NAME)
            async with rival:
                assert not await lock.acquire(blocking=False)
                assert not await lock.acquire(timeout=1)
            async with lock:
                assert not await rival.acquire(blocking=False)

    asyncio.run(main())


def test_of_a_task_too_after_a_release_without_an_answer(proxy: FaultProxy, server: Server) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(proxy.url, command_timeout=IMPATIENT) as client:
            lock = client.lock(NAME)
            await lock.acquire()
            proxy.black_hole()
            with pytest.raises(holdfast.ConnectionError):
                await lock.release()
            proxy.heal()
            async with lock:
                assert list(holds(server).values()) == [1]
            assert holds(server) == {}

    asyncio.run(main())


def test_of_a_task_too_a_lost_connection_repeats_the_command(
    proxy: FaultProxy, server: Server
) -> None:
    """The replies to an attempt and to a release are lost: each is sent again, and counts once."""

    async def main() -> None:
        async with holdfast.asyncio.Client(proxy.url) as client:
            lock = client.lock(NAME)
            async with lock:
                pass
            for _ in range(PAIRS):
                lost = proxy.lose_reply(b"EVALSHA")
                async with lock:
                    assert lost.is_set()
                    assert list(holds(server).values()) == [1]
                    lost = proxy.lose_reply(b"EVALSHA")
                assert lost.is_set()
                assert holds(server) == {}

    asyncio.run(main())
