"""The way of the commands and the way of the messages fail apart from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import CHANNEL, IMPATIENT, NAME, holds
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.proxy import COMMANDS, SUBSCRIPTIONS, FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays

LEASE = 1.5


@pytest.mark.realtime
def test_a_waiter_that_hears_nothing_looks_when_the_lease_ends(
    alice: Any, bob: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """lost-subscription, lost-message: the messages go into a black hole, commands do not.

    No wait depends on a message.
    """
    near = make_client(server.url).lock(NAME)
    far = make_client(proxy.url).lock(NAME)
    hand_over((alice, near), (bob, far), server, lambda: proxy.black_hole(SUBSCRIPTIONS))


def hand_over(
    holder: tuple[Any, Any], waiter: tuple[Any, Any], server: Server, harm: Callable[[], None]
) -> None:
    """One owner, each with a lock, waits for the other, whose release comes after the harm."""
    (alice, near), (bob, far) = holder, waiter
    alice.do(near.acquire, lease=LEASE)
    waiting = bob.begin(far.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    harm()
    alice.do(near.release)
    assert waiting.result(BOUND) is True
    bob.do(far.release)


@pytest.mark.realtime
def test_a_lost_message_costs_no_more_than_the_lease(
    alice: Any, bob: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """lost-message: one message vanishes on a connection that stays.

    The next look is not put off.
    """
    near = make_client(server.url).lock(NAME)
    far = make_client(proxy.url).lock(NAME)
    for _ in range(2):
        hand_over((alice, near), (bob, far), server, proxy.lose_messages)


@pytest.mark.realtime
def test_a_waiter_that_cannot_subscribe_again_gets_an_error(
    alice: Any, bob: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """lost-subscription: no subscription for longer than command_timeout.

    An error, not a sleep without end.
    """
    near = make_client(server.url).lock(NAME)
    far = make_client(proxy.url, command_timeout=IMPATIENT).lock(NAME)
    alice.do(near.acquire, lease=3600)
    waiting = bob.begin(far.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    proxy.black_hole(SUBSCRIPTIONS)
    server.kill_connections("pubsub") if server.real else proxy.cut()
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        waiting.result(BOUND)
    assert len(holds(server)) == 1


@pytest.mark.realtime
def test_commands_without_a_reply_fail_while_messages_arrive(
    alice: Any, bob: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """silent-network, lost-subscription.

    The message says "free", and the try that follows has no answer: ConnectionError.
    """
    near = make_client(server.url).lock(NAME)
    far = make_client(proxy.url, command_timeout=IMPATIENT).lock(NAME)
    alice.do(near.acquire, lease=3600)
    waiting = bob.begin(far.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    proxy.black_hole(COMMANDS)
    alice.do(near.release)
    with pytest.raises(holdfast.ConnectionError, match=NAME):
        waiting.result(BOUND)
    proxy.heal()
    eventually(lambda: server.keys() == set(), what="what an earlier try got is given back")


@pytest.mark.realtime
def test_what_was_granted_unheard_is_given_back(
    alice: Any, bob: Any, make_client: MakeClient, proxy: FaultProxy, server: Server
) -> None:
    """silent-network, I7: half open: the server executes and is not heard.

    The grant does not stay.
    """
    far = make_client(proxy.url, command_timeout=IMPATIENT).lock(NAME)
    near = make_client(server.url).lock(NAME)
    assert not bob.do(far.locked)
    proxy.deafen()
    with pytest.raises(holdfast.ConnectionError, match=str(proxy.port)):
        bob.do(far.acquire, lease=3600)
    proxy.heal()
    assert alice.do(near.acquire, timeout=BOUND) is True
    stays(lambda: len(holds(server)) == 1, during=0.5)
    assert alice.do(near.hold_count) == 1
    assert not bob.do(lambda: far.lost)
    alice.do(near.release)


@pytest.mark.servers("redis", "valkey")
def test_a_user_without_the_right_to_subscribe_gets_an_error_when_it_waits(
    alice: Any, bob: Any, make_client: MakeClient, start_server: StartServer
) -> None:
    """lasting-refusal, missing-commands: a try needs no subscription.

    A wait without one would be a sleep: NOPERM at once.
    """
    server = start_server()
    server.inspect.execute_command(
        "ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"
    )
    url = server.url.replace("redis://", "redis://deaf:secret@")
    near = make_client(server.url).lock(NAME)
    far = make_client(url, command_timeout=600).lock(NAME)
    alice.do(near.acquire, lease=3600)
    assert bob.do(far.acquire, blocking=False) is False
    with pytest.raises(holdfast.ServerError, match=NAME) as refused:
        bob.do(far.acquire)
    assert refused.value.code == "NOPERM"
    assert len(holds(server)) == 1
