"""A password that is a callable: called for each attempt to connect."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("redis")


class BrokenStore(Exception):
    """What a store of secrets raises."""


class Secret:
    """A password that rotates."""

    def __init__(self, word: Any) -> None:
        self.word = word
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        if isinstance(self.word, BaseException):
            raise self.word
        return self.word


@pytest.fixture
def guarded(start_server: StartServer) -> Server:
    """A server with a password."""
    return start_server(password="first")


def rotate(server: Server, word: str) -> None:
    """Another password from now on, for new connections; the old ones are cut."""
    server.inspect.config_set("requirepass", word)
    server.password = word
    server.kill_connections()


def test_each_connection_has_the_password_of_its_time(
    guarded: Server, make_client: MakeClient, alice: Any
) -> None:
    secret = Secret("first")
    client = make_client(guarded.url, password=secret, lease=KEPT)
    lock = client.lock("name")
    assert alice.do(lock.acquire)
    secret.word = "second"
    rotate(guarded, "second")
    before = secret.calls
    assert alice.do(lock.owned)
    assert secret.calls > before
    alice.do(lock.release)


def test_a_pair_is_user_name_and_password(
    guarded: Server, make_client: MakeClient, alice: Any
) -> None:
    guarded.inspect.execute_command("ACL SETUSER app on >word +@all ~* &*")
    client = make_client(guarded.url, password=lambda: ("app", "word"))
    alice.do(client.ping)
    assert "app" in {connection["user"] for connection in guarded.connections()}
    named = make_client(guarded.url, username="app", password=lambda: "word")
    alice.do(named.ping)


@pytest.mark.parametrize(
    ("word", "cause"),
    [(BrokenStore("first"), BrokenStore), (SystemExit(), SystemExit), (None, TypeError),
     (("a", "b", "c"), TypeError), ("\ud800", UnicodeEncodeError)],
    ids=["raises", "exits", "none", "triple", "no-text"],
)  # fmt: skip
def test_what_the_callable_raises_is_the_cause_of_the_connection_error(
    guarded: Server, make_client: MakeClient, alice: Any, word: Any, cause: type[BaseException]
) -> None:
    client = make_client(guarded.url, password=Secret(word), retries=1)
    with pytest.raises(holdfast.ConnectionError, match=cause.__name__) as caught:
        alice.do(client.lock("name").acquire)
    assert isinstance(caught.value.__cause__, cause)
    assert "first" not in str(caught.value)


def test_a_wrong_password_fails_at_once_and_the_next_call_asks_again(
    guarded: Server, make_client: MakeClient, alice: Any
) -> None:
    secret = Secret("wrong")
    client = make_client(guarded.url, password=secret)
    with pytest.raises(holdfast.ServerError) as caught:
        alice.do(client.ping)
    assert caught.value.code == "WRONGPASS"
    assert "wrong" not in str(caught.value)
    secret.word = "first"
    eventually(lambda: answers(client, alice))


def answers(client: Any, alice: Any) -> bool:
    try:
        alice.do(client.ping)
    except holdfast.ServerError:  # of an attempt with the old word
        return False
    return True


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def test_a_callable_that_blocks_delays_its_own_client_only_and_within_its_bounds(
    guarded: Server, make_client: MakeClient, alice: Any, bob: Any, gate: threading.Event
) -> None:
    asked = threading.Event()

    def blocked() -> str:
        asked.set()
        gate.wait()
        return "first"

    slow = make_client(guarded.url, password=blocked, connect_timeout=0.2, command_timeout=0.5)
    waiting = alice.begin(slow.ping)
    assert asked.wait(BOUND)
    quick = make_client(guarded.url, password=lambda: "first")
    bob.do(quick.ping)
    with pytest.raises(holdfast.ConnectionError, match="password"):
        waiting.result(BOUND)
    gate.set()
    eventually(lambda: pinged(slow, alice))


def pinged(client: Any, alice: Any) -> bool:
    try:
        alice.do(client.ping)
    except holdfast.ConnectionError:
        return False
    return True


def test_a_password_that_is_neither_text_nor_callable_is_refused(make_client: MakeClient) -> None:
    with pytest.raises(TypeError, match="password must be str or a callable, not int"):
        make_client("redis://127.0.0.1:1", password=5)


@pytest.mark.flavours("sync")
def test_a_child_of_fork_asks_for_itself(
    guarded: Server, start_child: StartChild, flavour: Any
) -> None:
    child = start_child(
        """
        def password():
            import threading
            threading.current_thread()
            return "first"
        client = holdfast.Client(URL, password=password)
        client.ping()
        pid = os.fork()
        if pid == 0:
            with client.lock("name"):
                pass
            os._exit(0)
        say("child", os.waitpid(pid, 0)[1])
        """,
        python=("-W", "ignore::DeprecationWarning"),  # of each fork() of threads, from 3.12 on
        URL=guarded.url,
    )
    assert child.expect("child") == ["0"]
    assert child.wait() == 0
    assert child.errors == ""


@pytest.mark.flavours("sync")
def test_the_interpreter_ends_while_the_callable_blocks(
    guarded: Server, start_child: StartChild, flavour: Any
) -> None:
    child = start_child(
        """
        import contextlib
        asked = threading.Event()
        def password():
            asked.set()
            let_pass(3)  # blocks
            return "first"
        client = holdfast.Client(URL, password=password)
        def ping():
            with contextlib.suppress(holdfast.ConnectionError):
                client.ping()
        threading.Thread(target=ping, daemon=True).start()
        asked.wait()
        say("ends")
        """,
        URL=guarded.url,
    )
    child.expect("ends")
    assert child.wait() == 0
    assert child.errors == ""
