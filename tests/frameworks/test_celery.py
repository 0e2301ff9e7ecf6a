"""Celery workers on a Redis broker, with each of the pools."""

from __future__ import annotations

import json
import os
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.frameworks.conftest import Program, Run, Start
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytest.importorskip("celery")

from celery.exceptions import TaskRevokedError

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

POOLS = ("prefork", "threads", "gevent")


@pytest.mark.parametrize("pool", POOLS)
def test_one_task_of_a_name_runs_at_a_time(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    start(pool)
    first = exports.skipping.delay("ann")
    eventually(lambda: private_server.inspect.llen("ann:began") == 1, within=30)
    assert exports.skipping.delay("ann").get(timeout=30) is None
    with holdfast.Client(private_server.url) as client:
        [holder] = [one for info in inspect.locks(client) for one in info.owners]
    assert holder.purpose == f"{exports.skipping.name} {first.id}"
    private_server.inspect.set("ann:go", 1)
    assert first.get(timeout=30) == "done"
    assert exports.skipping.delay("ann").get(timeout=30) == "done"
    assert private_server.inspect.lrange("ann:began", 0, -1) == [b"1", b"1"]


@pytest.mark.parametrize("pool", POOLS)
def test_tasks_that_wait_run_one_after_the_other(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    start(pool)
    results = [exports.waiting.delay("ann", 0.01) for _ in range(12)]
    assert [result.get(timeout=60) for result in results] == ["done"] * 12
    assert private_server.inspect.lrange("ann:began", 0, -1) == [b"1"] * 12
    assert not private_server.inspect.exists("export:ann")


@pytest.mark.parametrize("pool", POOLS)
def test_a_busy_task_is_retried_without_counting_as_a_retry(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    start(pool)
    redis = private_server.inspect
    redis.hset("export:ann", "another:1", 1)
    redis.pexpire("export:ann", 1500)
    redis.set("ann:go", 1)
    result = exports.retrying.delay("ann")
    eventually(lambda: result.state == "RETRY", within=30)
    assert result.get(timeout=60) == 0
    assert redis.lrange("ann:began", 0, -1) == [b"1"]


@pytest.mark.parametrize("pool", POOLS)
def test_a_task_is_enqueued_once_until_it_has_ended(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    first = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60)
    assert exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60) is None
    assert redis.exists("export:ann")
    start(pool)
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    assert exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60) is None
    redis.set("ann:go", 1)
    assert first.get(timeout=30) == "done"
    eventually(lambda: not redis.exists("export:ann"))
    again = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60)
    assert again.get(timeout=30) == "done"


def test_nothing_stays_held_when_a_task_cannot_be_enqueued(
    exports: Any, private_server: Server
) -> None:
    with pytest.raises(TypeError, match="user"):  # by Celery's check of the arguments
        exports.enqueue_once(exports.plain, (), name="export:ann", lease=60)
    assert not private_server.inspect.exists("export:ann")


@pytest.mark.parametrize("pool", POOLS)
def test_a_retry_keeps_the_lock(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    start(pool)
    result = exports.enqueue_once(exports.failing, ("ann",), name="export:ann", lease=60)
    assert result.get(timeout=60) == 2
    assert private_server.inspect.lrange("ann:held", 0, -1) == [b"1"] * 3
    eventually(lambda: not private_server.inspect.exists("export:ann"))


@pytest.mark.parametrize("pool", POOLS)
def test_a_task_that_starts_after_its_lease_takes_its_name_again_and_runs(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    late = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=0.05)
    eventually(lambda: not redis.exists("export:ann"))
    worker = start(pool)
    worker.wait_for("starts after the lease of its lock 'export:ann'")
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    assert exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60) is None
    redis.set("ann:go", 1)
    assert late.get(timeout=30) == "done"
    eventually(lambda: not redis.exists("export:ann"))


