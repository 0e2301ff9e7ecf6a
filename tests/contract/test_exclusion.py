"""One owner at a time, among threads, tasks, clients."""

from __future__ import annotations

from collections.abc import Generator
from concurrent import futures
from typing import Any

from tests.contract.conftest import Stage
from tests.support.actors import PAUSE
from tests.support.waiting import BOUND, eventually


def test_a_free_lock_is_granted_at_once(alice: Any, lock: Any, stage: Stage) -> None:
    assert alice.do(lock.acquire) is True
    (owner,) = stage.holds()
    assert owner.startswith(f"{stage.default_client.id}:".encode())
    assert owner.split(b":")[1].isdigit()


def test_a_contended_try_returns_false(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    before = stage.holds()
    assert bob.do(rival.acquire, blocking=False) is False
    assert bob.do(rival.acquire, False) is False
    assert bob.do_briefly(rival.acquire, timeout=0) is False
    assert stage.holds() == before


def test_clients_exclude_each_other(alice: Any, stage: Stage) -> None:
    one, other = stage.lock(stage.client()), stage.rival(stage.client())
    assert alice.do(one.acquire)
    assert not alice.do(other.acquire, blocking=False)
    alice.do(one.release)
    assert alice.do(other.acquire, blocking=False)


def test_other_names_are_other_locks(alice: Any, bob: Any, stage: Stage) -> None:
    alice.do(stage.lock(name="one").acquire)
    assert bob.do(stage.lock(name="another").acquire, blocking=False)


def test_two_objects_of_one_name_are_one_lock(alice: Any, bob: Any, stage: Stage) -> None:
    one, other = stage.lock(), stage.lock()
    assert alice.do(one.acquire)
    assert alice.do(other.acquire, blocking=False)
    alice.do(one.release)
    alice.do(one.release)
    assert bob.do(stage.rival().acquire, blocking=False)


def test_a_release_lets_a_waiter_in(
    alice: Any, bob: Any, lock: Any, rival: Any, stage: Stage
) -> None:
    alice.do(lock.acquire)
    waiting = stage.wait(bob, rival)
    assert not waiting.done()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    assert len(stage.holds()) == 1


def test_a_release_lets_a_waiter_of_another_client_in(alice: Any, bob: Any, stage: Stage) -> None:
    mine, theirs = stage.lock(stage.client()), stage.rival(stage.client())
    alice.do(mine.acquire)
    waiting = stage.wait(bob, theirs)
    alice.do(mine.release)
    assert waiting.result(BOUND) is True


def test_every_waiter_gets_its_turn(alice: Any, lock: Any, rival: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    others = [stage.actor() for _ in range(6)]
    waiting = {stage.wait(other, rival): other for other in others}
    alice.do(lock.release)
    while waiting:
        granted, _ = futures.wait(waiting, timeout=BOUND, return_when=futures.FIRST_COMPLETED)
        (first,) = granted
        assert first.result() is True
        waiting.pop(first).do(rival.release)
    assert stage.all_keys() == set()


def test_busy_owners_of_one_client_do_not_starve_another_client(bob: Any, stage: Stage) -> None:
    enough: list[bool] = []
    at_work: set[int] = set()

    def take_and_give(number: int, lock: Any) -> Generator[Any, Any, None]:
        while not enough:
            assert (yield lock.acquire(timeout=BOUND))
            at_work.add(number)
            yield lock.release()

    busy = stage.client()
    running = [stage.actor().begin(take_and_give, n, stage.lock(busy)) for n in range(4)]
    eventually(lambda: len(at_work) == 4)
    theirs = stage.lock(stage.client())
    try:
        for _ in range(5):
            assert bob.do(theirs.acquire, timeout=BOUND / 2) is True
            bob.do(theirs.release)
    finally:
        enough.append(True)
    for each in running:
        each.result(BOUND)


def test_sections_never_overlap(stage: Stage) -> None:
    inside: list[int] = []
    done: list[int] = []

    def sections(number: int, lock: Any) -> Generator[Any, Any, None]:
        for _ in range(8):
            assert (yield lock.acquire(timeout=BOUND))
            inside.append(number)
            yield PAUSE
            assert inside == [number] or (stage.kind.shared and not {1, 3, 5}.intersection(inside))
            inside.remove(number)
            done.append(number)
            yield lock.release()

    clients = [stage.client(), stage.client()]
    running = [
        stage.actor().begin(sections, number, make(clients[number // 3]))
        for number, make in enumerate((stage.lock, stage.rival) * 3)
    ]
    for program in running:
        program.result(3 * BOUND)
    assert len(done) == 48
