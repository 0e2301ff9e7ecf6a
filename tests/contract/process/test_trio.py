"""The client for trio: its owners are tasks of a run, and each call is a checkpoint."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

import holdfast
import holdfast.asyncio
import holdfast.trio
from holdfast import _core
from tests.contract.process.conftest import NAME, SHORT, Notices, holds
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass

pytestmark = pytest.mark.flavours("asyncio")


def run(server: Server, main: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
    """Run `main(client)` in a run of trio, within the bound."""

    async def within() -> Any:
        with trio.fail_after(BOUND):
            async with holdfast.trio.Client(server.url, **options) as client:
                return await main(client)

    return trio.run(within)


async def until(condition: Callable[[], object]) -> None:
    """The same as `eventually`, while the run goes on."""
    await trio.to_thread.run_sync(eventually, condition)


def nothing_left(server: Server) -> bool:
    """Raises ``AssertionError``, which names what is there."""
    assert (server.keys(), server.subscribed_channels()) == (set(), set())
    return True


# ---- Which client is for which loop


async def _inside(lock: Any) -> None:
    async with lock:
        pass


USES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "acquire": lambda client: client.lock(NAME).acquire(),
    "async with": lambda client: _inside(client.lock(NAME)),
    "hold": lambda client: client.lock("other").hold(),
    "permit": lambda client: client.permit_semaphore("permits").acquire(),
    "question": lambda client: client.lock(NAME).locked(),
    "ping": lambda client: client.ping(),
}


@pytest.mark.parametrize("use", USES)
def test_a_task_of_trio_gets_an_error_that_says_what_to_use(server: Server, use: str) -> None:
    client = holdfast.asyncio.Client(server.url)

    async def main() -> None:
        await USES[use](client)

    with pytest.raises(RuntimeError) as info:
        trio.run(main)
    for words in ("this is a task of trio", "holdfast.trio.Client", "holdfast.anyio.Client"):
        assert words in str(info.value)
    assert server.keys() == set()


def test_outside_of_any_loop_the_error_is_pythons(server: Server) -> None:
    """Also after trio has run."""
    trio.run(trio.lowlevel.checkpoint)
    client = holdfast.asyncio.Client(server.url)
    with pytest.raises(RuntimeError, match="no running event loop"):
        client.lock(NAME).acquire().send(None)


def test_outside_of_trio_the_error_says_what_to_use(server: Server) -> None:
    lock = holdfast.trio.Client(server.url).lock(NAME)
    with pytest.raises(RuntimeError, match=r"holdfast\.asyncio\.Client"):
        lock.acquire().send(None)
    assert not lock.lost
    assert "not held" in repr(lock)


# ---- Checkpoints


async def _of_hold(client: Any, use: Callable[[Any], Awaitable[Any]]) -> Any:
    return await use(await client.lock("held").hold())


CALLS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    **USES,
    "nested acquire": lambda client: client.lock("mine").acquire(),
    "release": lambda client: client.lock("mine").release(),
    "hold count": lambda client: client.lock("mine").hold_count(),
    "detached": lambda client: _of_hold(client, lambda hold: hold.detach()),
    "campaign": lambda client: client.leader("led").campaign(),
    "barrier": lambda client: client.barrier("alone", 1).wait(),
    "latch": lambda client: client.count_down_latch("open").wait(),
    "once": lambda client: client.once("report").run(lambda: 1),
    "slots": lambda client: client.slots("slots", 2).acquire(),
    "semaphore": lambda client: client.semaphore("plain", permits=9).acquire(),
    "release of a permit": lambda client: client.semaphore("plain", permits=9).release(),
    "enter client": lambda client: type(client)(client.url).__aenter__(),
}


def test_every_call_is_a_checkpoint(server: Server, notices: Notices) -> None:
    """Also one that is answered at once, and one that sends nothing."""

    async def main(client: Any) -> None:
        await client.permit_semaphore("permits").try_set_permits(9)
        await client.lock("mine").acquire()
        leader = client.leader("leads")
        await leader.campaign()
        for title, call in [*CALLS.items(), ("leads", lambda _: leader.campaign())]:
            try:
                with trio.testing.assert_checkpoints():
                    await call(client)
            except AssertionError as error:
                raise AssertionError(title) from error

    run(server, main)
    assert notices.texts  # of what it has left


# ---- Cancellation


@pytest.mark.servers("real")  # fakeredis remembers dead subscribers
@pytest.mark.parametrize("shielded", [False, True], ids=["", "in a shielded scope"])
def test_a_wait_that_is_cancelled_leaves_nothing_behind(server: Server, shielded: bool) -> None:
    """By a deadline and by a cancellation from elsewhere, again and again."""

    async def main(client: Any) -> None:
        others = holdfast.Client(server.url)
        hold = others.lock(NAME).hold()
        lock = client.fair_lock(NAME)
        for number in range(40):
            with trio.CancelScope(shield=shielded, deadline=trio.current_time() + 0.001 * number):
                await lock.acquire()
                pytest.fail("it is held")
        hold.release()
        await until(partial(nothing_left, server))
        async with lock:
            assert await lock.hold_count() == 1
        others.close()

    run(server, main)
    assert not server.keys()


def test_what_a_cancelled_acquire_was_granted_is_given_back(server: Server) -> None:
    async def main(client: Any) -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.lock(NAME).acquire()
        assert scope.cancelled_caught
        await until(lambda: not server.keys())

    run(server, main)


@pytest.mark.parametrize("kind", ["lock", "hold", "semaphore", "permit_semaphore", "slots"])
def test_a_release_that_a_cancelled_scope_meets_goes_on(server: Server, kind: str) -> None:
    """And the error of the block comes out itself."""

    async def fail_in(block: Any) -> None:
        with trio.CancelScope() as scope:
            async with block:
                scope.cancel()
                raise ValueError("of the block")

    async def main(client: Any) -> None:
        locks = {
            "lock": lambda: client.lock(NAME),
            "semaphore": lambda: client.semaphore(NAME, permits=1),
            "permit_semaphore": lambda: client.permit_semaphore(NAME, permits=1),
            "slots": lambda: client.slots(NAME, 1),
        }
        block = await client.lock(NAME).hold() if kind == "hold" else locks[kind]()
        with pytest.raises(ValueError, match="of the block"):
            await fail_in(block)
        async with locks["lock" if kind == "hold" else kind]():
            pass

    run(server, main)


@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")  # of trio
def test_a_shielded_call_goes_on_after_the_main_task(server: Server) -> None:
    """In a system task, and in an async generator, which is closed behind all of them."""
    ended: list[str] = []
    held: list[Any] = []

    async def release(hold: Any, title: str) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + BOUND / 2):
            await hold.release()
            ended.append(title)

    async def generator(lock: Any) -> AsyncIterator[None]:
        hold = await lock.hold()
        try:
            yield
        finally:
            await release(hold, "generator")

    async def system(lock: Any) -> None:
        held.append(await lock.hold())
        try:
            await trio.sleep_forever()
        finally:
            await release(held[0], "system task")

    async def main() -> None:
        client = holdfast.trio.Client(server.url)
        lock, other = client.lock("first"), client.lock("second")
        trio.lowlevel.spawn_system_task(system, lock)
        kept.append(generator(other))
        await kept[0].__anext__()
        await until(lambda: len(held) == 1)
        assert len(server.keys()) == 2

    kept: list[Any] = []
    trio.run(main)
    assert sorted(ended) == ["generator", "system task"]
    assert not server.keys()


def test_ctrl_c_ends_a_wait_and_leaves_nothing_behind(server: Server) -> None:
    others = holdfast.Client(server.url)
    hold = others.lock(NAME).hold()
    me = threading.get_ident()

    async def main(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(strike)
            await client.lock(NAME).acquire()

    async def strike() -> None:
        await until(server.subscribed_channels)
        signal.pthread_kill(me, signal.SIGINT)

    with pytest.raises(BaseException) as info:  # noqa: PT011 - a group, or itself
        run(server, main)
    caught = getattr(info.value, "exceptions", [info.value])
    assert [type(each) for each in caught] == [KeyboardInterrupt]
    hold.release()
    eventually(lambda: not server.keys())
    others.close()


# ---- Losses


def lose(server: Server) -> None:
    server.inspect.delete(NAME)


def test_a_loss_cancels_the_block_and_comes_out_as_its_error(server: Server) -> None:
    async def lose_inside(lock: Any) -> None:
        async with lock, trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            lose(server)
            await trio.sleep_forever()

    async def main(client: Any) -> None:
        lock = client.lock(NAME, cancel_on_lost=True)
        with pytest.raises(holdfast.LockLostError):
            await lose_inside(lock)
        await trio.lowlevel.checkpoint()  # the task goes on
        async with lock, lock:
            pass

    run(server, main, lease=SHORT)


def test_an_error_beside_the_cancellation_by_a_loss_comes_out(server: Server) -> None:
    async def fail() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("of a child")

    async def main(client: Any) -> None:
        async with client.lock(NAME, cancel_on_lost=True), trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)
            lose(server)

    with pytest.raises(BaseException) as info:  # noqa: PT011 - a group, which 3.10 has not
        run(server, main, lease=SHORT)
    assert [type(each) for each in info.value.exceptions] == [ValueError]  # type: ignore[attr-defined]
    assert "was lost" in str(info.value.__notes__)


def test_a_cancellation_from_elsewhere_wins_over_the_one_by_a_loss(server: Server) -> None:
    async def main(client: Any) -> None:
        with trio.CancelScope() as scope:
            async with client.lock(NAME, cancel_on_lost=True, on_lost=lambda _: scope.cancel()):
                lose(server)
                await trio.sleep_forever()
        assert scope.cancelled_caught

    run(server, main, lease=SHORT)


def test_on_lost_is_called_in_the_run_that_acquired(server: Server) -> None:
    async def main(client: Any) -> None:
        done, seen = trio.Event(), list[Any]()

        async def told(lock: Any) -> None:
            await trio.lowlevel.checkpoint()
            seen.extend([threading.get_ident(), lock.lost])
            done.set()

        async with trio.open_nursery() as nursery:
            for on_lost in (told, lambda lock: nursery.start_soon(told, lock)):
                lock = client.lock(NAME, on_lost=on_lost)
                await lock.acquire()
                lose(server)
                await done.wait()
                done = trio.Event()
                with contextlib.suppress(holdfast.LockLostError):
                    await lock.release()
        assert seen == [threading.get_ident(), True] * 2

    run(server, main, lease=SHORT)


def test_what_on_lost_raises_is_logged_and_the_run_goes_on(
    server: Server, notices: Notices
) -> None:
    async def late(_: Any) -> None:
        raise SystemExit("late")

    def early(_: Any) -> None:
        raise SystemExit("early")

    told = [early, late]

    def is_logged(times: int) -> bool:
        return len(notices.naming("on_lost of")) == times

    async def main(client: Any) -> None:
        for on_lost in told:
            hold = await client.lock(NAME, on_lost=on_lost).hold()
            lose(server)
            await until(partial(is_logged, told.index(on_lost) + 1))
            assert hold.lost

    run(server, main, lease=SHORT)


# ---- Owners


def test_the_holds_of_a_task_that_is_done_are_abandoned(server: Server, notices: Notices) -> None:
    async def main(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.lock(NAME).acquire, name="forgetful")
        assert not await client.lock(NAME).owned()
        await until(lambda: notices.naming("ended"))
        assert "forgetful" not in NAME
        with pytest.raises(holdfast.NotOwnedError, match="acquired by a task that has ended"):
            await client.lock(NAME).release()

    run(server, main)
    assert holds(server)


async def _generator(lock: Any) -> AsyncIterator[None]:
    async with lock:
        yield


@pytest.mark.parametrize("where", ["in another task", "inside of a later scope"])
def test_a_block_that_ends_elsewhere_than_it_began_is_a_clear_error(
    server: Server, where: str
) -> None:
    async def main(client: Any) -> None:
        entered = _generator(client.lock(NAME, cancel_on_lost=True))
        await entered.__anext__()
        if where == "in another task":
            with pytest.raises(holdfast.NotOwnedError, match="ends in the task that has entered"):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(entered.aclose)
        else:
            with trio.CancelScope():
                await entered.aclose()

    with pytest.raises(RuntimeError) as info:
        run(server, main)
    if where != "in another task":
        assert "an async generator must not yield inside" in str(info.value)


# ---- Runs


def list_of_files() -> list[Path]:
    return [*Path("/proc/self/fd").iterdir()]


def test_a_client_serves_runs_one_after_another_and_side_by_side(server: Server) -> None:
    client = holdfast.trio.Client(server.url)
    counted: list[int] = []

    async def main() -> None:
        lock = client.lock(NAME)
        for _ in range(20):
            async with lock:
                number = len(counted)
                await trio.lowlevel.checkpoint()
                counted.append(number)

    for _ in range(2):
        threads = [threading.Thread(target=trio.run, args=(main,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
    assert counted == [*range(120)]
    trio.run(client.close)


def test_a_frozen_clock_stops_no_lease(server: Server) -> None:
    async def main() -> None:
        async with holdfast.trio.Client(server.url, lease=SHORT) as client, client.lock(NAME):
            await trio.to_thread.run_sync(let_pass, 3 * SHORT)
            assert holds(server)

    trio.run(main, clock=trio.testing.MockClock())


def test_waits_have_one_descriptor_and_one_task_of_the_run(server: Server) -> None:
    """No thread for each of them; and nothing of the run once the last client is closed."""

    def tasks() -> list[str]:
        found, new = [], [trio.lowlevel.current_root_task()]
        while new:
            task = new.pop()
            found.append(task.name)
            new += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        return found

    async def main() -> None:
        async with (
            holdfast.trio.Client(server.url) as client,
            client.lock(NAME),
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(client.lock(NAME).acquire)
            await until(server.subscribed_channels)
            before = len(list_of_files())
            for _ in range(30):
                nursery.start_soon(client.lock(NAME).acquire)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert len(list_of_files()) < before + 30
            assert threading.active_count() < 30
            assert tasks().count("holdfast") == 1
            nursery.cancel_scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert _core.events_running() or "holdfast" not in tasks()

    trio.run(main)
