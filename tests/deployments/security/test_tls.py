"""TLS: the servers that the client trusts, the clients that the server trusts, all connections."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.certificates import hash_directory, make_certificates, make_self_signed
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

# Valkey's wheel is built without TLS.
pytestmark = pytest.mark.servers("redis")

NAME = "myLock"


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """An authority, and a certificate of it for the server's address."""
    return make_certificates(tmp_path / "right")


@pytest.fixture
def guarded(start_server: StartServer, right: Path) -> Server:
    return start_server(tls=right)


def _refusal(alice: Any, client: Any) -> str:
    with pytest.raises(holdfast.ConnectionError) as refused:
        alice.do(client.ping)
    return str(refused.value)


@pytest.mark.parametrize("where", ["file", "directory", "url"])
def test_certificates_of_a_trusted_authority(
    alice: Any, make_client: MakeClient, guarded: Server, right: Path, where: str
) -> None:
    ca = str(right / "ca.crt")
    if where == "directory":
        ca = str(hash_directory(right / "ca.crt", right / "authorities"))
    url = f"{guarded.url}?tls_ca={ca}" if where == "url" else guarded.url
    lock = make_client(url, **({} if where == "url" else {"tls_ca": ca})).lock(NAME)
    assert alice.do(lock.acquire)
    alice.do(lock.release)


