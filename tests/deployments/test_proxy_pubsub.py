"""The forms of messages where a client knows one address only, as that of a proxy for a cluster."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"
LONG = 600
"""A lease that no test waits for: a waiter that gets in was woken by a message."""


def sharded(server: Server) -> int:
    """The sharded subscribers of the channel."""
    return int(server.inspect.execute_command("PUBSUB", "SHARDNUMSUB", CHANNEL)[1])


@pytest.mark.parametrize(
    "forms",
    [("sharded", "sharded"), ("both", "sharded"), ("sharded", "both"), ("both", "classic")],
)
def test_a_release_wakes_a_waiter_by_the_form_that_both_have(
    server: Server,
    make_actor: MakeActor,
    make_client: MakeClient,
    forms: tuple[str, str],
) -> None:
    alice, (owner, waiter) = make_actor(), forms
    held = make_client(server.url, pubsub=owner).lock(NAME, lease=LONG)
    wanted = make_client(server.url, pubsub=waiter).lock(NAME, lease=LONG)
    assert alice.do(held.acquire)
    waiting = make_actor().begin(wanted.acquire)
    ordinary = waiter != "sharded"
    eventually(lambda: server.subscribers(CHANNEL) == (1 if ordinary else 0))
    eventually(lambda: sharded(server) == (1 if waiter != "classic" else 0))
    alice.do(held.release)
    assert waiting.result(BOUND)


@pytest.mark.parametrize("how", ["sharded", "both"])
def test_a_release_is_published_in_the_form_of_the_option(
    server: Server, alice: Any, make_client: MakeClient, how: str
) -> None:
    lock = make_client(server.url, pubsub=how).lock(NAME)
    assert alice.do(lock.acquire)
    subscription = server.inspect.pubsub()
    subscription.ssubscribe(CHANNEL)
    subscription.get_sharded_message(timeout=BOUND)
    with server.listening(CHANNEL) as messages:
        alice.do(lock.release)
        assert messages.received() == ([b"0"] if how == "both" else [])
    message = subscription.get_sharded_message(timeout=BOUND)
    subscription.close()
    assert message["data"] == b"0"


@pytest.mark.flavours("sync")
def test_a_service_under_sentinel_has_one_form(make_client: MakeClient) -> None:
    for how in ("sharded", "both"):
        with pytest.raises(ValueError, match="or a proxy in front of one"):
            holdfast.Client("redis+sentinel://127.0.0.1/service", pubsub=how)  # type: ignore[arg-type]