def test_a_late_task_is_skipped_where_another_has_its_name(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    skipped = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=0.05)
    eventually(lambda: not redis.exists("export:ann"))
    redis.hset("export:ann", "another:1", 1)
    redis.expire("export:ann", 60)
    worker = start("threads")
    worker.wait_for("is skipped: its ticket for the lock 'export:ann' has expired, and another has")
    with pytest.raises(TaskRevokedError, match=r"skipped: its ticket .* has expired"):
        skipped.get(timeout=30)
    assert not redis.exists("ann:began")


def test_a_task_whose_lock_was_lost_with_the_data_runs(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    result = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60)
    redis.delete("export:ann")
    redis.set("ann:go", 1)
    worker = start("threads")
    assert result.get(timeout=30) == "done"
    worker.wait_for("has lost its lock 'export:ann' before the end of its lease")
    assert "starts after the lease" not in worker.log


@pytest.mark.parametrize("countdown", [None, 300])
def test_the_end_of_the_lease_travels_in_the_headers(
    countdown: int | None, start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    name = "export:ann"
    exports.enqueue_once(exports.failing, ("ann",), name=name, lease=60, countdown=countdown)
    [message] = redis.lrange("celery", 0, -1)
    end = json.loads(message)["headers"]["holdfast_end"]
    assert seconds_until(end) == pytest.approx(redis.pttl(name) / 1000, abs=1)
    if countdown is None:
        start("threads")
        eventually(lambda: redis.llen("ann:ends") == 3, within=30)
        ends = [one.decode() for one in redis.lrange("ann:ends", 0, -1)]
        assert end == ends[0] < ends[1] < ends[2]  # each retry has the lease again


def seconds_until(moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.now(timezone.utc)).total_seconds()


def test_a_late_task_that_is_delivered_again_runs_once(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    exports.app.conf.task_ignore_result = True  # what ran is known by the record alone
    exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=0.05)
    eventually(lambda: not redis.exists("export:ann"))
    [message] = redis.lrange("celery", 0, -1)
    redis.rpush("celery", message)
    redis.set("ann:go", 1)
    worker = start("threads", 1)
    worker.wait_for("is skipped: an earlier delivery has used its ticket for the lock 'export:ann'")
    assert redis.llen("ann:began") == 1
    [record] = redis.keys("holdfast_used:{export:ann}:*")
    assert 86_000 < redis.ttl(record) <= 86_400


def test_a_task_that_is_delivered_again_keeps_the_result_of_its_run(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    redis.set("ann:go", 1)
    done = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60)
    [message] = redis.lrange("celery", 0, -1)
    redis.rpush("celery", message)
    worker = start("threads", 1)
    worker.wait_for("is skipped: an earlier delivery has used its ticket")
    worker.wait_for(" ignored")
    assert done.get(timeout=30) == "done"
    assert redis.llen("ann:began") == 1


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_task_that_never_starts_frees_its_name(
    how: str, start: Start, exports: Any, private_server: Server
) -> None:
    expires = {"expires": 0.01} if how == "expired" else {}
    left_out = exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60, **expires)
    worker = start("threads")
    if how == "revoked":
        redis = private_server.inspect
        exports.enqueue_once(exports.plain, ("bob",), name="export:bob", countdown=60)
        later = exports.enqueue_once(exports.plain, ("eve",), name="export:eve", countdown=1)
        later.revoke()
        eventually(lambda: not redis.exists("export:eve"), within=30)
        assert redis.exists("export:bob")
        redis.set("ann:go", 1)
        assert left_out.get(timeout=30) == "done"
    else:
        eventually(lambda: not private_server.inspect.exists("export:ann"), within=30)
        with pytest.raises(TaskRevokedError):
            left_out.get(timeout=30)
    assert "could not be released" not in worker.log


def test_a_countdown_is_added_to_the_lease(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    eta = datetime.now(timezone.utc) + timedelta(seconds=600)
    exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60, eta=eta)
    exports.enqueue_once(exports.plain, ("bob",), name="export:bob", lease=60, countdown=300)
    assert 655_000 < redis.pttl("export:ann") <= 660_000
    assert 355_000 < redis.pttl("export:bob") <= 360_000
    start("threads")
    redis.set("eve:go", 1)
    late = exports.enqueue_once(exports.plain, ("eve",), name="export:eve", lease=1, countdown=2)
    assert late.get(timeout=30) == "done"