def test_without_tls_ca_python_names_the_trust_store(
    alice: Any,
    make_client: MakeClient,
    guarded: Server,
    right: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine's OpenSSL may be a wheel's, which looks where the system has no certificates."""
    file = str(right / "ca.crt")
    directory = str(hash_directory(right / "ca.crt", right / "authorities"))
    for cafile, capath in ((file, None), (None, directory)):
        paths = ssl.get_default_verify_paths()._replace(cafile=cafile, capath=capath)
        monkeypatch.setattr(ssl, "get_default_verify_paths", lambda paths=paths: paths)
        alice.do(make_client(guarded.url).ping)


def test_the_environment_names_the_trust_store(
    alice: Any,
    make_client: MakeClient,
    guarded: Server,
    right: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is read for each client; a file without certificates is an error that names it."""
    monkeypatch.setenv("SSL_CERT_DIR", str(hash_directory(right / "ca.crt", right / "hashed")))
    alice.do(make_client(guarded.url).ping)
    monkeypatch.setenv("SSL_CERT_DIR", str(right))
    monkeypatch.setenv("SSL_CERT_FILE", str(right / "ca.crt"))
    alice.do(make_client(guarded.url).ping)
    empty = right / "empty"
    empty.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    said = _refusal(alice, make_client(guarded.url, retries=1))
    assert f"(SSL_CERT_FILE) from {empty}" in said


def test_unverified_with_tls_verify_off(
    alice: Any, make_client: MakeClient, guarded: Server
) -> None:
    assert alice.do(make_client(guarded.url, tls_verify=False).lock(NAME).acquire)


def test_an_unknown_authority(
    alice: Any, make_client: MakeClient, guarded: Server, tmp_path: Path
) -> None:
    """The error names the server, and says which option is about it."""
    other = str(make_certificates(tmp_path / "other") / "ca.crt")
    for options in ({}, {"tls_ca": other}):
        said = _refusal(alice, make_client(guarded.url, retries=1, **options))
        assert str(guarded.port) in said
        assert "tls_ca" in said


def test_another_hosts_certificate(
    alice: Any, make_client: MakeClient, start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(tls=make_certificates(tmp_path, "DNS:elsewhere.example"))
    ca = str(tmp_path / "ca.crt")
    said = _refusal(alice, make_client(server.url, tls_ca=ca, retries=1))
    assert "another host" in said


def test_the_hosts_name(
    alice: Any, make_client: MakeClient, start_server: StartServer, tmp_path: Path
) -> None:
    """What is checked is what the URL says, not where it leads."""
    server = start_server(tls=make_certificates(tmp_path, "DNS:localhost"))
    options: dict[str, Any] = {"tls_ca": str(tmp_path / "ca.crt"), "retries": 1}
    named = make_client(server.url.replace("127.0.0.1", "localhost"), **options)
    alice.do(named.ping)
    assert "another host" in _refusal(alice, make_client(server.url, **options))


def test_an_expired_certificate(
    alice: Any, make_client: MakeClient, start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(tls=make_certificates(tmp_path, days=-1))
    ca = str(tmp_path / "ca.crt")
    said = _refusal(alice, make_client(server.url, tls_ca=ca, retries=1))
    assert "expired" in said


def test_a_server_that_vouches_for_itself(
    alice: Any, make_client: MakeClient, start_server: StartServer, tmp_path: Path
) -> None:
    """Refused, unless its own certificate is the authority."""
    server = start_server(tls=make_self_signed(tmp_path))
    ca = str(tmp_path / "ca.crt")
    said = _refusal(alice, make_client(server.url, tls_ca=ca, retries=1))
    assert "self-signed" in said
    alice.do(make_client(server.url, tls_ca=str(tmp_path / "server.crt")).ping)


@pytest.fixture
def demanding(start_server: StartServer, right: Path) -> Server:
    """A server that requires a certificate."""
    return start_server({"tls-auth-clients": "yes"}, tls=right)


@pytest.fixture
def own(right: Path, tmp_path: Path) -> dict[str, str]:
    """A client's own certificate."""
    made = make_certificates(tmp_path / "own", "DNS:client.example", signed_by=right)
    return {"tls_cert": str(made / "server.crt"), "tls_key": str(made / "server.key")}


def test_a_client_with_its_certificate(
    alice: Any, make_client: MakeClient, demanding: Server, right: Path, own: dict[str, str]
) -> None:
    lock = make_client(demanding.url, tls_ca=str(right / "ca.crt"), **own).lock(NAME)
    assert alice.do(lock.acquire)


def test_a_client_without_a_certificate(
    alice: Any, make_client: MakeClient, demanding: Server, right: Path
) -> None:
    client = make_client(demanding.url, tls_ca=str(right / "ca.crt"), retries=2)
    said = _refusal(alice, client)
    assert "tls_cert" in said
    assert str(demanding.port) in said


def test_files_that_are_not_there(alice: Any, make_client: MakeClient, guarded: Server) -> None:
    for options in (
        {"tls_ca": "/no/such/ca.crt"},
        {"tls_ca": "/dev/null"},
        {"tls_verify": False, "tls_cert": "/no/such.crt", "tls_key": "/no/such.key"},
    ):
        said = _refusal(alice, make_client(guarded.url, retries=1, **options))
        assert "tls_c" in said


def test_tls_to_a_server_without(alice: Any, make_client: MakeClient, server: Server) -> None:
    client = make_client(server.url.replace("redis:", "rediss:"), retries=1)
    said = _refusal(alice, client)
    assert str(server.port) in said
    assert "TLS" in said


def test_no_tls_to_a_server_with(alice: Any, make_client: MakeClient, guarded: Server) -> None:
    client = make_client(guarded.url.replace("rediss:", "redis:"), retries=1)
    assert str(guarded.port) in _refusal(alice, client)


def test_messages_and_renewals_go_over_tls(
    alice: Any, bob: Any, make_client: MakeClient, guarded: Server, right: Path
) -> None:
    """The server has no other port: who is woken and renewed is so over TLS."""
    ca = str(right / "ca.crt")
    lock = make_client(guarded.url, tls_ca=ca, lease=3).lock(NAME)
    theirs = make_client(guarded.url, tls_ca=ca).lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: guarded.subscribers("redisson_lock__channel:{myLock}") == 1)
    before = guarded.scripts_run() or 0
    eventually(lambda: (guarded.scripts_run() or 0) >= before + 2)
    assert lock.lost is False
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


def test_a_client_goes_on_after_a_break(
    alice: Any, bob: Any, make_client: MakeClient, guarded: Server, right: Path
) -> None:
    """Connections of all purposes are made anew, over TLS."""
    ca = str(right / "ca.crt")
    lock = make_client(guarded.url, tls_ca=ca).lock(NAME)
    theirs = make_client(guarded.url, tls_ca=ca).lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: guarded.subscribers("redisson_lock__channel:{myLock}") == 1)
    guarded.kill_connections("normal")
    guarded.kill_connections("pubsub")
    assert alice.do(lock.owned) is True
    eventually(lambda: guarded.subscribers("redisson_lock__channel:{myLock}") == 1)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
