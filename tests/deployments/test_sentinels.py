"""Sentinels that are down, disagree, want a password, or do not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import servers
from tests.deployments.conftest import NAME, MakeService, refuse_demotion
from tests.support.certificates import make_certificates
from tests.support.impostors import closed_port
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.renewals import see_renewals
from tests.support.sentinels import NAME as SERVICE
from tests.support.sentinels import Sentinel, Service
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [pytest.mark.servers("real")]

LONG = 180.0
"""Seconds that a busy machine may take to fail over."""

SECRET = "s3cret"


def test_one_sentinel_leads_to_all(alice: Any, make_client: MakeClient, service: Service) -> None:
    """The others are learnt: when the one of the URL is gone, a failover is followed still."""
    client = make_client(service.url_of(service.sentinels[0]), command_timeout=LONG)
    alice.do(client.ping)
    eventually(lambda: all(_watched(sentinel) for sentinel in service.sentinels))
    service.sentinels[0].stop()
    old = service.primary
    old.stop()
    assert _acquired(alice, client.lock(NAME))
    assert service.new_primary(old).keys() == {NAME.encode()}


def _acquired(actor: Any, lock: Any) -> bool:
    return bool(actor.begin(lock.acquire).result(LONG))


def _watched(sentinel: Sentinel) -> bool:
    """Somebody listens to its announcements."""
    return any(client["sub"] != "0" for client in sentinel.connections())


@pytest.mark.realtime
def test_without_sentinels_the_known_primary_is_used(
    alice: Any, make_client: MakeClient, service: Service
) -> None:
    """They go one by one; the hold is renewed, locks are taken; back again, they are followed."""
    client = make_client(service.url, lease=12, command_timeout=LONG)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    primary = service.primary
    for number, sentinel in enumerate(service.sentinels):
        sentinel.stop()
        alice.do(client.lock(f"lock {number}").acquire)
    see_renewals(primary)
    primary.kill_connections()
    assert alice.do(lock.owned)
    for sentinel in service.sentinels:
        sentinel.start()
    service.settle()
    service.replicated()
    new = service.fail_over()
    eventually(lambda: alice.do(lock.owned))
    alice.do(lock.release)
    assert not new.inspect.exists(NAME)


@pytest.mark.realtime
def test_sentinels_that_never_answered_are_named(alice: Any, make_client: MakeClient) -> None:
    """Nothing listens there: the error comes within the command timeout, and tells where."""
    with closed_port() as one, closed_port() as other:
        hosts = f"127.0.0.1:{one},127.0.0.1:{other}"
        client = make_client(f"redis+sentinel://:{SECRET}@{hosts}/{SERVICE}", command_timeout=1)
        with pytest.raises(holdfast.ConnectionError) as error:
            alice.do(client.ping)
        with pytest.raises(holdfast.ConnectionError, match=SERVICE):
            alice.do(client.lock(NAME).acquire)
    message = str(error.value)
    assert all(f"127.0.0.1:{port}" in message for port in (one, other))
    assert f"'{SERVICE}'" in message
    assert "are they running and reachable there?" in message
    assert SECRET not in message


def test_an_unknown_service_is_an_error_at_once(
    alice: Any, make_client: MakeClient, service: Service
) -> None:
    client = make_client(service.url_of(*service.sentinels, name="unknown"), command_timeout=LONG)
    for _ in range(2):
        with pytest.raises(holdfast.ServerError, match="'unknown'") as error:
            alice.do(client.lock(NAME).acquire)
        assert error.value.code == "ERR"
        assert str(service.sentinels[0].port) in str(error.value)
    with pytest.raises(holdfast.ServerError, match="'unknown'") as error:
        servers.of(client).primary_addresses()
    assert error.value.code == "ERR"


def test_sentinels_have_a_separate_password(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    """It is sent nowhere else: neither to the servers, nor in a message."""
    service = make_service(password="theirs", sentinel_password=SECRET)
    options = {"password": "theirs", "command_timeout": LONG}
    client = make_client(service.url, sentinel_password=SECRET, **options)
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    service.replicated()
    service.fail_over()
    alice.do(lock.release)
    query = make_client(f"{service.url}?sentinel_password={SECRET}", **options)
    alice.do(query.ping)
    assert SECRET not in repr(query)


@pytest.mark.parametrize(
    ("password", "code"), [("wr0ng", "WRONGPASS"), (None, "NOAUTH")], ids=["wrong", "none"]
)
def test_sentinels_that_refuse_say_so(
    alice: Any,
    make_client: MakeClient,
    make_service: MakeService,
    password: str | None,
    code: str,
) -> None:
    service = make_service(replicas=0, sentinels=1, sentinel_password=SECRET)
    client = make_client(service.url, sentinel_password=password, command_timeout=LONG)
    with pytest.raises(holdfast.ServerError) as error:
        alice.do(client.ping)
    assert error.value.code == code
    message = str(error.value)
    assert "sentinel_password" in message
    assert SERVICE in message
    assert str(service.sentinels[0].port) in message
    assert "wr0ng" not in message


def test_a_dead_server_that_the_sentinels_name_is_named(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    service = make_service(replicas=0, sentinels=1)
    port = service.primary.port
    service.primary.stop()
    client = make_client(service.url, command_timeout=3)
    with pytest.raises(holdfast.ConnectionError) as error:
        alice.do(client.ping)
    assert f"127.0.0.1:{port}" in str(error.value)
    assert f"'{SERVICE}'" in str(error.value)


def test_host_names_may_be_announced(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    settings = {"resolve-hostnames": "yes", "announce-hostnames": "yes"}
    service = make_service(replicas=0, sentinels=1, sentinel_settings=settings, host="localhost")
    assert service.sentinels[0].ask("GET-MASTER-ADDR-BY-NAME", SERVICE)[0] == b"localhost"
    client = make_client(service.url)
    alice.do(client.lock(NAME).acquire)
    assert service.primary.keys() == {NAME.encode()}


@pytest.mark.servers("redis")
def test_sentinels_and_servers_speak_tls(
    alice: Any, make_client: MakeClient, make_service: MakeService, tmp_path: Path
) -> None:
    """Also after a failover; without the CA neither is trusted."""
    service = make_service(replicas=1, sentinels=1, tls=make_certificates(tmp_path / "tls"))
    authority = str(tmp_path / "tls" / "ca.crt")
    lock = make_client(service.url, tls_ca=authority, command_timeout=LONG).lock(NAME)
    alice.do(lock.acquire)
    service.replicated()
    service.fail_over()
    eventually(lambda: alice.do(lock.owned))
    alice.do(lock.release)
    with pytest.raises(holdfast.ConnectionError, match="certificate"):
        alice.do(make_client(service.url, command_timeout=3).ping)


def test_a_sentinel_that_names_another_server_is_outvoted(
    alice: Any, make_client: MakeClient, service: Service, server_kind: str
) -> None:
    """It was set up by itself and knows of no failover; it answers first or last."""
    service.fail_over()
    with Server(server_kind) as other, Sentinel(server_kind, other.port, 1) as stranger:
        for sentinels in ((stranger, *service.sentinels), (*service.sentinels, stranger)):
            client = make_client(service.url_of(*sentinels))
            lock = client.lock(NAME)
            alice.do(lock.acquire)
            assert alice.do(lock.owned)
            assert service.primary.keys() == {NAME.encode()}
            alice.do(lock.release)
        assert other.scripts_run() == 0


def test_a_failover_is_followed_though_its_messages_are_lost(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    """failover-with-lock: a primary that cannot be reached is reason enough to ask again."""
    service = make_service(replicas=1, sentinels=1)
    with FaultProxy(service.sentinels[0].port) as proxy:
        url = f"redis+sentinel://127.0.0.1:{proxy.port}/{SERVICE}"
        client = make_client(url, command_timeout=LONG)
        alice.do(client.ping)
        proxy.lose_messages(1000)
        service.primary.stop()
        assert _acquired(alice, client.lock(NAME))
    assert service.primary.keys() == {NAME.encode()}


def test_what_was_missed_while_no_sentinel_could_be_reached_is_made_good(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    """old-primary.

    The old primary still deliveries, but a sentinel that returns is queried, and obeyed.
    """
    service = make_service(replicas=1, sentinels=1)
    old = service.primary
    refuse_demotion(old)
    with FaultProxy(service.sentinels[0].port) as proxy:
        client = make_client(f"redis+sentinel://127.0.0.1:{proxy.port}/{SERVICE}", lease=60)
        kept, forgotten = client.lock("kept"), client.lock(NAME)
        alice.do(kept.acquire)
        alice.do(forgotten.acquire)
        service.replicated()
        proxy.refuse()
        new = service.fail_over()
        assert new.inspect.delete(NAME)
        assert alice.do(forgotten.owned)
        assert _streams(new) == 0
        proxy.heal()
        eventually(lambda: _streams(new) > 0 and _streams(old) == 0)
        eventually(lambda: alice.do(lambda: forgotten.lost))
        assert alice.do(kept.owned)


def _streams(server: Server) -> int:
    """The connections of clients: not the sentinels', nor the replicas'."""
    ours = ("evalsha", "eval", "hello", "subscribe")
    known = server.connections()
    return sum(c["cmd"] in ours and not c["name"].startswith("sentinel-") for c in known)


def test_a_closed_client_leaves_the_sentinels(
    alice: Any, make_client: MakeClient, make_service: MakeService
) -> None:
    service = make_service(replicas=0, sentinels=1)
    client = make_client(service.url)
    alice.do(client.ping)
    eventually(lambda: _watched(service.sentinels[0]))
    alice.do(client.close)
    eventually(lambda: not _watched(service.sentinels[0]))
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        alice.do(client.ping)


@pytest.mark.parametrize("name", ["sentinel_username", "sentinel_password"])
def test_sentinel_credentials_need_sentinels(make_client: MakeClient, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} needs a URL with sentinels"):
        make_client("redis://127.0.0.1", **{name: SECRET})


def test_a_sentinel_username_needs_its_password(make_client: MakeClient) -> None:
    with pytest.raises(ValueError, match="sentinel_username needs a sentinel_password"):
        make_client(f"redis+sentinel://127.0.0.1/{SERVICE}", sentinel_username="me")
