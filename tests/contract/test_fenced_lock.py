"""Tokens: the caller's own, and greater with each grant, for any owner, and whatever is lost."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeActor, MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"
COUNTER = "redisson_lock_token:{myLock}"
JAVA = "0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37"


@pytest.fixture
def lock(client: Any) -> Any:
    return client.fenced_lock(NAME)


def token(actor: Any, lock: Any) -> Any:
    """The token that an owner has."""
    return actor.do(lambda: lock.token)


def granted(actor: Any, lock: Any) -> int:
    """Let an owner take the lock; its token."""
    assert actor.do(lock.acquire, timeout=BOUND)
    minted = token(actor, lock)
    assert isinstance(minted, int)
    return minted


def begin_waiting(server: Server, actor: Any, lock: Any) -> Any:
    """Let an owner wait; returns when it listens."""
    waiting = actor.begin(lock.acquire)
    eventually(lambda: server.subscribers(CHANNEL) > 0)
    return waiting


# ---- whose it is


def test_the_token_is_there_while_the_lock_is_held(alice: Any, lock: Any, server: Server) -> None:
    assert token(alice, lock) is None
    minted = granted(alice, lock)
    assert server.inspect.get(COUNTER) == b"%d" % minted
    assert token(alice, lock) == minted
    alice.do(lock.release)
    assert token(alice, lock) is None


def test_the_token_is_the_callers_own(alice: Any, bob: Any, lock: Any) -> None:
    minted = granted(alice, lock)
    assert token(bob, lock) is None
    assert not bob.do(lock.acquire, blocking=False)
    assert token(bob, lock) is None
    assert token(alice, lock) == minted


@pytest.mark.flavours("asyncio", "trio")
def test_outside_of_a_task_there_is_none(alice: Any, lock: Any) -> None:
    granted(alice, lock)
    assert lock.token is None


@pytest.mark.awaited
def test_a_lost_hold_has_no_token(alice: Any, lock: Any, server: Server) -> None:
    granted(alice, lock)
    server.flush()
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    assert alice.do(lambda: lock.lost)
    assert token(alice, lock) is None


def test_a_token_is_inside_with(alice: Any, lock: Any) -> None:
    assert isinstance(alice.inside(lock, lambda held: held.token), int)


@pytest.mark.servers("real")
def test_reading_the_token_sends_no_command(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    lock = make_client(tracking="off").fenced_lock(NAME)
    granted(alice, lock)
    with server.recording() as recording:
        token(alice, lock)
        assert recording.commands == []


@pytest.mark.parametrize(
    ("name", "counter"),
    [
        ("jobs", b"redisson_lock_token:{app:jobs}"),
        ("a{tag}b", b"redisson_lock_token:app:a{tag}b"),
        (b"\xff", b"redisson_lock_token:{app:\xff}"),
    ],
    ids=["plain", "braces", "bytes"],
)
def test_the_counter_is_redissons(
    alice: Any, make_client: MakeClient, server: Server, name: Any, counter: bytes
) -> None:
    lock = make_client(name_prefix="app:").fenced_lock(name)
    minted = granted(alice, lock)
    alice.do(lock.release)
    assert server.keys() == {counter}
    assert server.inspect.get(counter) == b"%d" % minted
    assert server.inspect.pttl(counter) == -1


# ---- nested holds, and other lock objects of the name


def test_a_nested_grant_brings_a_new_token_that_stays(alice: Any, lock: Any) -> None:
    first = granted(alice, lock)
    second = granted(alice, lock)
    assert second > first
    alice.do(lock.release)
    assert token(alice, lock) == second
    alice.do(lock.release)
    assert token(alice, lock) is None


def test_all_objects_of_a_name_show_the_same_token(alice: Any, client: Any, lock: Any) -> None:
    minted = granted(alice, lock)
    assert token(alice, client.fenced_lock(NAME)) == minted


def test_a_plain_lock_of_the_name_shares_the_hold(alice: Any, client: Any, lock: Any) -> None:
    plain = client.lock(NAME)
    alice.do(plain.acquire)
    assert token(alice, lock) is None
    minted = granted(alice, lock)
    alice.do(plain.acquire)
    assert alice.do(lock.hold_count) == 3
    for _ in range(3):
        assert token(alice, lock) == minted
        alice.do(plain.release)
    assert token(alice, lock) is None


def test_a_later_plain_hold_has_no_old_token(alice: Any, client: Any, lock: Any) -> None:
    granted(alice, lock)
    alice.do(lock.release)
    alice.do(client.lock(NAME).acquire)
    assert token(alice, lock) is None


# ---- greater with each grant


def test_tokens_grow_from_owner_to_owner(
    alice: Any, bob: Any, lock: Any, make_client: MakeClient
) -> None:
    theirs = make_client().fenced_lock(NAME)
    tokens = []
    for _ in range(5):
        for actor, each in ((alice, lock), (bob, lock), (bob, theirs)):
            tokens.append(granted(actor, each))
            actor.do(each.release)
    assert tokens == sorted(set(tokens))


def test_tokens_grow_in_a_crowd(
    make_actor: MakeActor, make_client: MakeClient, server: Server
) -> None:
    """Several clients, several owners of each: with messages and with hand-overs."""
    tokens: list[int] = []

    def take_turns(lock: Any) -> Generator[Any, Any, None]:
        for _ in range(10):
            assert (yield lock.acquire(timeout=BOUND))
            tokens.append(lock.token)
            yield lock.release()

    locks = [make_client(server.url).fenced_lock(NAME) for _ in range(2)]
    running = [make_actor().begin(take_turns, locks[number % 2]) for number in range(6)]
    for each in running:
        each.result(3 * BOUND)
    assert len(tokens) == 60
    assert tokens == sorted(set(tokens))


@pytest.mark.flavours("sync")
def test_tokens_grow_over_processes(start_child: Any, server: Server, tmp_path: Path) -> None:
    """Each writes its tokens into one file while it holds the lock."""
    program = """
        with holdfast.Client(URL) as client, open(PATH, "a", buffering=1) as file:
            lock = client.fenced_lock("myLock")
            say("ready")
            hear("go")
            for _ in range(20):
                with lock:
                    file.write(f"{lock.token}\\n")
    """
    path = tmp_path / "tokens"
    children = [start_child(program, URL=server.url, PATH=str(path)) for _ in range(3)]
    for child in children:
        child.expect("ready")
    for child in children:
        child.send("go")
    assert [child.wait() for child in children] == [0, 0, 0]
    tokens = [int(line) for line in path.read_text().splitlines()]
    assert len(tokens) == 60
    assert tokens == sorted(set(tokens))


def test_a_hand_over_within_a_client_mints(alice: Any, bob: Any, lock: Any, server: Server) -> None:
    first = granted(alice, lock)
    waiting = begin_waiting(server, bob, lock)
    with server.listening(CHANNEL) as messages:
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        assert messages.received() == []
    second = token(bob, lock)
    assert second > first
    assert server.inspect.get(COUNTER) == b"%d" % second


@pytest.mark.parametrize("kind", ["lock", "spin_lock"])
def test_a_hand_over_by_another_kind_mints(
    alice: Any, bob: Any, client: Any, server: Server, kind: str
) -> None:
    """The next_owner is granted its request, not the former owner's."""
    lock, theirs = client.fenced_lock(NAME), getattr(client, kind)(NAME)
    alice.do(theirs.acquire)
    waiting = begin_waiting(server, bob, lock)
    alice.do(theirs.release)
    assert waiting.result(BOUND) is True
    assert server.inspect.get(COUNTER) == b"%d" % token(bob, lock)


