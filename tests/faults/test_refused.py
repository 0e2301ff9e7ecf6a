"""Wrong addresses, wrong passwords, missing rights, things that are no server: told at once."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT, NAME
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.impostors import closed_port, impostor
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

SECRET = "hunter2"

IMPOSTORS: dict[str, tuple[bytes | None, bool]] = {
    "silent": (None, False),
    "hangs up": (b"", True),
    "speaks http": (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", False),
    "speaks nonsense": (b"\x00\xff\x00\xff\r\n", False),
    "answers half": (b"$100\r\nhalf", True),
    "stops in the middle": (b"$100\r\nhalf", False),
    "claims too much": (b"*2147483647\r\n", False),
    "claims a negative length": (b"$-7\r\n", False),
}


def test_no_server_listens(alice: Any, make_client: MakeClient) -> None:
    """connection-reset: a refused connection is a ConnectionError that names the address."""
    with closed_port() as port:
        client = make_client(f"redis://127.0.0.1:{port}", command_timeout=IMPATIENT)
        for _ in range(3):
            with pytest.raises(holdfast.ConnectionError, match=str(port)):
                alice.do(client.lock(NAME).acquire, blocking=False)
        with pytest.raises(ConnectionError):
            alice.do(client.ping)


def test_no_such_socket(alice: Any, make_client: MakeClient, tmp_path: Path) -> None:
    """The same for a unix socket."""
    client = make_client(f"unix://{tmp_path}/none.sock", command_timeout=IMPATIENT)
    with pytest.raises(holdfast.ConnectionError, match=r"none\.sock"):
        alice.do(client.ping)


def test_no_such_host(alice: Any, make_client: MakeClient) -> None:
    """A name that cannot be resolved is a ConnectionError that tells it."""
    client = make_client("redis://no-such-host.invalid:6379", command_timeout=2)
    with pytest.raises(holdfast.ConnectionError, match=r"no-such-host\.invalid"):
        alice.do(client.ping)


@pytest.mark.values("answer", IMPOSTORS.values(), ids=IMPOSTORS.keys())
def test_not_a_redis_server(
    alice: Any, make_client: MakeClient, answer: tuple[bytes | None, bool]
) -> None:
    """lasting-refusal: whatever it answers.

    An error that names the address, within the timeouts.
    """
    with impostor(answer[0], closes=answer[1]) as port:
        url = f"redis://127.0.0.1:{port}"
        client = make_client(url, connect_timeout=0.3, command_timeout=0.3)
        with pytest.raises((holdfast.ConnectionError, holdfast.ServerError), match=str(port)):
            alice.do(client.lock(NAME).acquire)


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
@pytest.mark.values("answer", IMPOSTORS.values(), ids=IMPOSTORS.keys())
def test_failing_again_and_again_leaks_nothing(
    flavour: Flavour, alice: Any, answer: tuple[bytes | None, bool]
) -> None:
    """However often it fails, the number of open files and of threads does not grow."""

    def fail() -> None:
        client = flavour.client(url, connect_timeout=0.05, command_timeout=0.05)
        with pytest.raises((holdfast.ConnectionError, holdfast.ServerError)):
            alice.do(client.lock(NAME).acquire)
        alice.do(client.close)

    with impostor(answer[0], closes=answer[1]) as port:
        url = f"redis://127.0.0.1:{port}"
        for _ in range(3):
            fail()
        files, threads = _open("fd"), _open("task")
        for _ in range(10):
            fail()
        eventually(lambda: _open("fd") < files + 5, what="files are closed again")
        eventually(lambda: _open("task") < threads + 5, what="threads end again")


def _open(what: str) -> int:
    gc.collect()
    return len(list(Path(f"/proc/self/{what}").iterdir()))


@pytest.fixture
def guarded(start_server: StartServer) -> Server:
    """A server with a password."""
    return start_server(password=SECRET)


def _with_login(server: Server, login: str) -> str:
    return server.url.replace("redis://", f"redis://{login}@")


@pytest.mark.parametrize("login", ["", ":wrong" + SECRET, f"unknown:{SECRET}x"], ids=str)
def test_a_wrong_password_fails_at_once(
    alice: Any, make_client: MakeClient, guarded: Server, login: str
) -> None:
    """lasting-refusal: ServerError with the server's code; the password is in no message."""
    url = _with_login(guarded, login) if login else guarded.url
    client = make_client(url, command_timeout=600)
    with pytest.raises(holdfast.ServerError, match=str(guarded.port)) as refused:
        alice.do(client.lock(NAME).acquire)
    assert refused.value.code in {"WRONGPASS", "NOAUTH"}
    assert SECRET not in str(refused.value) + repr(refused.value) + repr(client)


def test_the_right_password(alice: Any, make_client: MakeClient, guarded: Server) -> None:
    """AUTH with a password, and with a user and a password, from the URL and from keywords."""
    guarded.inspect.acl_setuser(
        "holder", enabled=True, passwords=[f"+{SECRET}"], keys=["*"], channels=["*"],
        categories=["+@all"],
    )  # fmt: skip
    ways: tuple[tuple[str, dict[str, str]], ...] = (
        (_with_login(guarded, f":{SECRET}"), {}),
        (_with_login(guarded, f"holder:{SECRET}"), {}),
        (guarded.url, {"username": "holder", "password": SECRET}),
        (f"{guarded.url}?username=holder&password={SECRET}", {}),
    )
    for url, options in ways:
        lock = make_client(url, **options).lock(NAME)
        assert alice.do(lock.acquire)
        assert SECRET not in repr(lock) + repr(make_client(url, **options))
        alice.do(lock.release)


def test_missing_rights(alice: Any, make_client: MakeClient, guarded: Server) -> None:
    """lasting-refusal: NOPERM is an exact error at once, not a wait."""
    guarded.inspect.acl_setuser(
        "guest", enabled=True, passwords=[f"+{SECRET}"], keys=["other*"], channels=["*"],
        categories=["+@all"],
    )  # fmt: skip
    url = _with_login(guarded, f"guest:{SECRET}")
    lock = make_client(url, command_timeout=600).lock(NAME)
    with pytest.raises(holdfast.ServerError, match=NAME) as refused:
        alice.do(lock.acquire)
    assert refused.value.code == "NOPERM"
    assert guarded.keys() == set()


def test_a_unix_socket(alice: Any, make_client: MakeClient, private_server: Server) -> None:
    """Locks over a unix socket, in a separate database."""
    lock = make_client(f"unix://{private_server.socket_path}?db=2").lock(NAME)
    assert alice.do(lock.acquire)
    assert private_server.keys() == set()
    assert private_server.connect(db=2).exists(NAME)
    alice.do(lock.release)


def test_a_database_number(alice: Any, make_client: MakeClient, private_server: Server) -> None:
    """The path of the URL is the database."""
    lock = make_client(private_server.url.replace("/0", "/5")).lock(NAME)
    assert alice.do(lock.acquire)
    assert private_server.connect(db=5).exists(NAME)
    alice.do(lock.release)


def test_a_client_name(alice: Any, make_client: MakeClient, private_server: Server) -> None:
    """`client_name` is where the names in CLIENT LIST begin."""
    alice.do(make_client(private_server.url, client_name="payments").ping)
    names = {client["name"] for client in private_server.connections()}
    assert any(name.startswith("payments:") for name in names)
