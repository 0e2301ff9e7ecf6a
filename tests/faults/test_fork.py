"""`os.fork`: the child holds nothing and shares nothing; the parent does not notice."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.faults.conftest import CHANNEL, NAME, holds
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

HOLDING = """
client = holdfast.Client(URL, **OPTIONS)
lock = client.lock(NAME)
lock.acquire()
lock.acquire()
identity = client.id
say("ready")
hear("fork")
if os.fork() == 0:
    say("child", client.id != identity, lock.lost, lock.owned(), lock.hold_count())
    say("tries", lock.acquire(blocking=False), lock.acquire(timeout=1))
    try:
        lock.release()
    except holdfast.NotOwnedError as error:
        say("releases", type(error).__name__)
    other = client.lock("of the child")
    with other:
        client.ping()
        say("own", other.hold_count())
    client.close()
    os._exit(0)
os.wait()
say("parent", client.id == identity, lock.lost, lock.owned(), lock.hold_count())
lock.release()
lock.release()
say("done")
hear("end")
"""


@pytest.mark.parametrize("options", [{}, {"id": "5921d8b5-5d8d-4a2b-800b-a469f20f66c2"}], ids=str)
def test_fork_while_holding(
    start_child: StartChild, server: Server, options: dict[str, Any]
) -> None:
    """forked-process: the child has a new id and no holds.

    The parent's hold and connection stay.
    """
    parent = start_child(HOLDING, URL=server.url, NAME=NAME, OPTIONS=options)
    parent.expect("ready")
    before = holds(server)
    parent.send("fork")
    assert parent.expect("child") == ["True", "False", "False", "0"]
    assert parent.expect("tries") == ["False", "False"]
    assert parent.expect("releases") == ["NotOwnedError"]
    assert parent.expect("own") == ["1"]
    assert parent.expect("parent") == ["True", "False", "True", "2"]
    assert list(before.values()) == [2]
    parent.expect("done")
    assert server.keys() == set()


HOLD_OBJECT = """
import gc, warnings
warnings.simplefilter("error")
warnings.simplefilter("ignore", DeprecationWarning)  # of each fork() of threads, from 3.12 on
hold = holdfast.Client(URL).lock(NAME).hold()
if os.fork() == 0:
    say("child", hold.left, hold.lost, hold.loss)
    try:
        hold.release()
    except holdfast.NotOwnedError as error:
        say("releases", type(error).__name__)
    del hold
    gc.collect()
    say("forgot")
    os._exit(0)
os.wait()
say("parent", hold.left is not None, hold.lost)
hold.release()
say("done")
"""


def test_a_hold_object_is_not_held_in_the_child(start_child: StartChild, server: Server) -> None:
    """forked-process: it warns of nothing there, and the parent's stays."""
    parent = start_child(HOLD_OBJECT, URL=server.url, NAME=NAME)
    assert parent.expect("child") == ["None", "False", "None"]
    assert parent.expect("releases") == ["NotOwnedError"]
    parent.expect("forgot")
    assert parent.expect("parent") == ["True", "False"]
    parent.expect("done")
    assert parent.wait() == 0
    assert parent.errors == ""
    assert server.keys() == set()


@pytest.mark.servers("real")
def test_the_child_never_uses_the_parents_sockets(start_child: StartChild, server: Server) -> None:
    """forked-process.

    What the child does and closes leaves the parent's connections as they were.
    """
    parent = start_child(HOLDING, URL=server.url, NAME=NAME, OPTIONS={})
    parent.expect("ready")
    before = {client["id"] for client in server.connections()}
    parent.send("fork")
    parent.expect("child")
    for word in ("tries", "releases", "own", "parent", "done"):
        parent.expect(word)
    assert before <= {client["id"] for client in server.connections()}


