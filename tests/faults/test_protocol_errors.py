"""Replies that are not those to a client's commands: the connection ends, none is believed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import LASTING, NAME, holds
from tests.support.impostors import impostor, parrot
from tests.support.owners import MakeActor, MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

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
    """stray-bytes."""
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
    """stray-bytes."""
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


PROTECTED = (
    b"-DENIED Redis is running in protected mode because protected mode is enabled and no "
    b"password is set for the default user. In this mode connections are only accepted from "
    b"the loopback interface. If you want to connect from external computers to Redis you may "
    b"adopt one of the following solutions: 1) Just disable protected mode sending the command"
    b" 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from "
    b"the same host the server is running, however MAKE SURE Redis is not publicly accessible "
    b"from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) "
    b"Alternatively you can just disable the protected mode by editing the Redis configuration"
    b" file, and setting the protected mode option to 'no', and then restarting the server. 3)"
    b" If you started the server manually just for testing, restart it with the '--protected-"
    b"mode no' option. 4) Set up an authentication password for the default user. NOTE: You "
    b"only need to do one of the above things in order for the server to start accepting "
    b"connections from the outside.\r\n"
)
"""What a server in protected mode says to each connection from another machine, and hangs up."""


@pytest.mark.realtime
@pytest.mark.parametrize("resp", ["2", "3"])
def test_a_server_in_protected_mode_is_an_error_with_its_words(
    make_client: MakeClient, alice: Any, caplog: pytest.LogCaptureFixture, resp: str
) -> None:
    """lasting-refusal, stray-bytes: at the usual pace, and without a word of broken proxies."""
    connections: list[float] = []
    with impostor(PROTECTED, closes=True, unasked=True, connections=connections) as port:
        url = f"redis://127.0.0.1:{port}?protocol={resp}"
        client = make_client(url, command_timeout=600)
        with caplog.at_level(logging.INFO, "holdfast"):
            for _ in range(4):
                with pytest.raises(holdfast.HoldfastError, match="refused") as refused:
                    alice.do(client.lock(NAME).acquire)
                if isinstance(refused.value, holdfast.ServerError):
                    assert refused.value.code == "DENIED"
                    assert "in protected mode because" in str(refused.value)
        assert isinstance(refused.value, holdfast.ServerError)
        assert client.stats().protocol_errors == 0
        assert not caplog.records
        assert len(connections) <= 8


@pytest.mark.realtime
def test_an_error_that_a_connection_begins_with_is_its_end_not_a_reply(
    make_client: MakeClient, alice: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """lasting-refusal, stray-bytes: whatever its word is, also beside a wait."""
    connections: list[float] = []
    with impostor(b"-ERR go away\r\n", closes=True, unasked=True, connections=connections) as port:
        client = make_client(f"redis://127.0.0.1:{port}", command_timeout=2, client_name="")
        with caplog.at_level(logging.INFO, "holdfast"), pytest.raises(holdfast.HoldfastError):
            alice.do(client.lock(NAME).acquire)
        assert client.stats().protocol_errors == 0
        assert not caplog.records


@pytest.mark.realtime
def test_a_command_whose_reply_never_fits_is_sent_twice(
    make_client: MakeClient, alice: Any
) -> None:
    """stray-bytes: then its caller gets the error."""
    connections: list[float] = []
    with parrot(b"+OK\r\n", connections) as port:
        client = make_client(f"redis://127.0.0.1:{port}", command_timeout=600)
        match = "a status that cannot be the reply to its command"
        with pytest.raises(holdfast.ConnectionError, match=match):
            alice.do(client.lock(NAME).locked)
        assert len(connections) == 2
        assert client.stats().protocol_errors == 2


@pytest.mark.realtime
def test_only_a_reply_that_fits_ends_the_row_of_failures(
    make_client: MakeClient, make_actor: MakeActor
) -> None:
    """stray-bytes: the callers in line meet such a server ever more rarely."""
    connections: list[float] = []
    with parrot(b"+OK\r\n", connections) as port:
        client = make_client(f"redis://127.0.0.1:{port}", command_timeout=600, retries=100_000)
        asking = [make_actor().begin(client.lock(NAME).locked) for _ in range(8)]
        for each in asking:
            assert isinstance(each.exception(BOUND), holdfast.ConnectionError)
        assert len(connections) <= 16
        assert connections[-1] - connections[0] > 1


@pytest.mark.parametrize("word", ["ERR", "OOM"])
def test_an_error_of_any_length_is_an_exception_with_an_end(
    make_client: MakeClient, alice: Any, word: str
) -> None:
    """stray-bytes: its beginning says what there is to say."""
    with parrot(f"-{word} {'x' * 100_000}\r\n".encode(), []) as port:
        client = make_client(f"redis://127.0.0.1:{port}")
        with pytest.raises(holdfast.ServerError) as refused:
            alice.do(client.lock(NAME).locked)
    assert refused.value.code == word
    assert "xxx..." in str(refused.value)
    assert len(str(refused.value)) < 2000
