"""What a program is, and what its holds are for, as they say on the server."""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.contract.conftest import NAME, Stage
from tests.support.losses import entered, left
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

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
    with pytest.raises(holdfast.LockTimeout, match=said):
        bob.do(entered, waiting)
    with pytest.raises(holdfast.LockTimeout, match=said):
        bob.do(waiting.hold)
    alice.do(held.release)


def test_a_time_out_names_the_owner_of_a_client_without_a_label(
    alice: Any, bob: Any, stage: Stage
) -> None:
    held = stage.rival()
    alice.do(held.acquire)
    with pytest.raises(holdfast.LockTimeout, match=f"held by owner {stage.default_client.id}:"):
        bob.do(entered, stage.lock(stage.client(), wait=0.05))
    alice.do(held.release)


def test_a_cancelled_time_out_leaves_nothing(server: Server) -> None:
    """A task that is cancelled while it asks who holds the lock."""

    async def run() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as other,
        ):
            async with other.lock(NAME):
                for pause in (0.0, 0.001, 0.01, 0.03):
                    with pytest.raises((TimeoutError, holdfast.LockTimeout)):
                        await asyncio.wait_for(
                            client.lock(NAME, wait=0.02).__aenter__(), 0.02 + pause
                        )
            async with client.lock(NAME):
                pass

    asyncio.run(run())
    assert server.keys() == set()
