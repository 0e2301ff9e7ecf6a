"""Clients made of those of redis-py and valkey-py."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.sentinel
import valkey

import holdfast
import holdfast.asyncio
from holdfast._clients.from_redis import read_source
from tests.support.actors import Flavour
from tests.support.clusters import LoneCluster
from tests.support.fixtures import StartServer
from tests.support.sentinels import WatchedServer
from tests.support.servers import Server

LIBRARIES = ["redis", "redis.asyncio", "valkey", "valkey.asyncio"]
TLS = {"ssl": True, "ssl_check_hostname": True}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Any:
    """Each library, for threads and for asyncio."""
    return importlib.import_module(request.param)


def plain(library: Any) -> Any:
    """redis.Redis or valkey.Valkey."""
    return getattr(library, "Redis", None) or library.Valkey


def test_settings_of_a_client_carry_over(library: Any) -> None:
    source = plain(library)(
        host="h.example", port=7, db=3, username="u", password="p", client_name="c", protocol=3,
        ssl_ca_certs="/ca", ssl_certfile="/cert", ssl_keyfile="/key", **TLS,
    )  # fmt: skip
    expected = {
        "username": "u", "password": "p", "client_name": "c", "protocol": 3, "tls_ca": "/ca",
        "tls_cert": "/cert", "tls_key": "/key",
    }  # fmt: skip
    for each in (source, source.connection_pool):
        assert read_source(each, {}) == ("rediss://h.example:7/3", expected)


def test_settings_of_a_pool_that_a_url_made_carry_over(library: Any) -> None:
    pool = library.ConnectionPool.from_url("redis://u:p%40@[::1]:7/2?protocol=3")
    assert read_source(pool, {}) == (
        "redis://[::1]:7/2", {"username": "u", "password": "p@", "protocol": 3},
    )  # fmt: skip
    assert read_source(library.ConnectionPool.from_url("redis://h"), {}) == ("redis://h:6379/0", {})
    unix = library.ConnectionPool.from_url("unix:///a%20b/s?db=4")
    assert read_source(unix, {})[0] == f"unix://{unix.connection_kwargs['path']}?db=4".replace(
        " ", "%20"
    )


def test_unverified_tls_carries_over(library: Any) -> None:
    source = plain(library)(ssl=True, ssl_cert_reqs="none", ssl_check_hostname=False)
    url, options = read_source(source, {})
    assert (url, options["tls_verify"]) == ("rediss://localhost:6379/0", False)


def test_explicit_options_win(library: Any) -> None:
    source = plain(library)(host="127.0.0.1", port=1, client_name="theirs", password="p")
    client = holdfast.Client.from_redis(source, client_name="ours", lease=7, retries=0)
    assert repr(client) == "<holdfast.Client redis://127.0.0.1:1/0>"
    with pytest.raises(TypeError, match="unknown_option"):
        holdfast.Client.from_redis(source, unknown_option=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="lease"):
        holdfast.asyncio.Client.from_redis(source, lease=0)


class OwnConnection(redis.Connection):
    """One that a program has made."""


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"ssl": True, "ssl_check_hostname": False}, "tls_verify=True overrides"),
     ({**TLS, "ssl_ca_data": "PEM"}, "ssl_ca_data"), ({**TLS, "ssl_ciphers": "x"}, "ssl_ciphers"),
     ({**TLS, "ssl_password": "x"}, "ssl_password"),
     ({**TLS, "ssl_ca_certs": "/f", "ssl_ca_path": "/d"}, "ssl_ca_path"),
     ({"connection_pool": redis.ConnectionPool(OwnConnection)}, "OwnConnection"),
     ({"redis_connect_func": print}, "redis_connect_func")],
    ids=["host-name", "ca-data", "ciphers", "key-password", "two-cas", "connection", "hook"],
)  # fmt: skip
def test_what_cannot_carry_over_is_refused_by_name(settings: dict[str, Any], named: str) -> None:
    if "redis_connect_func" in settings:
        source: Any = redis.ConnectionPool(**settings)
    else:
        source = redis.Redis(**settings)
    with pytest.raises(ValueError, match=named):
        holdfast.Client.from_redis(source)


def test_an_explicit_option_overrides_what_cannot_carry_over() -> None:
    source = redis.Redis(ssl=True, ssl_check_hostname=False, ssl_ca_data="PEM")
    _, carried = read_source(source, {"tls_verify": True, "tls_ca": "/ca"})
    assert set(carried) <= {"protocol"}  # which older releases name always


@pytest.mark.servers("redis")
def test_no_reference_to_the_source_is_kept(
    library: Any, flavour: Flavour, server: Server, alice: Any
) -> None:
    source = plain(library)(port=server.port)
    gone = [weakref.ref(source), weakref.ref(source.connection_pool)]
    module = holdfast.asyncio if flavour.asyncio else holdfast
    client = module.Client.from_redis(source)
    del source
    gc.collect()
    assert [each() for each in gone] == [None, None]
    alice.do(client.ping)
    alice.do(client.close)


@pytest.mark.servers("redis")
@pytest.mark.flavours("sync")
def test_no_socket_is_shared_with_the_source(flavour: Flavour, server: Server) -> None:
    source = redis.Redis(port=server.port)
    source.ping()
    with holdfast.Client.from_redis(source) as client:
        client.ping()
        source.close()
        source.connection_pool.disconnect()
        client.ping()
    assert source.ping()


def test_what_is_no_client_is_a_type_error() -> None:
    for source in (None, "redis://h", redis.sentinel.Sentinel([]), holdfast.Client()):
        with pytest.raises(TypeError, match="source must be a client"):
            holdfast.Client.from_redis(source)


def test_a_service_under_sentinel_carries_over(library: Any) -> None:
    module = importlib.import_module(f"{library.__name__}.sentinel")
    sentinel = module.Sentinel(
        [("a", 1), ("b", 2)], sentinel_kwargs={"username": "su", "password": "sp"}, password="p"
    )
    assert read_source(sentinel.master_for("my/service", db=2), {}) == (
        "redis+sentinel://a:1,b:2/my%2Fservice/2",
        {"password": "p", "sentinel_username": "su", "sentinel_password": "sp"},
    )
    with pytest.raises(ValueError, match="slave_for"):
        holdfast.Client.from_redis(sentinel.slave_for("service"))
    with pytest.raises(ValueError, match="sentinel_kwargs"):
        holdfast.Client.from_redis(sentinel.master_for("service", **TLS))


class Provider(redis.CredentialProvider):
    """Credentials that are looked up."""

    def __init__(self, word: str) -> None:
        self.word = word

    def get_credentials(self) -> tuple[str, str]:
        return "default", self.word


class AsyncProvider(redis.CredentialProvider):
    """The same for asyncio only."""

    async def get_credentials_async(self) -> tuple[str]:
        return ("word",)


@pytest.mark.servers("redis")
def test_a_credential_provider_carries_over(
    flavour: Flavour, start_server: StartServer, alice: Any
) -> None:
    server = start_server(password="word")
    module = holdfast.asyncio if flavour.asyncio else holdfast
    for provider in (Provider("word"), AsyncProvider()):
        source = redis.Redis(port=server.port, credential_provider=provider)
        client = module.Client.from_redis(source)
        alice.do(client.ping)
        alice.do(client.close)


@pytest.mark.servers("redis")
def test_a_lock_is_held_on_the_server_of_the_source(
    flavour: Flavour, server: Server, alice: Any
) -> None:
    module = holdfast.asyncio if flavour.asyncio else holdfast
    for source in (
        redis.Redis(port=server.port),
        redis.asyncio.Redis(unix_socket_path=str(server.socket_path)),
        valkey.Valkey(port=server.port, socket_timeout=1),
    ):
        client = module.Client.from_redis(source)
        assert alice.do(client.lock("name").acquire)
        assert server.keys() == {b"name"}
        alice.do(client.lock("name").release)
        alice.do(client.close)


@pytest.mark.parametrize("deployment", [WatchedServer, LoneCluster])
def test_a_deployment_carries_over(deployment: type[Server]) -> None:
    """A cluster whose client has looked around, and a service under Sentinel."""
    with deployment() as server:
        if deployment is LoneCluster:
            source: Any = redis.RedisCluster(host="127.0.0.1", port=server.port)
        else:
            known = [("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))]
            source = redis.sentinel.Sentinel(known).master_for("mymaster")
        with holdfast.Client.from_redis(source) as client, client.lock("name"):
            assert server.keys() == {b"name"}
        source.close()


def test_a_cluster_for_asyncio_carries_over_before_it_is_connected() -> None:
    source = redis.asyncio.RedisCluster(host="h", port=7, password="p", **TLS)
    url, carried = read_source(source, {})
    assert (url, carried["password"]) == ("rediss+cluster://h:7", "p")


@pytest.mark.parametrize("library", [redis.asyncio.RedisCluster, valkey.asyncio.ValkeyCluster])
def test_an_address_map_carries_over(library: Any) -> None:
    def remap(address: tuple[str, int]) -> tuple[str, int]:
        return ("localhost", address[1])

    source = library(host="h", port=7, address_remap=remap)
    _, carried = read_source(source, {})
    assert carried["address_map"] is remap


def test_nothing_is_imported_for_it() -> None:
    program = "import sys, holdfast; assert not {'redis', 'valkey', 'inspect'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path.cwd())
