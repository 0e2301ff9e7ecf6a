"""Releases whose callers have left: each is finished, and none frees what its owner holds since."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.faults.conftest import IMPATIENT, NAME
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays, taking

pytestmark = pytest.mark.realtime

LONG = 3600.0
"""A lease that no test lives to see the end of."""
BACK_OFF = 0.03
"""Within the first rest of a release that the server refuses for the moment."""


@contextmanager
def refusing(server: Server) -> Iterator[None]:
    """Inside, the server answers NOREPLICAS to every write."""
    server.inspect.config_set("min-replicas-to-write", 1)
    try:
        yield
    finally:
        server.inspect.config_set("min-replicas-to-write", 0)


@pytest.fixture
def way(private_server: Server) -> Iterator[FaultProxy]:
    """A way to the private server, 20 ms there and back."""
    with FaultProxy(private_server.port) as proxy:
        proxy.delay(0.01)
        yield proxy


def refusals(server: Server) -> dict[str, Any]:
    """The server's counts of errors, without those after which a script is sent at once."""
    counts: dict[str, Any] = server.inspect.info("errorstats")
    return {error: count for error, count in counts.items() if error != "errorstat_NOSCRIPT"}


async def leave(call: Coroutine[Any, Any, object]) -> None:
    """Await `call` in this task, which owns the hold, and be cancelled within its first rest."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_later(BACK_OFF, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await call
        pytest.fail("the release was not refused")
    if sys.version_info >= (3, 11):
        task.uncancel()


INTERRUPTED = """
client = holdfast.Client(URL)
locks = [client.lock(f"lock{number}", lease=3600) for number in range(6)]
semaphore, latch = client.semaphore("permits"), client.count_down_latch("latch")
permits = client.permit_semaphore("ids", lease=3600)
semaphore.try_set_permits(1), latch.try_set_count(1), permits.try_set_permits(1)
[lock.acquire() for lock in locks], semaphore.acquire()
permit = permits.acquire()
say("ready")
hear("go")
by_id = lambda: permits.release(permit)
others = (semaphore.release, latch.count_down, by_id)
for release in (*(lock.release for lock in locks), *others):
    try:
        say("releases")
        release()
    except KeyboardInterrupt:
        say("interrupted")
hear("end")
"""


def test_ctrl_c_during_the_back_off_of_a_release_loses_nothing(
    start_child: StartChild, private_server: Server
) -> None:
    """interrupted-release: locks, a permit with an id, a permit and a count.

    Each is given back when the state ends.

    Some of the interrupts find a release on its way: at rest are those of about half of the locks.
    """
    child = start_child(INTERRUPTED, URL=private_server.url)
    child.expect("ready")
    with refusing(private_server):
        child.send("go")
        for _ in range(9):
            child.expect("releases")
            refused = refusals(private_server)
            eventually(lambda seen=refused: refusals(private_server) != seen)
            child.signal(signal.SIGINT)
            child.expect("interrupted")
    eventually(lambda: not private_server.inspect.keys("lock*"))
    eventually(lambda: private_server.inspect.get("permits") == b"1")
    eventually(lambda: private_server.inspect.get("latch") in (None, b"0"))
    eventually(lambda: private_server.inspect.get("ids") == b"1")
    child.send("end")


def test_a_release_that_was_left_never_frees_the_next_hold(
    private_server: Server, way: FaultProxy
) -> None:
    """pending-release.

    The caller leaves a refused release, a second one succeeds, and the owner acquires.
    """

    async def one_round(lock: holdfast.asyncio.Lock) -> None:
        await lock.acquire(lease=LONG)
        with refusing(private_server):
            await leave(lock.release())
        await lock.release()
        await lock.acquire(lease=LONG)
        # A first release that was forgotten would be sent meanwhile, and free the new hold.
        await asyncio.to_thread(stays, lambda: private_server.inspect.exists(NAME), 0.12)
        await lock.release()

    async def main() -> None:
        async with holdfast.asyncio.Client(way.url) as client:
            for _ in range(12):
                await one_round(client.lock(NAME))

    asyncio.run(main())


def test_a_release_goes_on_when_the_attempt_that_took_it_over_is_refused(
    private_server: Server,
) -> None:
    """pending-release: the owner tries to acquire again and is refused.

    Its former hold is still given back.
    """

    async def main() -> None:
        async with holdfast.asyncio.Client(private_server.url) as client:
            lock = client.lock(NAME)
            await lock.acquire(lease=LONG)
            with refusing(private_server):
                await leave(lock.release())
                with pytest.raises(holdfast.ServerError, match="NOREPLICAS"):
                    await lock.acquire(blocking=False)
            await asyncio.to_thread(eventually, lambda: not private_server.keys())

    asyncio.run(main())


def test_close_finishes_what_cancelled_tasks_have_left(
    private_server: Server, way: FaultProxy
) -> None:
    """pending-at-close: thirty tasks are cancelled as by Ctrl-C; the client is closed at once.

    No key stays.
    """

    async def worker(client: Any, number: int) -> None:
        while True:
            async with client.lock(f"lock{number % 7}", lease=LONG):
                await taking(0.001 * (number % 5))

    async def main(after: float) -> None:
        async with holdfast.asyncio.Client(way.url) as client:
            workers = asyncio.gather(*(worker(client, number) for number in range(30)))
            await taking(after)
            workers.cancel()
            await asyncio.gather(workers, return_exceptions=True)

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for number in range(6):
            asyncio.run(main(0.05 + 0.013 * number))
            assert private_server.keys() == set()


def test_close_releases_what_is_held_if_asked_to(
    flavour: Flavour, alice: Any, bob: Any, private_server: Server
) -> None:
    """pending-at-close: all kinds of holds, and no warning; the owner's own release is content."""
    client = flavour.client(private_server.url)
    locks = [client.lock("one"), client.fair_lock("two"), client.read_write_lock("three").read]
    for lock in locks:
        alice.do(lock.acquire)
    alice.do(locks[0].acquire)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        bob.do(client.close, release_held=True)
    assert private_server.keys() == set()


