"""What a release does that grants the lock to a waiter in line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lua.direct_steps import GRANT_LEASE, DirectFencedLock, DirectLock, grants
from tests.lua.steps import ALICE, BOB, CAROL, MINUTE, Listener
from tests.support.servers import Server

DAVE = b"c0ffee00-0000-4000-8000-00000000000a:2"
ERIN = b"0ddba11e-0000-4000-8000-00000000000a:9"
MOST = 16


@pytest.fixture(params=[DirectLock, DirectFencedLock], ids=lambda lock: lock.kind)
def lock(server: Server, request: pytest.FixtureRequest) -> DirectLock:
    lock: DirectLock = request.param(server.inspect)
    return lock


@pytest.fixture
def carols(server: Server) -> Iterator[Listener]:
    """Carol's client, which is Dave's, too."""
    with Listener(server, grants(CAROL)) as listener:
        yield listener


@pytest.fixture
def everyone(server: Server) -> Iterator[Listener]:
    with Listener(server) as listener:
        yield listener


def granted(listener: Listener) -> list[bytes]:
    """The messages that are grants: each follows an empty one."""
    payloads = [message.payload for message in listener.messages()]
    assert payloads[::2] == [b""] * (len(payloads) // 2)
    return payloads[1::2]


def place(lock: DirectLock, owner: bytes) -> int:
    left, place = lock.acquire(owner)
    assert left > 0
    return int(place)


def test_a_release_grants_the_lock_to_the_first_in_line(
    lock: DirectLock, carols: Listener, everyone: Listener
) -> None:
    lock.acquire(ALICE, GRANT_LEASE)
    first, _ = place(lock, CAROL), place(lock, DAVE)
    assert lock.release(ALICE) == 0
    assert lock.holds == {CAROL: b"1"}
    assert GRANT_LEASE - 1000 < lock.left <= GRANT_LEASE
    assert lock.line == [DAVE]
    [grant] = granted(carols)
    owner, at, lease, *token = grant.split()
    assert (owner, int(at), int(lease)) == (CAROL.rpartition(b":")[2], first, GRANT_LEASE)
    assert len(token) == isinstance(lock, DirectFencedLock)
    assert everyone.messages() == []


def test_a_token_of_a_release_is_greater_than_all_before(server: Server, carols: Listener) -> None:
    lock = DirectFencedLock(server.inspect)
    token = int(lock.acquire(ALICE))
    place(lock, CAROL)
    lock.release(ALICE)
    given = int(granted(carols)[0].split()[3])
    lock.release(CAROL)
    assert token < given < int(lock.acquire(BOB))


def test_who_is_not_there_is_passed_over(lock: DirectLock, carols: Listener) -> None:
    lock.acquire(ALICE)
    place(lock, ERIN)
    place(lock, CAROL)
    assert lock.release(ALICE) == 0
    assert lock.holds == {CAROL: b"1"}
    assert lock.line == []


def test_who_is_not_subscribed_at_this_server_is_sent_no_grant(
    server: Server, lock: DirectLock
) -> None:
    """Another server may deliver what is published here."""
    lock.acquire(ALICE)
    place(lock, ERIN)
    with server.recording() as recording:
        lock.release(ALICE)
        published = [sent.words for sent in recording.scripted if sent.name == "PUBLISH"]
    channel = grants(ERIN).decode()
    assert ["".join(words[2:]) for words in published if words[1] == channel] == [""]


def test_a_lock_without_a_waiter_that_is_there_is_freed(
    lock: DirectLock, everyone: Listener
) -> None:
    lock.acquire(ALICE)
    place(lock, ERIN)
    assert lock.release(ALICE) > 1
    assert lock.holds == {}
    assert [message.payload for message in everyone.messages()] == [b"0"]


def test_a_shorter_lease_is_published(
    lock: DirectLock, carols: Listener, everyone: Listener
) -> None:
    lock.acquire(ALICE, MINUTE)
    place(lock, CAROL)
    assert lock.release(ALICE) == 0
    assert granted(carols)
    assert [message.payload for message in everyone.messages()] == [b"0"]


def test_after_sixteen_hand_overs_or_ten_milliseconds_the_lock_is_freed(
    server: Server, lock: DirectLock, carols: Listener, everyone: Listener
) -> None:
    """Whichever comes first; a server that is slow may make fewer."""
    lock.acquire(CAROL, GRANT_LEASE)
    owners, turns = (CAROL, DAVE), 0
    while True:
        place(lock, owners[(turns + 1) % 2])
        if lock.release(owners[turns % 2]) != 0:
            break
        turns += 1
        assert turns <= MOST
    assert turns >= 1
    assert lock.holds == {}
    assert everyone.messages()[-1].payload == b"0"
    assert len(granted(carols)) == turns
    server.inspect.delete(lock.waiters)


def test_an_owner_that_leaves_the_line_is_granted_nothing(
    lock: DirectLock, carols: Listener
) -> None:
    lock.acquire(ALICE)
    place(lock, CAROL)
    assert lock.release(CAROL) is None
    assert lock.line == []
    assert lock.release(ALICE) > 0
    assert granted(carols) == []


@pytest.mark.parametrize("way", ["acquire", "transfer"])
def test_every_grant_ends_the_place(lock: DirectLock, way: str) -> None:
    lock.acquire(ALICE)
    place(lock, BOB)
    if way == "transfer":
        assert lock.transfer(ALICE, BOB) is not None
    else:
        lock.force_release()
        lock.acquire(BOB)
    assert list(lock.holds) == [BOB]
    assert lock.line == []


def test_each_attempt_gives_a_new_place(lock: DirectLock) -> None:
    lock.acquire(ALICE)
    first = place(lock, CAROL)
    assert place(lock, BOB) > first
    assert place(lock, CAROL) > first
    assert lock.line == [BOB, CAROL]


def test_an_attempt_that_does_not_wait_ends_the_place(lock: DirectLock) -> None:
    lock.acquire(ALICE)
    place(lock, CAROL)
    assert lock.look(CAROL)[1] == 0
    assert lock.line == []


def test_a_longer_lease_that_runs_is_kept(lock: DirectLock) -> None:
    lock.acquire(ALICE, MINUTE)
    lock.acquire(ALICE, GRANT_LEASE)
    assert lock.left > GRANT_LEASE


def test_the_line_has_an_end(server: Server, lock: DirectLock, carols: Listener) -> None:
    lock.acquire(ALICE)
    place(lock, CAROL)
    assert 0 < server.inspect.pttl(lock.waiters) <= MINUTE
    lock.release(ALICE)
    assert 0 < server.inspect.pttl(lock.waiters) <= MINUTE


def test_a_release_frees_the_lock_on_a_server_out_of_memory(
    private_server: Server,
) -> None:
    lock = DirectLock(private_server.inspect)
    lock.acquire(ALICE)
    with Listener(private_server, grants(CAROL)) as carols:
        place(lock, CAROL)
        private_server.inspect.config_set("maxmemory", 1)
        left, none = lock.acquire(BOB)
        assert left > 0
        assert none == 0
        assert lock.release(ALICE) == 0
        assert lock.holds == {CAROL: b"1"}
        assert len(granted(carols)) == 1


def test_a_key_of_another_type_is_an_error_before_anything_is_released(
    server: Server, lock: DirectLock
) -> None:
    lock.acquire(ALICE)
    server.inspect.set(lock.waiters, "text")
    with pytest.raises(Exception, match="WRONGTYPE"):
        lock.release(ALICE)
    assert lock.holds == {ALICE: b"1"}
