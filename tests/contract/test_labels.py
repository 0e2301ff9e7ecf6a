"""What a program is, and what its holds are for, as they say on the server."""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from time import time
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.contract.conftest import NAME, Stage
from tests.support.losses import entered, left
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass, timed_out

LABEL = "billing worker 3"

#: A lock of each kind, by its client and name.
LOCKS = (
    lambda client, name: client.lock(name),
    lambda client, name: client.fair_lock(name),
    lambda client, name: client.fenced_lock(name),
    lambda client, name: client.spin_lock(name),
    lambda client, name: client.read_write_lock(name).read,
    lambda client, name: client.read_write_lock(name).write,
)


def key_of(client: Any) -> str:
    return f"holdfast:client:{client.id}"


def seen(server: Server, client: Any) -> dict[bytes, bytes]:
    """What the client's key says, once it is there."""
    eventually(lambda: server.inspect.hexists(key_of(client), "started"))
    found: dict[bytes, bytes] = server.inspect.hgetall(key_of(client))
    return found


def labels_gone(server: Server) -> bool:
    return not set(filter(lambda key: key.startswith(b"holdfast:client:"), server.keys()))


def test_a_holder_has_its_clients_label(alice: Any, bob: Any, stage: Stage) -> None:
    client = stage.client(label=LABEL)
    alice.do(stage.lock(client).acquire)
    [holder] = bob.do(stage.lock().holders)
    assert (holder.label, holder.purpose) == (LABEL, None)
    assert (holder.host, holder.pid) == (socket.gethostname(), os.getpid())
    alice.do(stage.lock(client).release)


def test_a_holder_has_its_purpose(alice: Any, bob: Any, stage: Stage) -> None:
    """The lock's, or its acquire's; also of a client without a label."""
    client = stage.client()
    for of_lock, of_acquire in (("nightly", None), (None, "by hand"), ("nightly", "by hand")):
        lock = stage.lock(client, label=of_lock)
        assert alice.do(lock.acquire, label=of_acquire)
        [holder] = bob.do(stage.lock().holders)
        assert holder.purpose == (of_acquire or of_lock)
        assert (holder.label, holder.pid) == (None, os.getpid())
        alice.do(lock.release)


def test_since_is_when_the_hold_began_and_ends_with_it(alice: Any, bob: Any, stage: Stage) -> None:
    """Not when its owner asked; and a later hold without a label shows nothing of an earlier."""
    client, held = stage.client(), stage.rival()
    alice.do(held.acquire)
    waiting = stage.wait(bob, stage.lock(client, label="nightly"))
    let_pass(0.3)
    released = time()
    alice.do(held.release)
    assert waiting.result(BOUND)

    def began() -> bool:
        [holder] = alice.do(stage.lock().holders)
        return holder.purpose == "nightly" and released - 0.1 < holder.since < time() + 0.1

    eventually(began)
    bob.do(stage.lock(client).release)
    bob.do(stage.lock(client).acquire)
    [later] = alice.do(stage.lock().holders)
    assert (later.purpose, later.since) == (None, None)
    bob.do(stage.lock(client).release)


def test_a_block_and_a_hold_have_their_locks_purpose(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(), label="nightly")

    def purposes() -> list[str | None]:
        return [one.purpose for one in bob.do(stage.lock().holders)]

    alice.do(entered, lock)
    assert purposes() == ["nightly"]
    alice.do(left, lock)
    hold = alice.do(lock.hold)
    assert purposes() == ["nightly"]
    alice.do(hold.release)