@pytest.mark.realtime
def test_only_the_parent_renews(start_child: StartChild, server: Server) -> None:
    """forked-process: with a living child, the hold ends with the parent.

    The child never renews it.
    """
    parent = start_child(
        """
        client = holdfast.Client(URL, lease=0.6)
        lock = client.lock(NAME)
        lock.acquire()
        if os.fork() == 0:
            client.ping()
            say("child", os.getpid())
            signal.pause()
        signal.pause()
        """,
        URL=server.url,
        NAME=NAME,
    )
    child_pid = int(parent.expect("child")[0])
    parent.kill()
    try:
        eventually(lambda: holds(server) == {})
    finally:
        os.kill(child_pid, signal.SIGKILL)


def test_fork_while_a_thread_waits(start_child: StartChild, server: Server) -> None:
    """forked-process: the child is no waiter; the parent's waiter gets the lock when it is free."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    parent = start_child(
        """
        client = holdfast.Client(URL)
        lock = client.lock(NAME)

        def wait():
            say("got", lock.acquire(), lock.hold_count())
            lock.release()

        waiter = threading.Thread(target=wait)
        waiter.start()
        hear("fork")
        if os.fork() == 0:
            say("child", lock.acquire(blocking=False), lock.acquire(timeout=1))
            os._exit(0)
        os.wait()
        say("forked")
        waiter.join()
        """,
        URL=server.url,
        NAME=NAME,
    )
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    parent.send("fork")
    assert parent.expect("child") == ["False", "False"]
    parent.expect("forked")
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, "0")
    assert parent.expect("got") == ["True", "1"]
    assert parent.wait() == 0


def test_forked_workers_exclude_each_other(start_child: StartChild, server: Server) -> None:
    """forked-process: prefork.

    One client made before, used by all the children and by the parent.
    """
    parent = start_child(
        """
        import redis
        lock = holdfast.Client(URL).lock(NAME)

        def count():
            store = redis.Redis(port=PORT)
            for _ in range(20):
                with lock:
                    value = int(store.get("counter") or 0)
                    store.set("counter", value + 1)

        with lock:
            pass
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                count()
                os._exit(0)
            children.append(child)
        count()
        say("codes", *(os.waitpid(child, 0)[1] for child in children))
        """,
        URL=server.url,
        PORT=server.port,
        NAME=NAME,
    )
    assert parent.expect("codes", within=3 * BOUND) == ["0", "0", "0"]
    assert server.inspect.get("counter") == b"80"


def test_fork_of_a_fork(start_child: StartChild, server: Server) -> None:
    """forked-process: each generation has a new id and separate holds."""
    parent = start_child(
        """
        client = holdfast.Client(URL)
        lock = client.lock(NAME)
        ids = [client.id]
        for generation in range(3):
            client.lock(f"{NAME} {generation}").acquire()
            if os.fork():
                _, code = os.wait()
                os._exit(code)
            ids.append(client.id)
        say("ids", len(set(ids)))
        say("held", lock.acquire(blocking=False), lock.hold_count())
        lock.release()
        os._exit(0)
        """,
        URL=server.url,
        NAME=NAME,
    )
    assert parent.expect("ids") == ["4"]
    assert parent.expect("held") == ["True", "1"]


def test_asyncio_after_a_fork(start_child: StartChild, server: Server) -> None:
    """forked-process: the same for an asyncio client.

    A new loop in the child works, and holds nothing.
    """
    parent = start_child(
        """
        client = holdfast.asyncio.Client(URL)
        lock = client.lock(NAME)

        async def hold():
            await lock.acquire(lease=3600)
            say("parent", await lock.hold_count())

        async def look():
            say("child", await lock.owned(), await lock.acquire(timeout=1))
            async with client.lock("of the child") as own:
                say("own", await own.hold_count())

        asyncio.run(hold())
        if os.fork() == 0:
            asyncio.run(look())
            os._exit(0)
        say("code", os.wait()[1])
        """,
        URL=server.url,
        NAME=NAME,
    )
    assert parent.expect("parent") == ["1"]
    assert parent.expect("child") == ["False", "False"]
    assert parent.expect("own") == ["1"]
    assert parent.expect("code") == ["0"]


TASKS_THAT_WAIT = """
import warnings
warnings.simplefilter("ignore")
logging.disable()
rival = holdfast.Client(URL)
client = holdfast.asyncio.Client(URL)
loop = asyncio.new_event_loop()
names = [f"{NAME}{number}" for number in range(50)]
ended = threading.Event()

