"""Objects that threads share, used by all of them at once, with the GIL and without one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from holdfast import _core, observe
from holdfast._clients import base as _base_client
from tests.contract.process.conftest import NAME
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.together import THREADS, by_all, by_all_while, in_step

pytestmark = pytest.mark.servers("real")

#: Objects that two threads race for, in step.
MANY = 200
#: Of what asks a server, for each thread.
ROUNDS = 40


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads take turns often where there is a GIL."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def client(server: Server) -> Iterator[holdfast.Client]:
    with holdfast.Client(server.url) as client:
        yield client


def test_one_lock_object_excludes_its_threads(client: holdfast.Client, server: Server) -> None:
    lock = client.lock(NAME)
    counted = 0

    def count() -> None:
        nonlocal counted
        for _ in range(ROUNDS):
            with lock, lock:
                counted += 1

    by_all(count)
    assert counted == THREADS * ROUNDS
    assert server.keys() == set()


def test_an_object_knows_when_the_last_call_has_ended(client: holdfast.Client) -> None:
    """Then its constructor may be called again, and during a call it may not."""
    lock = client.lock(NAME)
    hold = holdfast.Hold(lock)
    refused: list[str] = []

    def use() -> None:
        for _ in range(50 * MANY):
            hold._unclaim()  # short, and without a command

    def initialize() -> None:
        try:
            hold.__init__(lock)
        except RuntimeError as error:
            refused.append(str(error))

    by_all_while(use, initialize)
    assert all("was called again during another call" in text for text in refused)
    hold.__init__(lock)


def test_a_hold_is_ended_by_one_of_its_threads(client: holdfast.Client) -> None:
    lock = client.lock(NAME)
    holds = [holdfast.Hold(lock) for _ in range(MANY)]
    ended: list[holdfast.Hold] = []

    def end(hold: holdfast.Hold) -> None:
        with suppress(holdfast.NotOwnedError):
            hold._claim()
            ended.append(hold)

    in_step(holds, end)
    assert len(ended) == len({*map(id, ended)}) == MANY


def test_a_hold_is_released_once(client: holdfast.Client, server: Server) -> None:
    for _ in range(ROUNDS):
        released: list[None] = []
        hold = client.lock(NAME).hold()

        def release(hold: holdfast.Hold = hold, released: list[None] = released) -> None:
            with suppress(holdfast.NotOwnedError):
                hold.release()
                released.append(None)

        by_all(release)
        assert len(released) == 1
        assert server.keys() == set()


def test_a_hold_is_passed_on_once(client: holdfast.Client) -> None:
    for _ in range(ROUNDS):
        tickets: list[str] = []
        hold = client.lock(NAME).hold()

        def detach(hold: holdfast.Hold = hold, tickets: list[str] = tickets) -> None:
            with suppress(holdfast.NotOwnedError):
                tickets.append(hold.detach())

        by_all(detach)
        [ticket] = tickets
        client.attach(ticket).release()


def test_each_thread_leaves_a_semaphore_with_its_permit(
    client: holdfast.Client, server: Server
) -> None:
    semaphore = client.permit_semaphore(NAME)
    semaphore.try_set_permits(THREADS)
    taken: list[str] = []

    def use() -> None:
        for _ in range(ROUNDS):
            with semaphore as permit:
                taken.append(permit)

    by_all(use)
    assert len(set(taken)) == THREADS * ROUNDS
    assert semaphore.available_permits() == THREADS
    assert client._permits == {}
    semaphore.delete()
    assert server.keys() == set()


def test_a_permit_is_forgotten_once(client: holdfast.Client) -> None:
    semaphore = client.permit_semaphore(NAME)
    first = _core.next_owners(MANY)
    permits = [_core.permit_id(client.id, first + place) for place in range(MANY)]
    for permit in permits:
        _core.expect_permit(semaphore, permit, None)
        semaphore._gone[permit] = None

    in_step(permits, semaphore._forget)
    assert client._permits == {}
    assert not semaphore.lost


def test_all_semaphores_of_a_client_have_one_listener(
    client: holdfast.Client, server: Server
) -> None:
    assert client.ping()  # it keeps the library's threads while the others are closed
    for _ in range(ROUNDS):
        with holdfast.Client(server.url) as fresh:
            numbers: list[int] = []

            def make(fresh: holdfast.Client = fresh, numbers: list[int] = numbers) -> None:
                numbers.append(fresh.permit_semaphore(NAME)._losses)

            by_all(make)
            assert numbers == [*fresh._listeners] * THREADS


def test_a_lock_object_has_a_watcher_for_each_thread(client: holdfast.Client) -> None:
    lock = client.lock(NAME, on_lost=print)

    def use() -> None:
        for _ in range(ROUNDS):
            with lock:
                assert len(lock._watchers) >= 1

    by_all(use)
    assert lock._watchers == {}
    assert client._listeners == {}


def test_a_client_is_closed_while_its_threads_acquire(server: Server) -> None:
    client = holdfast.Client(server.url)
    lock = client.lock(NAME)
    counted: list[None] = []

    def use() -> None:
        with suppress(holdfast.ConnectionError):
            while True:
                with lock:
                    counted.append(None)

    def close() -> None:
        while len(counted) < ROUNDS:
            pass
        client.close(release_held=True)

    by_all(use, close, close)
    with pytest.raises(holdfast.ConnectionError):
        lock.acquire()


def test_clients_are_made_and_closed_while_others_are_listed(server: Server) -> None:
    listed: set[int] = set()

    def use() -> None:
        for _ in range(ROUNDS):
            with holdfast.Client(server.url, name_prefix="p") as client:
                assert client in _base_client.all_clients()

    by_all_while(use, lambda: listed.update(map(id, _base_client.all_clients())))
    assert listed


def test_an_observer_is_replaced_while_threads_acquire(client: holdfast.Client) -> None:
    class Observer:
        """Counts what begins and what ends."""

        def __init__(self) -> None:
            self.begun_, self.ended_ = [], []

        def begun(self, kind: str, name: bytes) -> object:
            self.begun_.append(kind)
            return name

        def ended(self, *_: object) -> None:
            self.ended_.append(None)

        released = lost = ended

    seen: list[Observer] = []

    def use() -> None:
        for number in range(ROUNDS):
            lock = client.lock(f"{NAME}:{threading.get_ident()}:{number}")
            with lock:
                pass

    def replace() -> None:
        observer: Any = Observer()
        observe.add_observer(observer)
        if observer.begun_:
            seen.append(observer)
        observe.remove_observer(observer)

    by_all_while(use, replace)
    assert not any(len(each.ended_) < len(each.begun_) for each in seen)


def test_a_program_begins_with_many_threads(start_child: StartChild, server: Server) -> None:
    """What the first use of anything prepares is prepared once."""
    child = start_child(
        """
        import asyncio, holdfast.asyncio
        client = holdfast.Client(URL)
        tasks = holdfast.asyncio.Client(URL)
        begin = threading.Barrier(8)

        async def main():
            async with tasks.lock(NAME):
                counted.append(None)

        def use(number):
            begin.wait()
            if number % 2:
                asyncio.run(main())
            else:
                with client.lock(NAME):
                    counted.append(None)

        counted = []
        threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        say("counted", len(counted))
        """,
        URL=server.url,
        NAME=NAME,
    )
    assert child.expect("counted") == ["8"]
