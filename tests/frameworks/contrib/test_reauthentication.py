"""Credentials that expire: renewed on the connections that are open, none of which is cut."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import pytest

from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

PERIOD = 0.2
LASTING = 3.0
"""A lease that is renewed each second: a busy machine keeps it."""
NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"


class Tokens:
    """User names and passwords, which are valid for a time."""

    _all: ClassVar[WeakKeyDictionary[Server, Tokens]] = WeakKeyDictionary()

    @classmethod
    def of(cls, server: Server) -> Tokens:
        """Those of a server."""
        return cls._all[server]

    def __init__(self, server: Server) -> None:
        self._server = server
        self._all[server] = self
        self.calls: list[float] = []
        self.issue("first")

    def issue(self, user: str) -> None:
        rights = ("on", ">word", "+@all", "~*", "&*")
        self._server.inspect.execute_command("ACL", "SETUSER", user, *rights)
        self.given: Any = (user, "word")

    def end(self, user: str) -> None:
        """The server ends this user's connections, too."""
        self._server.inspect.execute_command("ACL", "DELUSER", user)

    def __call__(self) -> Any:
        self.calls.append(time.monotonic())
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.fixture
def guarded(start_server: StartServer) -> Server:
    """A server of the test's own, which has users."""
    return start_server()


@pytest.fixture
def tokens(guarded: Server) -> Tokens:
    return Tokens(guarded)


def users(server: Server) -> dict[str, str]:
    """The users of the connections, by the connections' numbers."""
    return {each["id"]: each["user"] for each in server.connections() if each["user"] != "default"}


def users_beside(some: set[str], server: Server) -> set[str]:
    """The users of the other connections."""
    return {user for number, user in users(server).items() if number not in some}


def subscribers(server: Server) -> set[str]:
    """The numbers of the connections with subscriptions."""
    return {each["id"] for each in server.connections() if each["sub"] != "0"}


MakeLock = Callable[..., Any]


@pytest.fixture
def make_lock(guarded: Server, tokens: Tokens, make_client: MakeClient) -> MakeLock:
    """The same lock of ever another client, with tokens for its password."""

    def make(**options: Any) -> Any:
        settings: dict[str, Any] = {"lease": LASTING, "reauthenticate": PERIOD, **options}
        return make_client(guarded.url, password=tokens, **settings).lock(NAME)

    return make


