"""`Client(handover="direct")`: a release grants the lock to a waiter of another client."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = b"redisson_lock__channel:{myLock}"
WAITERS = b"holdfast_waiters:{myLock}"

pytestmark = pytest.mark.servers("real", "sentinel", "cluster")


@pytest.fixture
def holder(make_client: MakeClient, server: Server) -> Any:
    return make_client(server.url, handover="direct")


@pytest.fixture
def waiter(make_client: MakeClient, server: Server) -> Any:
    return make_client(server.url, handover="direct")


def line(server: Server) -> list[str]:
    """The owners in line."""
    return [one.decode() for one in server.inspect.zrange(WAITERS, 0, -1) if b":" in one]


def wait_in_line(actor: Any, lock: Any, client: Any, server: Server, **how: Any) -> Any:
    waiting = actor.begin(lock.acquire, **how)
    eventually(lambda: any(one.startswith(client.id) for one in line(server)))
    return waiting


@pytest.mark.realtime
def test_the_next_owner_sends_no_command(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.lock(NAME), waiter.lock(NAME)
    alice.do(mine.acquire)
    waiting = wait_in_line(bob, its, waiter, server)
    server.inspect.pexpire(NAME, 2000)  # as in a chain: no lease becomes shorter
    before = waiter.stats().commands
    alice.do(mine.release)
    assert waiting.result(10)
    assert waiter.stats().commands == before
    assert (waiter.stats().direct_grants, waiter.stats().unused_grants) == (1, 0)
    assert list(server.inspect.hgetall(NAME).values()) == [b"1"]
    assert line(server) == []
    bob.do(its.release)
    assert server.inspect.exists(NAME) == 0


def test_the_next_owner_soon_has_its_lease(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.lock(NAME), waiter.lock(NAME)
    alice.do(mine.acquire)
    waiting = wait_in_line(bob, its, waiter, server)
    alice.do(mine.release)
    assert waiting.result(10)
    eventually(lambda: server.inspect.pttl(NAME) > 25_000)
    assert not bob.do(lambda: its.lost)
    bob.do(its.release)


def test_a_fixed_lease_is_there_when_acquire_returns(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.lock(NAME), waiter.lock(NAME, lease=20)
    alice.do(mine.acquire)
    waiting = wait_in_line(bob, its, waiter, server)
    alice.do(mine.release)
    assert waiting.result(10)
    assert 15_000 < server.inspect.pttl(NAME) <= 20_000
    assert waiter.stats().direct_grants + waiter.stats().unused_grants == 1
    bob.do(its.release)


def test_a_grant_that_no_waiter_awaits_is_counted_as_unused(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.lock(NAME), waiter.lock(NAME)
    alice.do(mine.acquire)
    waiting = wait_in_line(bob, its, waiter, server)
    server.inspect.publish(CHANNEL + b":" + waiter.id.encode(), "1 1 2000")
    eventually(lambda: waiter.stats().unused_grants == 1)
    alice.do(mine.release)
    assert waiting.result(10)
    bob.do(its.release)


def test_a_token_is_greater_than_the_one_before(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.fenced_lock(NAME), waiter.fenced_lock(NAME)
    alice.do(mine.acquire)
    token = alice.do(lambda: mine.token)
    waiting = bob.begin(its.acquire)
    eventually(lambda: server.inspect.zcard(b"holdfast_token_waiters:{myLock}") > 0)
    alice.do(mine.release)
    assert waiting.result(10)
    assert bob.do(lambda: its.token) > token
    bob.do(its.release)


def test_a_waiter_that_gives_up_leaves_the_line(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    mine, its = holder.lock(NAME), waiter.lock(NAME)
    alice.do(mine.acquire)
    waiting = wait_in_line(bob, its, waiter, server, timeout=0.5)
    assert not waiting.result(10)
    eventually(lambda: line(server) == [])
    alice.do(mine.release)
    assert server.inspect.exists(NAME) == 0


def test_a_closed_client_is_passed_over(
    alice: Any, bob: Any, holder: Any, waiter: Any, server: Server
) -> None:
    """Its place is still there: the release finds no subscriber."""
    mine = holder.lock(NAME)
    alice.do(mine.acquire)
    dead = f"{'0' * 8}-0000-0000-0000-{'0' * 12}:{2**41}"
    server.inspect.zadd(WAITERS, {dead: 1})
    waiting = wait_in_line(bob, waiter.lock(NAME), waiter, server)
    alice.do(mine.release)
    assert waiting.result(10)
    bob.do(waiter.lock(NAME).release)


def test_waiters_for_messages_get_their_turn(
    make_actor: MakeActor, make_client: MakeClient, server: Server
) -> None:
    """Among clients that hand the lock on to each other all the time."""
    over = threading.Event()
    direct = [make_client(server.url, handover="direct").lock(NAME) for _ in range(3)]
    plain = make_client(server.url).lock(NAME)
    actors = [make_actor() for _ in direct]

    def contend(lock: Any, actor: Any) -> None:
        while not over.is_set():
            actor.do(lock.acquire)
            actor.do(lock.release)

    threads = [
        threading.Thread(target=contend, args=pair) for pair in zip(direct, actors, strict=True)
    ]
    for thread in threads:
        thread.start()
    other = make_actor()
    for _ in range(5):
        assert other.do(plain.acquire, timeout=20)
        other.do(plain.release)
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("value", ["fast", "", None])
def test_an_unknown_value_of_handover_is_refused(deaf: Any, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="handover"):
        type(deaf)(handover=value)
    with pytest.raises(ValueError, match="handover"):
        type(deaf)("redis://127.0.0.1?handover=fast")


def test_the_option_may_be_in_the_url(
    alice: Any, bob: Any, make_client: MakeClient, server: Server
) -> None:
    sign = "&" if "?" in server.url else "?"
    one = make_client(f"{server.url}{sign}handover=direct")
    other = make_client(f"{server.url}{sign}handover=direct")
    assert isinstance(one, holdfast.Client | holdfast.asyncio.Client)
    alice.do(one.lock(NAME).acquire)
    waiting = wait_in_line(bob, other.lock(NAME), other, server)
    alice.do(one.lock(NAME).release)
    assert waiting.result(10)
    bob.do(other.lock(NAME).release)
