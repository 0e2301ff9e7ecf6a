"""A slot that moves in one step, under load: no hold is lost, no owners meet, waiters are woken."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.clusters import Cluster
from tests.support.owners import MakeActor, MakeClient
from tests.support.slot_moves import move_at_once, why_not_at_once
from tests.support.waiting import BOUND, Stopwatch, eventually, let_pass, taking
from tests.torture import checker, history
from tests.torture.checker import Facts
from tests.torture.history import Log, now
from tests.torture.subjects import LEASE, PERMITS, RULES, SUBJECTS, Subject

pytestmark = [pytest.mark.servers("real"), pytest.mark.slow]

TAG = "{moving}"
HELD = f"held throughout {TAG}"
MOVES = 8
KINDS = ("lock", "fair_lock", "read_write_lock", "permit_semaphore")
WORK = 0.002
"""Seconds that an owner stays."""


def subjects() -> list[Subject]:
    """What is contended for: of each kind as `SUBJECTS` makes it, for readers and for writers."""
    found: dict[tuple[str, int], Subject] = {}
    for subject in SUBJECTS:
        found.setdefault((subject.kind, subject.weight), subject)
    return [replace(each, stays=True) for each in found.values() if each.kind in KINDS]


class Load:
    """Owners that take turns for things in one slot, and write down what they got."""

    def __init__(self, path: Path, pause: Callable[[float], Any]) -> None:
        self.over = threading.Event()
        self._path = path
        self._log = Log(path, "1.1")
        self._pause = pause
        self._grants = Counter[str]()
        """By owner: one thread or task writes each."""

    def live(self, owner: str, subject: Subject, client: Any) -> Generator[Any, Any, None]:
        """Acquire, stay, release, until it is over."""
        name = f"{subject.kind} {TAG}"
        held = subject.of([client], name)
        while not self.over.is_set():
            details = {"owner": owner, "subject": name, "weight": subject.weight}
            number, called = self._log.call("acquire", **details), now()
            grant = yield held.acquire(None, None)
            self._log.returned(number, "granted" if grant else "refused")
            yield self._pause(WORK)
            moment = now()
            if held.trusted(called, moment):
                self._log.trusted(number, moment)
            else:
                self._log.lost(number)
            release = self._log.call("release", owner=owner, subject=name, of=number)
            try:
                yield held.release(grant)
            except holdfast.LockLostError:
                self._log.lost(number)
            self._log.returned(release, "done")
            self._grants[owner] += 1

    @property
    def owners(self) -> int:
        """How many have had a turn."""
        return len(self._grants)

    def all_go_on(self) -> None:
        """Return when each of them has had another turn."""
        before = Counter(self._grants)
        eventually(lambda: all(self._grants[each] > before[each] for each in before), within=30.0)

    def violations(self) -> list[str]:
        return [str(each) for each in checker.judge(history.read([self._path]), Facts(RULES))]


@pytest.fixture
def movable(cluster: Cluster) -> Cluster:
    """A cluster whose servers move a slot in one step."""
    if reason := why_not_at_once(cluster.servers[0]):
        pytest.skip(reason)
    return cluster


def test_a_slot_moves_to_and_fro_under_load(
    movable: Cluster, make_client: MakeClient, make_actor: MakeActor, flavour: Any, tmp_path: Path
) -> None:
    load = Load(tmp_path / "history", taking if flavour.asyncio else let_pass)
    clients = [make_client(movable.url, lease=LEASE) for _ in range(2)]
    make_actor().do(clients[0].permit_semaphore(f"permit_semaphore {TAG}").try_set_permits, PERMITS)
    holder, waiter = make_actor(), make_actor()
    kept, wanted = (client.lock(HELD) for client in clients)
    watch = Stopwatch()
    assert holder.do(kept.acquire)
    waiting = waiter.begin(wanted.acquire)
    lives = [
        make_actor().begin(load.live, f"{subject.kind} {subject.weight} {number}", subject, client)
        for number, client in enumerate(clients * 2)
        for subject in subjects()
    ]
    try:
        eventually(lambda: load.owners == len(lives))
        for _ in range(MOVES):
            source, target = move_at_once(movable, HELD)
            assert source is not target
            load.all_go_on()
        eventually(lambda: watch.seconds > 2 * LEASE)
    finally:
        load.over.set()
    for life in lives:
        life.result(BOUND)
    assert not kept.lost
    assert not waiting.done()
    holder.do(kept.release)
    assert waiting.result(BOUND)
    waiter.do(wanted.release)
    assert load.violations() == []
    permits = clients[0].permit_semaphore(f"permit_semaphore {TAG}")
    assert make_actor().do(permits.available_permits) == PERMITS
