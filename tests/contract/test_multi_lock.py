"""The multi lock: all of its members or none, whichever other owners take one of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import KINDS
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

CHANNEL = next(kind.channel for kind in KINDS if kind.name == "lock")
A, B, C = "a", "b", "c"


@pytest.fixture
def multi(client: Any) -> Any:
    return client.multi_lock(client.lock(A), client.lock(B), client.lock(C))


@pytest.fixture
def taken(request: pytest.FixtureRequest, bob: Any, client: Any) -> str:
    """The member that bob holds."""
    name: str = request.param
    bob.do(client.lock(name).acquire)
    return name


@pytest.fixture(params=["found", "known"])
def lose(
    request: pytest.FixtureRequest, bob: Any, client: Any, server: Server
) -> Callable[[], object]:
    """Take the first member from its owner: so that its client gets to know, or unseen."""
    if request.param == "known":
        return lambda: bob.do(client.lock(A).force_release)
    return lambda: server.inspect.delete(A)


def subscribers(server: Server) -> int:
    return sum(server.subscribers(CHANNEL(name)) for name in (A, B, C))


@pytest.mark.parametrize("taken", [A, B, C], indirect=True)
def test_all_or_none(alice: Any, bob: Any, multi: Any, server: Server, taken: str) -> None:
    assert alice.do(multi.acquire, blocking=False) is False
    eventually(lambda: server.keys() == {taken.encode()})
    bob.do(multi._client.lock(taken).release)
    assert alice.do(multi.acquire, blocking=False) is True
    assert server.keys() == {b"a", b"b", b"c"}


@pytest.mark.parametrize("taken", [A, B, C], indirect=True)
def test_who_waits_holds_nothing(
    alice: Any, bob: Any, multi: Any, server: Server, taken: str
) -> None:
    waiting = alice.begin(multi.acquire)
    eventually(lambda: subscribers(server) == 1)
    eventually(lambda: server.keys() == {taken.encode()})
    bob.do(multi._client.lock(taken).release)
    assert waiting.result(BOUND) is True
    assert server.keys() == {b"a", b"b", b"c"}


def test_each_member_excludes_others(alice: Any, bob: Any, client: Any, multi: Any) -> None:
    alice.do(multi.acquire)
    for name in (A, B, C):
        assert not bob.do(client.lock(name).acquire, blocking=False)


def test_members_of_several_clients(
    alice: Any, bob: Any, server: Server, make_client: MakeClient
) -> None:
    one, other = make_client(server.url), make_client(server.url)
    multi = one.multi_lock(one.lock(A), other.lock(B))
    alice.do(multi.acquire)
    assert server.inspect.hkeys(A)[0].startswith(one.id.encode())
    assert server.inspect.hkeys(B)[0].startswith(other.id.encode())
    assert not bob.do(one.lock(B).acquire, blocking=False)
    alice.do(multi.release)
    assert server.keys() == set()


def test_opposite_orders_do_not_wait_for_each_other(
    server: Server, make_client: MakeClient, make_actor: MakeActor
) -> None:
    inside: list[int] = []
    done: list[int] = []

    def sections(number: int, lock: Any) -> Generator[Any, Any, None]:
        for _ in range(15):
            assert (yield lock.acquire(timeout=BOUND))
            inside.append(number)
            assert inside == [number]
            inside.clear()
            yield lock.release()
            done.append(number)

    running = []
    for number, names in enumerate([(A, B, C), (C, B, A), (B, C, A), (C, A, B)]):
        client = make_client(server.url)
        lock = client.multi_lock(*(client.lock(name) for name in names))
        running.append(make_actor().begin(sections, number, lock))
    for each in running:
        each.result(3 * BOUND)
    assert len(done) == 60
    eventually(lambda: server.keys() == set())


@pytest.mark.parametrize("gone", [A, B, C])
def test_a_release_goes_on_past_a_lost_member(
    alice: Any, multi: Any, server: Server, gone: str
) -> None:
    alice.do(multi.acquire)
    server.inspect.delete(gone)
    with pytest.raises(holdfast.LockLostError, match="lost"):
        alice.do(multi.release)
    assert server.keys() == set()
    assert alice.do(lambda: multi.lost) is True
    with pytest.raises(holdfast.NotOwnedError) as refused:
        alice.do(multi.release)
    assert not isinstance(refused.value, holdfast.LockLostError)


@pytest.mark.parametrize("raised_by", ["acquire", "release"])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside"])
def test_when_a_loss_is_raised_all_nested_holds_of_the_other_members_end(
    alice: Any,
    multi: Any,
    server: Server,
    lose: Callable[[], object],
    *,
    raised_by: str,
    beside: bool,
) -> None:
    """But not what the owner holds of a member without the multi lock."""
    third = multi._client.lock(C)
    if beside:
        alice.do(third.acquire)
    alice.do(multi.acquire)
    alice.do(multi.acquire)
    lose()
    with pytest.raises(holdfast.LockLostError):
        alice.do(getattr(multi, raised_by))
    kept = {b"c"} if beside else set()
    eventually(lambda: server.keys() == kept)
    assert alice.do(multi.acquire, blocking=False) is True
    alice.do(multi.release)
    assert server.keys() == kept
    assert alice.do(third.hold_count) == len(kept)


def test_after_a_member_was_released_by_force_its_owner_begins_anew(
    alice: Any, client: Any, multi: Any, server: Server
) -> None:
    alice.do(multi.acquire)
    assert alice.do(client.lock(A).force_release)
    assert alice.do(multi.acquire, blocking=False) is True
    assert alice.do(client.lock(B).hold_count) == 1
    alice.do(multi.release)
    assert server.keys() == set()


def test_on_lost_is_called_once_for_the_whole(alice: Any, client: Any) -> None:
    told: list[Any] = []
    multi = client.multi_lock(client.lock(A), client.lock(B), on_lost=told.append)
    alice.do(multi.acquire)
    alice.do(client.lock(A).force_release)
    alice.do(client.lock(B).force_release)
    eventually(lambda: told)
    with pytest.raises(holdfast.LockLostError):
        alice.do(multi.release)
    assert told == [multi]


def test_what_another_lock_object_holds_is_left_alone(
    alice: Any, client: Any, multi: Any, server: Server
) -> None:
    alice.do(client.lock(A).acquire)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(multi.release)
    alice.do(multi.acquire)
    assert alice.do(multi.hold_count) == 1
    alice.do(multi.release)
    assert server.keys() == {b"a"}
    assert alice.do(client.lock(A).hold_count) == 1


def test_extend_of_what_is_not_held_leaves_the_members_alone(
    alice: Any, client: Any, multi: Any, server: Server
) -> None:
    alice.do(client.lock(A).acquire, lease=10)
    assert alice.do(multi.extend, 1000) is False
    assert server.inspect.pttl(A) <= 10_000


def test_the_minimum_of_the_members_is_returned(
    alice: Any, client: Any, multi: Any, server: Server
) -> None:
    alice.do(multi.acquire, lease=50)
    server.inspect.pexpire(B, 20_000)
    assert 15 < alice.do(multi.ttl) <= 20
    server.inspect.delete(C)
    assert alice.do(multi.ttl) is None
    assert alice.do(multi.hold_count) == 0
    assert alice.do(multi.owned) is False
    assert alice.do(multi.locked) is True


def test_all_members_have_the_lease(alice: Any, multi: Any, server: Server) -> None:
    alice.do(multi.acquire, lease=50)
    for name in (A, B, C):
        assert 45_000 < server.inspect.pttl(name) <= 50_000


@pytest.mark.parametrize("how", [{}, {"blocking": False}, {"timeout": 1}], ids=str)
@pytest.mark.parametrize("place", range(3))
def test_who_reads_is_not_let_wait_for_itself(
    alice: Any, client: Any, server: Server, how: dict[str, Any], place: int
) -> None:
    rw = client.read_write_lock("rw")
    members = [client.lock(A), client.lock(B)][: place or 2]
    members.insert(place, rw.write)
    multi = client.multi_lock(*members)
    alice.do(rw.read.acquire)
    with pytest.raises(holdfast.LockError, match="rw") as refused:
        alice.do(multi.acquire, **how)
    assert not isinstance(refused.value, holdfast.NotOwnedError | holdfast.LockTimeout)
    assert {A.encode(), B.encode()}.isdisjoint(server.keys())
    assert alice.do(rw.read.hold_count) == 1
    alice.do(rw.read.release)
    assert alice.do(multi.acquire, **how) is True


def test_who_writes_may_write_in_a_multi_lock(alice: Any, client: Any, server: Server) -> None:
    rw = client.read_write_lock("rw")
    multi = client.multi_lock(client.lock(A), rw.write)
    alice.do(rw.write.acquire)
    alice.do(rw.read.acquire)
    assert alice.do(multi.acquire, blocking=False) is True
    for lock in (multi, rw.read, rw.write):
        alice.do(lock.release)
    assert server.keys() == set()


def test_a_member_with_a_key_of_another_type(alice: Any, multi: Any, server: Server) -> None:
    server.inspect.set(B, "untouched")
    with pytest.raises(holdfast.ServerError, match="'b'"):
        alice.do(multi.acquire)
    eventually(lambda: server.keys() == {b"b"})


@pytest.mark.flavours("asyncio", "trio")
@pytest.mark.parametrize("taken", [A, B, C], indirect=True)
def test_a_cancelled_wait_leaves_nothing(
    alice: Any, multi: Any, server: Server, taken: str
) -> None:
    alice.begin(multi.acquire)
    eventually(lambda: subscribers(server) == 1)
    alice.cancel()
    eventually(lambda: subscribers(server) == 0)
    eventually(lambda: server.keys() == {taken.encode()})


@pytest.mark.realtime
@pytest.mark.parametrize("taken", [A, B, C], indirect=True)
def test_who_gives_up_leaves_nothing(alice: Any, multi: Any, server: Server, taken: str) -> None:
    assert alice.do_briefly(multi.acquire, timeout=0.1) is False
    eventually(lambda: subscribers(server) == 0)
    eventually(lambda: server.keys() == {taken.encode()})