def contend(own):
    while not ended.is_set():
        for name in own:
            with rival.lock(name):
                pass

async def wait(name):
    lock = client.lock(name)
    while not ended.is_set():
        async with lock:
            pass

threads = [threading.Thread(target=contend, args=(names[i::4],)) for i in range(4)]
for thread in threads:
    thread.start()
tasks = [loop.create_task(wait(name)) for name in names]
for _ in range(FORKS):
    loop.run_until_complete(asyncio.sleep(0.002))
    child = os.fork()
    if child == 0:
        for task in tasks:
            task.cancel()
        sys.exit(7)
    say("code", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ended.set()
loop.run_until_complete(asyncio.gather(*tasks))
for thread in threads:
    thread.join()
say("done")
os._exit(0)
"""


def test_a_child_that_ends_as_a_program_does_leaves_its_parents_tasks_waiting(
    start_child: StartChild, server: Server
) -> None:
    """forked-process: the tasks that it destroys at its end are copies of its parent's."""
    parent = start_child(
        TASKS_THAT_WAIT,
        URL=server.url,
        NAME=NAME,
        FORKS=10,
    )
    for _ in range(10):
        assert parent.expect("code") == ["7"]
    parent.expect("done")


ENTERED = {
    "lock": "client.lock(NAME, wait=0)",
    "fenced_lock": "client.fenced_lock(NAME, wait=0)",
    "hold": "client.lock(NAME).hold(wait=0)",
    "multi_lock": "client.multi_lock(client.lock(NAME), client.lock('b'), wait=0)",
    "semaphore": "client.semaphore(NAME, permits=1, wait=0)",
    "permit_semaphore": "client.permit_semaphore(NAME, permits=1, wait=0)",
    "slots": "client.slots(NAME, 1, wait=0)",
}


@pytest.mark.parametrize("made", ENTERED.values(), ids=ENTERED)
def test_a_block_that_the_child_leaves_releases_nothing_of_its_parent(
    start_child: StartChild, server: Server, made: str
) -> None:
    """forked-process: as where `sys.exit()` in the child unwinds the parent's blocks."""
    parent = start_child(
        f"""
        client, other = holdfast.Client(URL), holdfast.Client(URL)
        block = {made}
        with block:
            child = os.fork()
            if child == 0:
                try:
                    block.__exit__(None, None, None)
                except (holdfast.NotOwnedError, holdfast.LockLostError):
                    os._exit(17)
                os._exit(0)
            say("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            client = other
            try:
                with {made}:
                    say("free", True)
            except holdfast.LockTimeout:
                say("free", False)
        """,
        URL=server.url,
        NAME=NAME,
    )
    assert parent.expect("child") == ["17"]
    assert parent.expect("free") == ["False"]
    assert parent.wait() == 0, parent.errors


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_a_tasks_block_that_the_child_leaves_releases_nothing_of_its_parent(
    start_child: StartChild, server: Server, kind: str
) -> None:
    parent = start_child(
        """
        import asyncio

        async def main():
            async with holdfast.asyncio.Client(URL) as client:
                permits = getattr(client, KIND)(NAME, permits=1)
                async with permits:
                    child = os.fork()
                    if child == 0:
                        try:
                            permits.__aexit__(None, None, None).send(None)
                        except holdfast.NotOwnedError:
                            os._exit(17)
                        os._exit(0)
                    say("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                    say("free", await permits.available_permits())

        asyncio.run(main())
        """,
        URL=server.url,
        NAME=NAME,
        KIND=kind,
    )
    assert parent.expect("child") == ["17"]
    assert parent.expect("free") == ["0"]
    assert parent.wait() == 0, parent.errors