def test_a_task_that_replaces_another_has_its_lock(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    result = exports.enqueue_once(exports.replaced, ("ann",), name="export:ann", lease=60)
    start("threads")
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    assert exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60) is None
    redis.set("ann:go", 1)
    assert result.get(timeout=30) == "done"
    eventually(lambda: not redis.exists("export:ann"))


@pytest.mark.parametrize("task", ["skipping", "retrying", "waiting"])
def test_a_single_task_that_is_enqueued_once_with_its_name_runs(
    task: str, start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    start("threads")
    redis.set("ann:go", 1)
    result = exports.enqueue_once(getattr(exports, task), ("ann",), name="export:ann", lease=60)
    assert result.get(timeout=30) == (0 if task == "retrying" else "done")
    assert redis.lrange("ann:began", 0, -1) == [b"1"]
    eventually(lambda: not redis.exists("export:ann"))


@pytest.mark.parametrize("pool", POOLS)
def test_a_worker_that_is_killed_in_the_middle_leaves_the_lock_to_its_lease(
    pool: str, start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    url = private_server.url + "?lease=2"
    worker = start(pool, HOLDFAST_TEST_LOCKS=url)
    exports.skipping.delay("ann")
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    kill_all(worker)
    assert redis.exists("export:ann")
    eventually(lambda: not redis.exists("export:ann"), within=30)
    redis.delete("ann:running", "ann:began")
    redis.set("ann:go", 1)
    start(pool)
    assert exports.skipping.delay("ann").get(timeout=60) == "done"


def test_a_task_whose_process_is_killed_runs_again_after_the_lease(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    worker = start("prefork", 2, HOLDFAST_TEST_LOCKS=private_server.url + "?lease=9")
    result = exports.retrying.delay("ann")
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    kill_child_that_holds(worker, redis)
    redis.set("ann:running", 0)
    redis.set("ann:go", 1)
    worker.wait_for(" retry: Retry in ")  # the worker notices after 5 s: the lock is held still
    assert result.get(timeout=60) == 0
    assert redis.lrange("ann:began", 0, -1) == [b"1", b"1"]


def test_a_task_that_was_enqueued_once_is_skipped_when_it_is_delivered_again(
    start: Start, exports: Any, private_server: Server
) -> None:
    redis = private_server.inspect
    worker = start("prefork", 2, HOLDFAST_TEST_LOCKS=private_server.url + "?lease=2")
    exports.enqueue_once(exports.plain, ("ann",), name="export:ann", lease=60)
    eventually(lambda: redis.llen("ann:began") == 1, within=30)
    kill_child_that_holds(worker, redis)
    worker.wait_for("is skipped: an earlier delivery has used its ticket")
    worker.wait_for(" ignored")
    assert redis.llen("ann:began") == 1
    eventually(lambda: not redis.exists("export:ann"), within=30)


def kill_child_that_holds(worker: Program, redis: Any) -> None:
    """Kill -9: the child of the worker whose task holds the lock; the worker lives on."""
    [pid] = redis.lrange("ann:pid", 0, -1)
    assert int(pid) in children_of(worker)
    os.kill(int(pid), signal.SIGKILL)


def children_of(worker: Program) -> list[int]:
    pid = worker.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_all(worker: Program) -> None:
    """Kill -9: the worker and, with prefork, its children."""
    children = children_of(worker)
    worker.process.kill()
    worker.process.wait(BOUND)
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_a_worker_without_a_server_for_its_locks_does_not_start(
    run: Run, exports: Any, private_server: Server, tmp_path: Any
) -> None:
    (tmp_path / "bare.py").write_text(
        "from celery import Celery\n"
        "import holdfast.contrib.celery\n"
        f"app = Celery('bare', broker={private_server.url!r})\n"
    )
    worker = run(
        "-m", "celery", "-A", "bare", "--workdir", str(tmp_path), "worker", "--pool", "solo",
        HOLDFAST_URL="",
    )  # fmt: skip
    assert worker.process.wait(60) != 0
    assert "app.conf.holdfast_url" in worker.log
