"""A worker has one thread at a time, and none after its end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from holdfast._engine import workers as _workers
from holdfast._engine.workers import Worker
from tests.support.waiting import BOUND, eventually, let_pass

Body = Callable[[], object]


def _thread(body: Body) -> threading.Thread:
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


class Interrupted:
    """Starts threads; the first start is interrupted when ``started`` is set."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.threads: list[threading.Thread] = []
        self.enter: Callable[[Body], Body] = lambda body: body

    def __call__(self, body: Body, name: str) -> threading.Thread:
        if self.threads:
            return _thread(body)
        self.threads.append(_thread(self.enter(body)))
        assert self.started.wait(BOUND)
        raise KeyboardInterrupt


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Interrupted:
    starts = Interrupted()
    monkeypatch.setattr(_workers, "start_thread", starts)
    return starts


@pytest.fixture
def worker() -> Worker:
    return Worker("worker", 100, print)


def test_a_thread_whose_start_was_interrupted_is_the_only_one(
    worker: Worker, starts: Interrupted
) -> None:
    opened, second = threading.Event(), threading.Event()

    def first() -> None:
        starts.started.set()
        opened.wait(BOUND)

    with pytest.raises(KeyboardInterrupt):
        worker.put(first)
    worker.put(second.set)
    assert not second.wait(0.3)
    opened.set()
    assert second.wait(BOUND)


def test_a_thread_that_comes_after_its_interrupted_start_runs_nothing(
    worker: Worker, starts: Interrupted
) -> None:
    opened, ran = threading.Event(), list[int]()

    def entered(body: Body) -> Body:
        def late() -> None:
            starts.started.set()
            opened.wait(BOUND)
            body()

        return late

    starts.enter = entered
    with pytest.raises(KeyboardInterrupt):
        worker.put(lambda: ran.append(threading.get_ident()))
    worker.put(lambda: ran.append(threading.get_ident()))
    eventually(lambda: len(ran) == 2)
    worker.end(BOUND)
    opened.set()
    starts.threads[0].join(BOUND)
    assert starts.threads[0].ident not in ran
    assert worker._idle.qsize() == 1


def test_the_end_is_that_of_the_thread(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[threading.Thread]()

    def start(body: Body, name: str) -> threading.Thread:
        def leave_late() -> None:
            body()
            let_pass(0.05)

        threads.append(_thread(leave_late))
        return threads[-1]

    monkeypatch.setattr(_workers, "start_thread", start)
    worker.put(lambda: None)
    worker.end(BOUND)
    assert [thread.is_alive() for thread in threads] == [False]
