"""Celery tasks whose server of locks refuses to work, is out of reach, or loses replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from tests.frameworks.conftest import Start
from tests.support.fixtures import StartServer
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually

pytest.importorskip("celery")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

NAME = "export:ann"


@pytest.fixture
def locks(start_server: StartServer) -> Server:
    """The server of the locks; broker and results are on another."""
    return start_server()


@pytest.fixture(autouse=True)
def way(locks: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    """The way to it."""
    with FaultProxy(locks.port) as proxy:
        monkeypatch.setenv("HOLDFAST_TEST_LOCKS", f"{proxy.url}?command_timeout=1")
        yield proxy


def refuse(locks: Server, *, now: bool) -> None:
    locks.inspect.config_set("min-replicas-to-write", int(now))


def test_a_refusal_is_not_taken_for_a_task_in_the_queue(exports: Any, locks: Server) -> None:
    refuse(locks, now=True)
    with pytest.raises(holdfast.ServerError, match="NOREPLICAS"):
        exports.enqueue_once(exports.plain, ("ann",), name=NAME)


@pytest.mark.parametrize("task", ["skipping", "retrying"])
def test_a_refusal_is_not_taken_for_a_task_that_runs(
    task: str, exports: Any, locks: Server
) -> None:
    refuse(locks, now=True)
    with pytest.raises(holdfast.ServerError, match="NOREPLICAS"):
        getattr(exports, task)("ann")


@pytest.mark.parametrize("task", ["skipping", "plain"])
def test_a_task_that_is_done_does_not_fail_where_its_lock_cannot_be_released(
    task: str, start: Start, exports: Any, way: FaultProxy, private_server: Server
) -> None:
    """A caller that repeats a task which failed would do its work twice."""
    redis = private_server.inspect
    worker = start("threads")
    once = {"name": NAME, "lease": 60}
    result = exports.skipping.delay("ann") if task == "skipping" else exports.enqueue_once(
        exports.plain, ("ann",), **once
    )  # fmt: skip
    eventually(lambda: redis.exists("ann:began"), within=30)
    way.refuse()
    redis.set("ann:go", 1)
    assert result.get(timeout=60) == "done"
    worker.wait_for("could not be released")


def test_a_task_whose_hold_was_lost_is_done_and_does_not_fail(
    start: Start, exports: Any, locks: Server, private_server: Server
) -> None:
    redis = private_server.inspect
    worker = start("threads")
    result = exports.skipping.delay("ann")
    eventually(lambda: redis.exists("ann:began"), within=30)
    with holdfast.Client(locks.url) as client:
        assert client.lock(NAME).force_release()
    redis.set("ann:go", 1)
    assert result.get(timeout=60) == "done"
    worker.wait_for("the work under 'export:ann' is done")


def test_a_ticket_that_cannot_be_recorded_as_used_is_only_logged(
    way: FaultProxy, locks: Server, caplog: pytest.LogCaptureFixture
) -> None:
    from holdfast.contrib import celery

    with holdfast.Client(way.url, command_timeout=0.3, retries=0) as client:
        headers = {celery.NAME: NAME, celery.TICKET: "ticket", celery.LEASE: 10}
        used = celery._Used(client, headers)
        refuse(locks, now=True)
        used.record()
        assert caplog.text.count("is not recorded on the server") == 1
        locks.stop()
        used.record()
        assert caplog.text.count("is not recorded on the server") == 2


def test_a_task_whose_ticket_is_refused_for_the_moment_runs_later(
    start: Start, exports: Any, locks: Server, private_server: Server
) -> None:
    result = exports.enqueue_once(exports.plain, ("ann",), name=NAME)
    refuse(locks, now=True)
    worker = start("threads")
    worker.wait_for("tries again")
    refuse(locks, now=False)
    private_server.inspect.set("ann:go", 1)
    assert result.get(timeout=30) == "done"
    eventually(lambda: not locks.inspect.exists(NAME))


def test_nothing_stays_held_when_the_reply_to_the_detach_is_lost(
    exports: Any, way: FaultProxy, locks: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    detach = holdfast.Hold.detach

    def unheard(hold: holdfast.Hold, lease: float) -> str:
        way.deafen()
        try:
            return detach(hold, lease)
        finally:
            way.heal()

    with monkeypatch.context() as patch:
        patch.setattr(holdfast.Hold, "detach", unheard)
        with pytest.raises(holdfast.ConnectionError):
            exports.enqueue_once(exports.plain, ("ann",), name=NAME)
    eventually(lambda: not locks.inspect.exists(NAME))
    assert exports.enqueue_once(exports.plain, ("ann",), name=NAME) is not None


def test_a_retry_whose_lock_cannot_go_with_it_takes_it_again(
    start: Start, exports: Any, way: FaultProxy, locks: Server, private_server: Server
) -> None:
    worker = start("threads")
    redis = private_server.inspect
    result = exports.enqueue_once(exports.repeated, ("ann",), name=NAME)
    eventually(lambda: redis.exists("ann:0:began"), within=30)
    way.refuse()
    redis.set("ann:0:go", 1)
    worker.wait_for("is sent without its lock 'export:ann'")
    way.heal()
    eventually(lambda: redis.exists("ann:1:began"), within=30)
    assert locks.inspect.exists(NAME)
    assert exports.enqueue_once(exports.plain, ("ann",), name=NAME) is None
    redis.set("ann:1:go", 1)
    assert result.get(timeout=30) == "done"
    eventually(lambda: not locks.inspect.exists(NAME))


def test_a_retry_without_its_lock_waits_for_another_task_that_has_taken_it(
    start: Start, exports: Any, locks: Server, private_server: Server
) -> None:
    with holdfast.Client(locks.url) as client:
        other = client.lock(NAME).hold()
        headers = {"holdfast_name": NAME, "holdfast_lease": 60}  # as such a retry has
        result = exports.plain.apply_async(("ann",), headers=headers)
        worker = start("threads")
        worker.wait_for("tries again")
        assert not private_server.inspect.exists("ann:began")
        other.release()
    private_server.inspect.set("ann:go", 1)
    assert result.get(timeout=30) == "done"
    eventually(lambda: not locks.inspect.exists(NAME))


def test_a_task_runs_where_the_use_of_its_ticket_cannot_be_recorded(
    start: Start, exports: Any, locks: Server, private_server: Server
) -> None:
    locks.inspect.acl_setuser(
        "worker",
        enabled=True,
        passwords=["+secret"],
        keys=["*"],
        channels=["*"],
        commands=["+@all", "-set", "-get"],
    )
    url = locks.url.replace("redis://", "redis://worker:secret@")
    result = exports.enqueue_once(exports.plain, ("ann",), name=NAME, lease=0.05)
    eventually(lambda: not locks.inspect.exists(NAME))
    private_server.inspect.set("ann:go", 1)
    worker = start("threads", HOLDFAST_TEST_LOCKS=url)
    assert result.get(timeout=30) == "done"
    worker.wait_for("the ticket of 'export:ann' was used is not recorded on the server: ")