def test_a_hand_over_to_a_plain_lock_brings_no_token(
    alice: Any, bob: Any, client: Any, lock: Any, server: Server
) -> None:
    minted = granted(alice, lock)
    waiting = begin_waiting(server, bob, client.lock(NAME))
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    assert token(bob, lock) is None
    assert server.inspect.get(COUNTER) == b"%d" % minted


# ---- whatever happens to the server


def test_tokens_grow_after_flushall(
    alice: Any, bob: Any, lock: Any, server: Server, make_client: MakeClient
) -> None:
    theirs = make_client().fenced_lock(NAME)
    tokens = [granted(alice, lock)]
    for _ in range(3):
        server.flush()
        tokens.append(granted(bob, theirs))
        bob.do(theirs.release)
    assert tokens == sorted(set(tokens))


def test_tokens_grow_after_a_failover_to_an_old_copy(
    alice: Any, bob: Any, lock: Any, server: Server
) -> None:
    """The new primary has neither heard of the last grant nor of its token."""
    granted(alice, lock)
    alice.do(lock.release)
    copy = server.inspect.get(COUNTER)
    late = granted(alice, lock)
    server.flush()
    server.inspect.set(COUNTER, copy)
    assert granted(bob, lock) > late


@pytest.mark.slow
@pytest.mark.realtime
def test_tokens_grow_after_a_restart_without_data(
    alice: Any, bob: Any, make_client: MakeClient, private_server: Server
) -> None:
    lock = make_client(private_server.url).fenced_lock(NAME)
    first = granted(alice, lock)
    private_server.restart(keep_data=False)
    assert granted(bob, lock) > first


