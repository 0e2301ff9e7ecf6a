"""What a program is, and what its holds are for, as they say on the server."""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from itertools import count
from time import time
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.contract.conftest import NAME, Stage
from tests.support.losses import entered, left
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually, let_pass, timed_out

LABEL = "billing worker 3"


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


@pytest.mark.parametrize("how", ["lock", "acquire", "both"])
def test_a_holder_has_its_purpose(alice: Any, bob: Any, stage: Stage, how: str) -> None:
    """Also of a client without a label, whose key then says host and process."""
    client = stage.client()
    lock = stage.lock(client, **({} if how == "acquire" else {"label": "nightly"}))
    named = {} if how == "lock" else {"label": "by hand"}
    assert alice.do(lock.acquire, **named)
    [holder] = bob.do(stage.lock().holders)
    assert holder.purpose == ("nightly" if how == "lock" else "by hand")
    assert (holder.label, holder.pid) == (None, os.getpid())
    alice.do(lock.release)


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
    before = seen(server, client)
    assert 0 < server.inspect.pttl(key_of(client)) <= 600
    server.inspect.flushall()
    assert seen(server, client) == before
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


def test_purposes_that_are_over_are_removed_and_others_stay(
    alice: Any, make_client: MakeClient, server: Server, monkeypatch: Any
) -> None:
    """Beside many holds, too."""
    seconds = count(1_800_000_000)
    monkeypatch.setattr("holdfast._locks.holders.wall_time", lambda: next(seconds))
    client = make_client()
    kept = [alice.do(client.lock(f"{NAME}:{i}", label="kept").hold) for i in range(150)]
    for i in range(400):
        hold = alice.do(client.lock(f"{NAME}:over:{i}", label="over").hold)
        alice.do(hold.release)
    purposes = server.inspect.hvals(key_of(client))
    over = sum(one.endswith(b" over") for one in purposes)
    assert (sum(one.endswith(b" kept") for one in purposes), over < 150) == (150, True)
    for hold in kept:
        alice.do(hold.release)


def all_wait(client: Any, number: int) -> bool:
    purposes = list(client._purposes.values())
    waiting = [one for one in purposes if one.core.acquires(one.owner)]
    return len(waiting) == number


def test_a_waiter_keeps_its_purpose(server: Server, monkeypatch: Any) -> None:
    """Also beside a hundred later ones."""

    async def entered_later(lock: Any) -> str | None:
        async with lock:
            [holder] = await lock.holders()
            return holder.purpose

    async def run() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            async with client.lock(NAME):
                waiters = [
                    asyncio.create_task(entered_later(client.lock(NAME, label=f"{i}")))
                    for i in range(150)
                ]
                await asyncio.to_thread(eventually, lambda: all_wait(client, len(waiters)))
                late = time() + 2
                monkeypatch.setattr("holdfast._locks.holders.wall_time", lambda: late)
                for i in range(100):
                    async with client.lock(f"{NAME}:{i}", label="short"):
                        pass
            assert await asyncio.gather(*waiters) == [f"{i}" for i in range(150)]

    asyncio.run(run())


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