def test_close_gives_up_in_time_and_names_what_may_be_held(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    """pending-at-close: the server is silent.

    After `command_timeout`, one warning names each unreleased lock.
    """
    client = make_client(private_server.url, command_timeout=IMPATIENT)
    alice.do(client.lock("held").acquire)
    private_server.pause()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bob.do(client.close, release_held=True)
    finally:
        private_server.resume()
    (told,) = [each for each in caught if each.category is ResourceWarning]
    assert "'held'" in str(told.message)


def test_a_grant_that_arrives_during_close_is_given_back(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server, way: FaultProxy
) -> None:
    """grant-at-close: the caller gets ConnectionError, and the lock is free."""
    client = make_client(way.url)
    alice.do(client.ping)
    private_server.pause()
    try:
        before = way.requests
        asked = alice.begin(client.lock(NAME, lease=LONG).acquire)
        eventually(lambda: way.requests > before)
        closed = bob.begin(client.close)
        eventually(lambda: "closed" in repr(client))
    finally:
        private_server.resume()
    assert isinstance(asked.exception(BOUND), holdfast.ConnectionError)
    closed.result(BOUND)
    assert private_server.keys() == set()


def test_a_forgotten_client_finishes_what_is_pending(private_server: Server) -> None:
    """pending-at-close: the finalizer does not wait; the engine's thread sees to it."""

    async def main() -> None:
        client = holdfast.asyncio.Client(private_server.url)
        lock = client.lock(NAME)
        await lock.acquire(lease=LONG)
        with refusing(private_server):
            await leave(lock.release())
            del client, lock
            gc.collect()

    asyncio.run(main())
    eventually(lambda: private_server.keys() == set())


def test_the_interpreters_end_finishes_what_is_pending(
    start_child: StartChild, private_server: Server, way: FaultProxy
) -> None:
    """pending-at-close.

    A task is cancelled with its acquire under way, and the program ends without a close.
    """
    child = start_child(
        """
        async def main():
            global client
            client = holdfast.asyncio.Client(URL)
            await client.ping()
            task = asyncio.create_task(client.lock("myLock", lease=3600).acquire())
            await asyncio.wait([task], timeout=0.005)
            task.cancel()

        asyncio.run(main())
        """,
        URL=way.url,
    )
    assert child.wait() == 0
    assert private_server.keys() == set()


def test_a_forked_child_has_nothing_pending(
    start_child: StartChild, private_server: Server
) -> None:
    """pending-at-close: it neither finishes nor names what its parent has left."""
    child = start_child(
        """
        import warnings
        warnings.simplefilter("error", ResourceWarning)
        client = holdfast.Client(URL)
        lock = client.lock("myLock", lease=3600)
        lock.acquire()
        say("ready")
        hear("go")
        try:
            say("releases")
            lock.release()
        except KeyboardInterrupt:
            say("interrupted")
        child = os.fork()
        if child == 0:
            client.close()
            os._exit(0)
        say("status", os.waitpid(child, 0)[1])
        hear("end")
        """,
        URL=private_server.url,
    )
    child.expect("ready")
    with refusing(private_server):
        child.send("go")
        child.expect("releases")
        refused = private_server.inspect.info("errorstats")
        eventually(lambda: private_server.inspect.info("errorstats") != refused)
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        assert child.expect("status") == ["0"]
        assert private_server.inspect.exists("myLock")
    eventually(lambda: not private_server.inspect.exists("myLock"))
    child.send("end")
    assert child.wait() == 0
