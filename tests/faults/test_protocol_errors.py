"""Replies that are not those to a client's commands: the connection ends, none is believed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.faults.conftest import LASTING, NAME, holds
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually

GRANTED = b"$-1\r\n"
"""The reply to an acquire that is granted."""


@pytest.fixture
def behind(make_client: MakeClient, proxy: FaultProxy, alice: Any) -> Any:
    """A client that reaches the server through the proxy, and is connected."""
    client = make_client(proxy.url)
    alice.do(client.lock("other").acquire)
    return client


@pytest.fixture
def held(near: Any, bob: Any) -> None:
    """Another client's owner has the lock."""
    bob.do(near.acquire)


@pytest.mark.servers("real")
@pytest.mark.usefixtures("held")
def test_a_reply_that_no_command_asked_for_grants_nothing(
    behind: Any, proxy: FaultProxy, alice: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault 60."""
    lock = behind.lock(NAME)
    with caplog.at_level(logging.ERROR, "holdfast"):
        proxy.inject(GRANTED)
        for _ in range(5):
            assert not alice.do(lock.acquire, blocking=False)
        what = f"127.0.0.1:{proxy.port} sent a reply that no command asked for"
        assert eventually(lambda: what in caplog.text)
    assert behind.stats().protocol_errors >= 1


@pytest.mark.servers("real")
def test_a_reply_of_a_kind_that_the_command_cannot_have_is_not_believed(
    behind: Any, proxy: FaultProxy, server: Server, alice: Any
) -> None:
    """Fault 60."""
    lock = behind.lock(NAME)
    sprung = proxy.replace_reply(b"+OK\r\n")
    assert alice.do(lock.acquire, blocking=False), "a status is no reply to an acquire"
    assert sprung.is_set()
    assert behind.stats().protocol_errors == 1
    assert list(holds(server).values()) == [1]
    alice.do(lock.release)
    assert holds(server) == {}


@pytest.mark.servers("real")
def test_after_what_is_no_reply_the_next_connection_is_used(
    behind: Any, proxy: FaultProxy, server: Server, alice: Any
) -> None:
    lock = behind.lock(NAME)
    proxy.replace_reply(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert alice.do(lock.acquire)
    assert list(holds(server).values()) == [1]
    assert behind.stats().protocol_errors == 1


@pytest.mark.servers("real")
def test_a_text_that_is_no_token_grants_no_fenced_lock(
    behind: Any, proxy: FaultProxy, server: Server, alice: Any
) -> None:
    lock = behind.fenced_lock(NAME)
    alice.do(behind.ping)
    sprung = proxy.replace_reply(b"$2\r\nhi\r\n")
    assert alice.do(lock.acquire, blocking=False)
    assert sprung.is_set()
    assert behind.stats().protocol_errors == 1
    assert list(holds(server).values()) == [1]
    assert alice.do(lambda: lock.token) > 0
    alice.do(lock.release)


@pytest.mark.servers("real")
@pytest.mark.realtime
@pytest.mark.parametrize("reply", [b"*3\r\n:1\r\n:2\r\n:3\r\n", b"*1\r\n:2\r\n"])
def test_a_renewal_of_one_lock_believes_no_reply_about_others(
    make_client: MakeClient, proxy: FaultProxy, alice: Any, reply: bytes
) -> None:
    client = make_client(proxy.url, lease=LASTING, tracking="off")
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    sprung = proxy.replace_reply(reply)
    eventually(sprung.is_set)
    eventually(lambda: client.stats().protocol_errors == 1)
    renewed = client.stats().renewals
    eventually(lambda: client.stats().renewals > renewed)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