def test_redissons_tokens_and_ours_grow_together(
    alice: Any, bob: Any, lock: Any, server: Server
) -> None:
    server.inspect.set(COUNTER, 41)
    first = granted(alice, lock)
    assert first > 41
    alice.do(lock.release)
    javas = server.inspect.incr(COUNTER)  # what Redisson does
    assert javas > first
    assert granted(bob, lock) > javas


def test_a_lock_without_expiry_held_elsewhere_is_not_ours(
    alice: Any, lock: Any, server: Server
) -> None:
    server.inspect.hset(NAME, JAVA, 1)
    assert alice.do(lock.acquire, blocking=False) is False
    assert alice.do_briefly(lock.acquire, timeout=0) is False
    assert token(alice, lock) is None
    assert not server.inspect.exists(COUNTER)
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
def test_after_a_lost_reply_the_token_is_the_one_given_last(
    alice: Any, bob: Any, make_client: MakeClient, server: Server, kept: int
) -> None:
    with FaultProxy(server.port) as proxy:
        far = make_client(proxy.url).fenced_lock(NAME)
        for holds in (1, 2):
            lost = proxy.truncate_reply(kept)
            minted = granted(alice, far)
            assert lost.is_set()
            assert server.inspect.get(COUNTER) == b"%d" % minted
            assert alice.do(far.hold_count) == holds
        waiting = begin_waiting(server, bob, far)
        alice.do(far.release)
        lost = proxy.truncate_reply(kept)
        alice.do(far.release)
        assert waiting.result(BOUND) is True
        assert lost.is_set()
        assert server.inspect.get(COUNTER) == b"%d" % token(bob, far) > b"%d" % minted
        bob.do(far.release)


def no_counter(server: Server) -> None:
    server.inspect.set(COUNTER, "no number")


def a_list(server: Server) -> None:
    server.inspect.rpush(COUNTER, "no number")


@pytest.mark.parametrize("spoil", [no_counter, a_list], ids=lambda spoil: spoil.__name__)
def test_a_counter_that_is_none_is_an_error_and_nothing_is_held(
    alice: Any, lock: Any, server: Server, spoil: Callable[[Server], None]
) -> None:
    spoil(server)
    with pytest.raises(holdfast.ServerError, match=NAME):
        alice.do(lock.acquire)
    assert not alice.do(lock.locked)
    assert token(alice, lock) is None


def test_a_server_out_of_memory_grants_nothing_and_frees(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    client = make_client(private_server.url)
    lock = client.fenced_lock(NAME)
    minted = granted(alice, lock)
    private_server.inspect.config_set("maxmemory", 1)
    with pytest.raises(holdfast.ServerError, match="OOM"):
        alice.do(lock.acquire)
    assert token(alice, lock) == minted
    alice.do(lock.release)
    assert not alice.do(lock.locked)