def waiter(server: Server, bob: Any, lock: Any) -> Any:
    """Let `bob` wait for the lock, once he has subscribed."""
    waiting = bob.begin(lock.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    return waiting


@pytest.mark.parametrize("protocol", [2, 3])
def test_open_connections_outlive_their_first_credentials(
    guarded: Server, make_lock: MakeLock, alice: Any, bob: Any, protocol: int
) -> None:
    """Those for calls, for renewals, and for messages, of a holder and of a waiter."""
    near, far = make_lock(protocol=protocol), make_lock(protocol=protocol)
    tokens = Tokens.of(guarded)
    alice.do(near.acquire)
    waiting = waiter(guarded, bob, far)
    eventually(lambda: len(users(guarded)) >= 4)  # with the one for renewals
    before = set(users(guarded))
    tokens.issue("second")
    eventually(lambda: set(users(guarded).values()) == {"second"})
    tokens.end("first")
    assert before <= set(users(guarded))
    assert alice.do(near.owned)
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


def test_a_hold_is_renewed_across_the_end_of_many_tokens(
    guarded: Server, tokens: Tokens, make_lock: MakeLock, alice: Any
) -> None:
    lock = make_lock(lease=KEPT)
    alice.do(lock.acquire)
    for number in range(5):
        before, user = tokens.given[0], f"user{number}"
        eventually(lambda: len(users(guarded)) >= 2)
        tokens.issue(user)
        eventually(lambda user=user: set(users(guarded).values()) == {user})
        tokens.end(before)
    assert alice.do(lock.owned)
    alice.do(lock.release)


def test_without_resp3_subscriptions_that_end_with_their_credentials_are_made_anew(
    start_server: StartServer, make_client: MakeClient, alice: Any, bob: Any, tmp_path: Path
) -> None:
    """Until then they stay; the waiter looks at the lock once it has subscribed again."""
    without_hello = tmp_path / "server.conf"
    without_hello.write_text('rename-command HELLO ""\n')
    guarded = start_server({"include": str(without_hello)})
    tokens = Tokens(guarded)
    options: dict[str, Any] = {"password": tokens, "reauthenticate": PERIOD, "lease": LASTING}
    near, far = (make_client(guarded.url, **options).lock(NAME) for _ in range(2))
    alice.do(near.acquire)
    waiting = waiter(guarded, bob, far)
    first = subscribers(guarded)
    tokens.issue("second")
    eventually(lambda: users_beside(first, guarded) == {"second"})
    assert subscribers(guarded) == first
    tokens.end("first")
    eventually(lambda: subscribers(guarded) and not subscribers(guarded) & first)
    assert set(users(guarded).values()) == {"second"}
    alice.do(near.release)
    assert waiting.result(BOUND)
    bob.do(far.release)


@pytest.mark.parametrize(
    "given", [("first", "wrong"), RuntimeError("the store is away")], ids=["refused", "raises"]
)
def test_a_failure_keeps_the_session_is_logged_and_tried_again_sooner(
    guarded: Server, make_lock: MakeLock, alice: Any, caplog: Any, given: Any
) -> None:
    period = 3.0
    lock = make_lock(reauthenticate=period)
    tokens = Tokens.of(guarded)
    alice.do(lock.acquire)
    eventually(lambda: len(users(guarded)) == 2)  # with the one for renewals
    before = users(guarded)
    right, tokens.given = tokens.given, given
    with caplog.at_level(logging.WARNING, "holdfast"):
        eventually(lambda: "no newer credentials" in caplog.text)
        eventually(lambda: len(tokens.calls) > 6)
    assert min(later - call for call, later in pairwise(tokens.calls[-4:])) < period / 2
    assert before.items() <= users(guarded).items()
    assert "wrong" not in caplog.text
    assert alice.do(lock.owned)
    tokens.given = right
    tokens.issue("second")
    eventually(lambda: set(users(guarded).values()) == {"second"})
    assert set(before) <= set(users(guarded))
    alice.do(lock.release)


def test_a_password_that_changes_is_sent_again(
    guarded: Server, make_lock: MakeLock, alice: Any
) -> None:
    tokens = Tokens.of(guarded)
    lock = make_lock()
    alice.do(lock.acquire)
    guarded.inspect.execute_command("ACL", "SETUSER", "first", "resetpass", ">another")
    tokens.given = ("first", "another")
    before, calls = users(guarded), len(tokens.calls)
    eventually(lambda: len(tokens.calls) > calls + 1)
    assert before.items() <= users(guarded).items()
    assert not [entry for entry in guarded.inspect.acl_log() if entry["reason"] == "auth"]
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_the_guard_has_the_newest_credentials(
    guarded: Server, tokens: Tokens, start_child: StartChild, make_client: MakeClient, alice: Any
) -> None:
    child = start_child(
        """
        given = ["first", "word"]
        client = holdfast.Client(
            URL, guard=True, lease=60, password=lambda: tuple(given), reauthenticate=PERIOD
        )
        client.lock(NAME).acquire()
        say("held")
        given[0] = hear()
        hear("end")
        """,
        URL=guarded.url,
        NAME=NAME,
        PERIOD=PERIOD,
    )
    child.expect("held", 30.0)
    tokens.issue("second")
    child.send("second")
    eventually(lambda: set(users(guarded).values()) == {"second"})
    tokens.end("first")
    next_owner = make_client(guarded.url).lock(NAME)
    assert not alice.do(next_owner.acquire, blocking=False)
    child.kill()
    assert alice.do(next_owner.acquire, timeout=5.0)
    alice.do(next_owner.release)


def test_it_needs_a_callable(make_client: MakeClient) -> None:
    with pytest.raises(ValueError, match="reauthenticate needs a password that is a callable"):
        make_client("redis://127.0.0.1:1", password="word", reauthenticate=5.0)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1.0, ValueError), ("5", TypeError), (True, TypeError)]
)
def test_a_period_that_is_none_is_refused(
    make_client: MakeClient, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="reauthenticate must be"):
        make_client("redis://127.0.0.1:1", password=lambda: "word", reauthenticate=value)


WITHOUT_A_LOCK = """
import logging
words = iter(["word"])  # the store is away after the first one
logging.lastResort.emit = lambda record: say("logged", record.getMessage().split(":")[0])
client = holdfast.Client(URL, username="first", password=lambda: next(words), reauthenticate=0.2)
made = getattr(client, MAKE)(NAME)
made.delete()
hear("end")
"""


@pytest.mark.parametrize("make", ["semaphore", "permit_semaphore", "count_down_latch"])
def test_the_failure_is_logged_where_no_lock_is_used(
    guarded: Server, tokens: Tokens, start_child: StartChild, make: str
) -> None:
    child = start_child(WITHOUT_A_LOCK, URL=guarded.url, NAME=NAME, MAKE=make)
    logged = child.expect("logged")
    assert logged == ["the", "client", "has", "no", "newer", "credentials"]