def test_a_client_without_a_label_sends_no_further_command(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    alice.do(lock.acquire)
    assert labels_gone(stage.server)
    alice.do(lock.release)


def test_a_label_counts_nowhere_as_a_hold(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    client = make_client(label=LABEL)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    seen(server, client)
    stats = client.stats()
    assert (stats.acquired, stats.held) == (1, 1)
    with holdfast.Client(server.url) as other:
        assert [info.name for info in inspect.locks(other)] == [NAME]
    alice.do(lock.release)
    assert client.stats().held == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alice.do(client.close)
    assert server.keys() == set()


def test_a_label_lives_as_long_as_the_lease(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    """It is renewed without a hold, and made again after the server lost it."""
    client = make_client(label=LABEL, lease=0.6)
    alice.do(client.ping)
    eventually(lambda: b"within" in seen(server, client))
    before = seen(server, client)
    assert 0 < server.inspect.pttl(key_of(client)) <= 600
    server.inspect.flushall()
    eventually(lambda: seen(server, client) == before)
    eventually(lambda: server.inspect.pttl(key_of(client)) > 500)
    eventually(lambda: server.inspect.pttl(key_of(client)) < 450)
    eventually(lambda: server.inspect.pttl(key_of(client)) > 500)
    alice.do(client.close)
    assert labels_gone(server)


@pytest.mark.servers("real")
def test_a_labels_key_is_never_without_an_end(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    """Fields and expiry are written in one step: a program that ends in between leaves nothing."""
    with server.recording() as recording:
        client = make_client(server.url, label=LABEL)
        lock = client.lock(NAME, label="nightly")
        alice.do(lock.acquire)
        seen(server, client)
        alice.do(lock.release)
        sent = [one.name for one in recording.commands if key_of(client) in one.words]
    assert "EVAL" in sent
    assert not {"HSET", "PEXPIRE"} & set(sent)


@pytest.mark.parametrize(
    ("label", "error"), [(3, TypeError), ("x" * 201, ValueError), ("\ud800", ValueError)]
)
def test_a_bad_label_is_refused(
    alice: Any, make_client: MakeClient, server: Server, label: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="label"):
        make_client(label=label)
    client = make_client()
    with pytest.raises(error, match="label"):
        client.lock(NAME, label=label)
    with pytest.raises(error, match="label"):
        alice.do(client.lock(NAME).acquire, label=label)
    assert server.keys() == set()


def test_a_time_out_says_who_holds_the_lock(alice: Any, bob: Any, stage: Stage) -> None:
    client = stage.client(label=LABEL)
    held = stage.rival(client, label="nightly")
    alice.do(held.acquire)
    waiting = stage.lock(stage.client(), wait=0.05)
    said = f"it is held by '{LABEL}' on {socket.gethostname()}:{os.getpid()}.* for 'nightly' since"
    timed_out(lambda: bob.do(entered, waiting), said)
    timed_out(lambda: bob.do(waiting.hold), said)
    alice.do(held.release)


@pytest.mark.parametrize(
    ("field", "value"), [(b"\xff\xfe", b"1"), (b"a" * 36 + b":1", b"9" * 5000)]
)
def test_a_time_out_is_one_beside_what_no_owner_wrote(
    alice: Any, make_client: MakeClient, server: Server, field: bytes, value: bytes
) -> None:
    server.inspect.hset(NAME, field, value)
    server.inspect.pexpire(NAME, 60_000)
    lock = make_client().lock(NAME, wait=0.05)
    timed_out(lambda: alice.do(entered, lock))
    assert alice.do(lock.holders) == []
    server.inspect.delete(NAME)


def test_a_further_hold_keeps_the_time_of_the_first(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(), label="nightly")
    alice.do(lock.acquire)
    [first] = bob.do(stage.lock().holders)
    let_pass(0.01)
    alice.do(lock.acquire)
    assert [one.since for one in bob.do(stage.lock().holders)] == [first.since]
    alice.do(lock.release)
    alice.do(lock.release)
    let_pass(0.01)
    alice.do(lock.acquire)
    [again] = bob.do(stage.lock().holders)
    assert again.since > first.since
    alice.do(lock.release)


def test_an_acquire_that_was_refused_takes_no_others_purpose(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    client = make_client()
    both = client.read_write_lock(NAME, label="nightly")
    alice.do(both.read.acquire)
    with pytest.raises(holdfast.LockError):
        alice.do(both.write.acquire, label="by hand")
    alice.do(both.read.release)
    other = client.lock(NAME, label="hourly")
    alice.do(other.acquire)
    assert [one.purpose for one in alice.do(other.holders)] == ["hourly"]
    alice.do(other.release)


def notes_of(server: Server, client: Any) -> dict[bytes, bytes]:
    """What the client's key says of its owners."""
    said: dict[bytes, bytes] = server.inspect.hgetall(key_of(client))
    return {field: said[field] for field in said if b":" in field}


def test_a_note_ends_with_its_hold_and_others_stay(
    alice: Any, bob: Any, make_client: MakeClient, server: Server
) -> None:
    """With its release, its loss, and an acquire that was not granted."""
    client = make_client()
    kept = [alice.do(client.lock(f"{NAME}:{i}", label="kept").hold) for i in range(20)]
    for i in range(50):
        alice.do(alice.do(client.lock(f"{NAME}:over:{i}", label="over").hold).release)
    lost = client.lock(f"{NAME}:lost", label="over")
    alice.do(lost.acquire, lease=0.05)
    busy = client.lock(NAME)
    alice.do(busy.acquire)
    assert not bob.do(busy.acquire, timeout=0.02, label="over")
    eventually(lambda: alice.do(lambda: lost.lost))
    eventually(lambda: len(notes_of(server, client)) == len(kept))
    assert {note.partition(b" ")[2] for note in notes_of(server, client).values()} == {b"kept"}
    for hold in kept:
        alice.do(hold.release)
    alice.do(busy.release)
    eventually(lambda: not notes_of(server, client))


def test_a_client_with_a_label_notes_every_hold_that_lasts(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    """Within two seconds, as its key says; with a fixed lease, too, which the key outlives."""
    client = make_client(label=LABEL, lease=5)
    begun = time()
    held = [make(client, f"{NAME}:{place}") for place, make in enumerate(LOCKS)]
    for lock in held:
        assert alice.do(lock.acquire, lease=3600)
    permits = client.permit_semaphore(f"{NAME}:permits", permits=2)
    permit = alice.do(permits.acquire, lease=3600)
    assert not notes_of(server, client)
    eventually(lambda: len(notes_of(server, client)) == len(held) + 1)
    assert time() - begun < 2 + BOUND
    assert server.inspect.hget(key_of(client), "within") == b"2000"
    assert server.inspect.pttl(key_of(client)) > 3500e3
    for note in notes_of(server, client).values():
        assert begun - 0.1 < int(note) / 1000 < begun + 1
    for lock in held:
        alice.do(lock.release)
    alice.do(permits.release, permit)
    eventually(lambda: not notes_of(server, client))


def test_a_note_lives_for_its_holds_lease(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    client = make_client(lease=5)
    lock = client.lock(NAME, label="nightly")
    alice.do(lock.acquire, lease=3600)
    assert server.inspect.pttl(key_of(client)) >= 3600e3 - 1000
    assert alice.do(lock.extend, 7200)
    eventually(lambda: server.inspect.pttl(key_of(client)) > 7000e3)
    [holder] = alice.do(lock.holders)
    assert holder.purpose == "nightly"
    alice.do(lock.release)


def test_a_time_out_names_the_owner_of_a_client_without_a_label(
    alice: Any, bob: Any, stage: Stage
) -> None:
    held = stage.rival()
    alice.do(held.acquire)
    waiting = stage.lock(stage.client(), wait=0.05)
    timed_out(lambda: bob.do(entered, waiting), f"held by owner {stage.default_client.id}:")
    alice.do(held.release)


def test_a_cancelled_time_out_leaves_nothing(server: Server) -> None:
    """A task that is cancelled while it asks who holds the lock."""

    async def late(client: holdfast.asyncio.Client, pause: float) -> None:
        with pytest.raises((asyncio.TimeoutError, holdfast.LockTimeout)):
            await asyncio.wait_for(client.lock(NAME, wait=1).__aenter__(), 1 + pause)

    async def run() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as other,
        ):
            async with other.lock(NAME):
                await asyncio.gather(*[late(client, pause) for pause in (0.0, 0.001, 0.01, 0.03)])
            async with client.lock(NAME):
                pass

    asyncio.run(run())
    assert server.keys() == set()


def purposes_of(server: Server, client: Any) -> list[str]:
    """What the client's key says that its owners hold things for, each once."""
    notes = notes_of(server, client).values()
    return sorted({note.partition(b" ")[2].decode() for note in notes})


def test_every_kind_takes_a_label(
    alice: Any, bob: Any, make_client: MakeClient, server: Server
) -> None:
    """Of the object, and of the call where it has one."""
    client = make_client()
    permits = client.permit_semaphore(f"{NAME}:permits", permits=9, label="of object")
    slots = client.slots(f"{NAME}:slots", 2, label="of object")
    lock = client.lock(f"{NAME}:hold", label="of object")
    for take, give in (
        (
            lambda **how: alice.do(permits.acquire, **how),
            lambda got: alice.do(permits.release, got),
        ),
        (
            lambda **how: alice.do(permits.acquire_many, 2, **how),
            lambda got: alice.do(permits.release_many, got),
        ),
        (lambda **how: alice.do(slots.acquire, **how), lambda got: alice.do(got.release)),
        (lambda **how: alice.do(lock.hold, **how), lambda got: alice.do(got.release)),
    ):
        for how, said in (({}, "of object"), ({"label": "of call"}, "of call")):
            got = take(**how)
            assert purposes_of(server, client) == [said]
            give(got)
            eventually(lambda: not notes_of(server, client))
    leader = client.leader(f"{NAME}:leader", label="leads")
    assert alice.do(leader.campaign)
    assert purposes_of(server, client) == ["leads"]
    alice.do(leader.resign)
    eventually(lambda: not notes_of(server, client))
    once = client.once(f"{NAME}:once", label="runs")
    assert alice.do(once.run, lambda: purposes_of(server, client)) == ["runs"]
    eventually(lambda: not notes_of(server, client))
    barrier = client.barrier(f"{NAME}:barrier", 2, label="meets")
    waits = bob.begin(barrier.wait)
    eventually(lambda: purposes_of(server, client) == ["meets"])
    alice.do(barrier.wait)
    waits.result(BOUND)
    eventually(lambda: not notes_of(server, client))


def test_a_decorator_takes_a_label(server: Server) -> None:
    """For threads and for tasks; not of a kind whose permits are no holds."""
    with holdfast.Client(server.url) as client:
        for decorated in (
            client.locked(NAME, label="in turn"),
            client.locked(NAME, kind="permit_semaphore", permits=1, label="in turn"),
            client.once_each(f"{NAME}:each", label="in turn"),
        ):
            assert decorated(lambda: purposes_of(server, client))() == ["in turn"]
            server.inspect.delete(NAME)
        with pytest.raises(ValueError, match="label cannot be given with kind='semaphore'"):
            client.locked(NAME, kind="semaphore", permits=1, label="in turn")

    async def run() -> None:
        async with holdfast.asyncio.Client(server.url) as client:

            async def body() -> list[str]:
                return purposes_of(server, client)

            assert await client.locked(NAME, label="in turn")(body)() == ["in turn"]
            assert await client.once_each(f"{NAME}:all", label="in turn")(body)() == ["in turn"]

    asyncio.run(run())
