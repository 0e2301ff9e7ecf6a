"""What is built on locks and permits is seen as what it is."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.inspect.test_kinds import listed, shown

pytestmark = pytest.mark.servers("real")


def test_a_leader_is_seen_with_its_value(client: holdfast.Client) -> None:
    with client.leader("cron", value="10.0.0.7:9000", lease=30) as leader:
        [found] = listed(client)
        assert (found["kind"], found["use"]) == ("lock", "leader")
        detail = shown(client, "cron")
        assert (detail["value"], detail["token"]) == ("10.0.0.7:9000", leader.token)
        assert "holdfast_state:{cron}" in detail["keys"]
        assert "holdfast_changed:{cron}" in detail["channels"]
    with client.fenced_lock("cron", lease=30):
        assert "use" not in shown(client, "cron")


def test_slots_are_seen_with_their_owners_and_values(
    server: Server, client: holdfast.Client
) -> None:
    gpus = client.slots("gpus", ["gpu0", "gpu1"], lease=30)
    first, second = gpus.acquire(), gpus.acquire()
    assert first is not None
    assert second is not None
    [found] = listed(client)
    assert (found["kind"], found["use"]) == ("permit_semaphore", "slots")
    assert [owner["slot"] for owner in found["owners"]] == ["gpu0", "gpu1"]
    [info] = inspect.locks(client)
    owner = info.owners[0]
    assert owner.client is not None
    assert owner.client.process == f"{socket.gethostname()}:{os.getpid()}"
    detail = shown(client, "gpus")
    assert (detail["permits"], "holdfast_slots:{gpus}" in detail["keys"]) == (0, True)
    first.release()
    second.release()
    free = shown(client, "gpus")  # nothing of the permits in use is left
    assert (free["kind"], free["use"], free["permits"]) == ("permit_semaphore", "slots", 2)


def test_busy_slots_are_read_at_one_moment(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    """The number that is free and who has the others: never one more or one less in all."""
    over = threading.Event()

    def churn() -> None:
        with holdfast.Client(server.url) as worker:
            slots = worker.slots("gpus", 3, lease=30)
            while not over.is_set():
                with slots:
                    pass

    threads = [threading.Thread(target=churn) for _ in range(4)]
    with client.slots("gpus", 3, lease=30):
        for thread in threads:
            thread.start()
        try:
            seen = [shown(other, "gpus") for _ in range(300)]
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert {one["permits"] + len(one["owners"]) for one in seen} == {3}
    assert len({len(one["owners"]) for one in seen}) > 1, "they did come and go"


def test_the_label_of_a_slots_owner_is_seen(server: Server) -> None:
    with (
        holdfast.Client(server.url, label="billing worker 3") as client,
        client.slots("workers", 12, lease=30) as slot,
    ):
        [info] = inspect.locks(client)
        assert info.owners[0].slot == str(slot.index)
        eventually(lambda: inspect.locks(client)[0].owners[0].label == "billing worker 3")


def test_a_barrier_is_seen_with_its_parties(
    client: holdfast.Client, other: holdfast.Client
) -> None:
    barrier = client.barrier("epoch", 3)
    ended: list[BaseException] = []

    def party() -> None:
        try:
            barrier.wait()
        except holdfast.BrokenBarrierError as error:
            ended.append(error)

    thread = threading.Thread(target=party)
    thread.start()
    eventually(lambda: other.barrier("epoch", 3).n_waiting == 1)
    [found] = listed(client)
    assert (found["kind"], found["use"]) == ("permit_semaphore", "barrier")
    [owner] = found["owners"]
    assert (owner["host"], owner["pid"]) == (socket.gethostname(), os.getpid())
    assert owner["connection"] == "connected"
    detail = shown(client, "epoch")
    assert (detail["parties"], detail["broken"], len(detail["owners"])) == (3, False, 1)
    assert "permits" not in detail  # their number means nothing
    assert {"holdfast_state:{epoch}", "epoch"} <= set(detail["keys"])
    other.barrier("epoch", 3).abort()
    thread.join()
    assert len(ended) == 1
    assert shown(client, "epoch")["broken"]


def test_the_run_of_a_once_is_seen(client: holdfast.Client) -> None:
    def run() -> Any:
        [found] = listed(client)
        return found["name"], found["use"]

    assert client.once("invoice:7", lease=30).run(run) == ["invoice:7:holdfast_once", "once"]


def test_foreign_keys_beside_a_name_say_nothing(client: holdfast.Client, server: Server) -> None:
    permits = client.permit_semaphore("gpus", permits=2, lease=30)
    server.inspect.set("holdfast_slots:{gpus}", "text")
    server.inspect.set("holdfast_state:{gpus}", "text")
    server.inspect.hset("holdfast_slots:{pool}", mapping={"a": "b"})
    server.inspect.hset("holdfast_state:{pool}", mapping={"parties": "many", "owner": "me"})
    client.semaphore("pool").try_set_permits(1)
    assert shown(client, "pool")["certain"] is False
    with permits, client.permit_semaphore("pool", permits=1, lease=30), client.lock("mine"):
        assert ["use" in one for one in listed(client)] == [False, False, False]
        for name in ("gpus", "pool"):
            assert "use" not in shown(client, name)
