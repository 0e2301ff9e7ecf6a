"""`on_lost`: what it sees, where it runs, and what is logged without any set-up."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from contextvars import ContextVar
from typing import Any

import pytest

import holdfast
from tests.support.losses import fields_of
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, turns

NAME = "myLock"
request: ContextVar[str] = ContextVar("request", default="")


@pytest.mark.flavours("sync")
def test_it_sees_the_lost_hold_and_the_acquirers_context(
    make_client: MakeClient, server: Server
) -> None:
    seen: list[Any] = []

    def on_lost(lock: Any) -> None:
        seen.append((lock.lost, lock.token, lock.loss, repr(lock), request.get()))

    lock = make_client().fenced_lock(NAME, on_lost=on_lost)
    token = request.set("of the acquirer")
    assert lock.loss is None
    lock.acquire()
    granted = lock.token
    request.reset(token)
    make_client().fenced_lock(NAME).force_release()
    with pytest.raises(holdfast.LockLostError):
        lock.release()  # finds it gone
    eventually(lambda: seen)
    lost, token_seen, loss, text, context = seen[0]
    assert (lost, token_seen, context) == (True, granted, "of the acquirer")
    assert loss == lock.loss
    assert f"lost: {loss}" in text


@pytest.mark.flavours("sync")
def test_a_coroutine_function_needs_a_loop(make_client: MakeClient) -> None:
    async def on_lost(lock: object) -> None: ...

    client = make_client()
    for make in (client.lock, client.permit_semaphore):
        with pytest.raises(TypeError, match=r"on_lost.*coroutine"):
            make(NAME, on_lost=on_lost)


def test_a_coroutine_function_runs_on_the_loop(server: Server) -> None:
    async def main() -> list[Any]:
        seen: list[Any] = []
        done = asyncio.Event()

        async def on_lost(lock: Any) -> None:
            await turns()
            seen.append((lock.lost, request.get(), asyncio.get_running_loop()))
            done.set()

        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME, on_lost=on_lost)
            request.set("of the task")
            await lock.acquire()
            await client.lock(NAME).force_release()
            await asyncio.wait_for(done.wait(), 10)
        return [*seen, asyncio.get_running_loop()]

    (lost, context, loop), expected = asyncio.run(main())
    assert (lost, context) == (True, "of the task")
    assert loop is expected


@pytest.mark.parametrize("end", ["released by another object", "lost", "abandoned"])
def test_a_task_that_has_ended_leaves_no_watcher(server: Server, end: str) -> None:
    async def main() -> None:
        lost = asyncio.Event()
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME, on_lost=lambda _: lost.set())

            async def work() -> None:
                await lock.acquire(lease=0.4 if end == "lost" else None)
                if end == "lost":
                    await lost.wait()
                elif end == "released by another object":
                    await client.lock(NAME).release()

            async def left() -> None:
                while lock._watchers or client._listeners:
                    await turns()

            await asyncio.create_task(work())
            await asyncio.wait_for(left(), BOUND)

    asyncio.run(main())


@pytest.mark.flavours("sync")
def test_a_refused_release_says_who_holds(make_client: MakeClient, server: Server) -> None:
    lock = make_client().lock(NAME)
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        lock.acquire()
        held.set()
        free.wait(BOUND)
        lock.release()

    worker = threading.Thread(target=hold, name="worker-3")
    worker.start()
    held.wait(BOUND)
    with pytest.raises(holdfast.NotOwnedError, match="held by thread 'worker-3'"):
        lock.release()
    free.set()
    worker.join()


def test_a_refused_release_knows_tasks_that_have_ended(server: Server) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await asyncio.create_task(lock.acquire())
            await turns()
            with pytest.raises(holdfast.NotOwnedError, match="acquired by a task that has ended"):
                await lock.release()

    asyncio.run(main())


def _naming(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    """The records of a lock. What an earlier test left may be collected, and reported, only now."""
    return [text for text in caplog.messages if name in text]


@pytest.mark.flavours("sync")
def test_a_loss_is_one_record_that_names_its_thread(
    make_client: MakeClient, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(label="billing")
    lock = client.lock("of a worker")

    def lose() -> None:
        lock.acquire()
        server.inspect.delete("of a worker")
        with pytest.raises(holdfast.LockLostError):
            lock.release()  # finds it gone
        eventually(lambda: _naming(caplog, "of a worker"))

    worker = threading.Thread(target=lose, name="worker-3")
    worker.start()
    worker.join()
    [text] = _naming(caplog, "of a worker")
    assert text.startswith("the hold on 'of a worker' (thread 'worker-3') was lost: ")
    found = fields_of(caplog, "lost")
    number = found.pop("owner").removeprefix(f"{client.id}:")
    assert number.isdecimal()
    assert found == {
        "event": "lost",
        "name": "of a worker",
        "kind": "lock",
        "caller": "worker-3",
        "label": "billing",
        "cause": "gone",
        "server": client.url,
    }


def test_the_loss_of_a_task_names_the_task(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def lose() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock("of a task")
            await lock.acquire(lease=0.4)
            await asyncio.to_thread(eventually, lambda: _naming(caplog, "of a task"))
            assert "lost by this task" in repr(lock)

    async def main() -> None:
        await asyncio.create_task(lose(), name="payments")

    asyncio.run(main())
    [text] = _naming(caplog, "of a task")
    assert text.startswith("the hold on 'of a task' (task 'payments') was ")
    found = fields_of(caplog, "lost")
    assert (found["caller"], found["cause"], found["kind"]) == ("payments", "lease_over", "lock")
    assert "label" not in found


@pytest.mark.flavours("sync")
def test_the_blocking_client_warns_once_on_a_loops_thread(make_client: MakeClient) -> None:
    client = make_client()

    async def main() -> None:
        with pytest.warns(RuntimeWarning, match="event loop"):
            client.lock(NAME).acquire()
        client.lock(NAME).release()  # here a second warning would be an error

    asyncio.run(main())


@pytest.mark.servers("real")
def test_losses_are_on_stderr_without_set_up(start_child: StartChild, server: Server) -> None:
    child = start_child(
        """
        client = holdfast.Client(URL, lease=0.3)
        lock = client.lock(NAME)
        lock.acquire()
        say("held")
        hear("gone")
        until(lambda: lock.lost)
        thread = threading.Thread(target=client.lock("other").acquire)
        thread.start()
        thread.join()
        hear("over")
        """,
        URL=server.url,
        NAME=NAME,
    )
    child.expect("held")
    server.inspect.delete(NAME)
    child.send("gone")
    eventually(lambda: "the hold on 'myLock'" in child.errors)
    eventually(lambda: "the thread that held 'other'" in child.errors)
    child.send("over")


@pytest.mark.servers("real")
def test_a_waiting_daemon_thread_is_silent_at_exit(start_child: StartChild, server: Server) -> None:
    """interpreter-exit."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 30_000)
    child = start_child(
        """
        lock = holdfast.Client(URL).lock(NAME)
        threading.Thread(target=lock.acquire, daemon=True).start()
        say("started")
        hear("end")
        """,
        URL=server.url,
        NAME=NAME,
    )
    child.expect("started")
    eventually(lambda: server.subscribers("redisson_lock__channel:{myLock}") == 1)
    child.send("end")
    assert child.wait() == 0
    assert child.errors == ""


@pytest.mark.flavours("sync")
@pytest.mark.servers("real")
def test_connections_are_named(make_client: MakeClient, server: Server) -> None:
    client = make_client()
    other = make_client(client_name="mine")
    nameless = make_client(client_name="")
    for each in (client, other, nameless):
        each.ping()
    listed = [dict(entry) for entry in server.inspect.client_list()]
    names = [entry["name"] for entry in listed]
    host = f"{socket.gethostname()}:{os.getpid()}"
    assert f"holdfast:{host}:{client.id[:8]}" in names
    assert f"mine:{host}:{other.id[:8]}" in names
    assert not any(nameless.id[:8] in name for name in names)
    if "lib-name" in listed[0]:
        assert "holdfast" in [entry["lib-name"] for entry in listed]
