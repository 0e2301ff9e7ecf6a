"""What `close` ends, what it leaves, and what works before and after."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest

import holdfast
from tests.contract.process.conftest import CHANNEL, NAME, SHORT, Notices, holds
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

#: Of one test, which collects the garbage of earlier ones: their notices name other locks.
FORGOTTEN = "of a forgotten client"


def test_a_closed_client_is_a_connection_error(alice: Any, client: Any, server: Server) -> None:
    """Everything that would ask the server raises; closing again does not."""
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    alice.do(client.close)
    alice.do(client.close)
    asks = [lock.acquire, lock.locked, lock.owned, lock.hold_count, lock.ttl, client.ping]
    for ask in (*asks, lock.release, lock.force_release, lambda: lock.extend(1)):
        with pytest.raises(holdfast.ConnectionError, match="closed"):
            alice.do(ask)
    assert NAME in repr(lock)
    assert server.keys() == set()


def test_close_before_any_use(alice: Any, make_client: MakeClient) -> None:
    """A client that never connected closes without a word."""
    client = make_client("redis://127.0.0.1:1")
    alice.do(client.close)
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        alice.do(client.ping)


def test_close_ends_waits_with_an_error(
    alice: Any, bob: Any, carol: Any, client: Any, server: Server
) -> None:
    """No waiter is left hanging."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    waiting = [actor.begin(client.lock(NAME).acquire) for actor in (alice, bob)]
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    carol.do(client.close)
    for each in waiting:
        assert isinstance(each.exception(BOUND), holdfast.ConnectionError)
    eventually(lambda: server.subscribers(CHANNEL) == 0)


def test_close_releases_nothing_and_names_what_was_held(
    alice: Any, client: Any, server: Server
) -> None:
    """A ResourceWarning names the lock; the hold stays on the server until its lease is over."""
    alice.do(client.lock(NAME).acquire)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        alice.do(client.close)
    (told,) = [warning for warning in caught if NAME in str(warning.message)]
    assert told.category is ResourceWarning
    assert list(holds(server).values()) == [1]
    assert server.inspect.pttl(NAME) > 0


@pytest.mark.realtime
def test_close_stops_renewing(
    alice: Any, make_client: MakeClient, server: Server, notices: Notices
) -> None:
    """The hold expires with its lease."""
    client = make_client(server.url, lease=SHORT)
    alice.do(client.lock(NAME).acquire)
    alice.do(client.close)
    eventually(lambda: holds(server) == {})
    assert notices.naming(NAME)


def test_what_a_closed_client_held_is_not_released(
    alice: Any, client: Any, server: Server, notices: Notices
) -> None:
    """A release after `close` says that the client was closed, not that nothing was held."""
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    alice.do(client.close)
    for _ in range(2):
        with pytest.raises(holdfast.ConnectionError, match="closed"):
            alice.do(lock.release)
    assert list(holds(server).values()) == [1]


def _connections(server: Server) -> set[str]:
    """The numbers of all; an earlier test's client may not have been collected yet."""
    return {each["id"] for each in server.connections()} if server.real else set()


def test_a_client_that_is_forgotten_is_closed(
    flavour: Flavour, alice: Any, server: Server, notices: Notices
) -> None:
    """Also where somebody waits for a loss: a warning names what it held."""
    before = _connections(server)
    client = flavour.client(server.url)
    alice.do(client.lock(FORGOTTEN, on_lost=print).acquire)
    forgotten = weakref.ref(client)
    del client
    eventually(lambda: gc.collect() >= 0 and notices.naming(FORGOTTEN))
    eventually(lambda: gc.collect() >= 0 and forgotten() is None)
    assert all("was closed while it held" in text for text in notices.naming(FORGOTTEN))
    eventually(lambda: _connections(server) <= before)


def test_close_after_orderly_use_is_silent(
    alice: Any, make_client: MakeClient, server: Server, notices: Notices
) -> None:
    """Nothing held, nothing said; and no connection stays open."""
    before = _connections(server)
    client = make_client(server.url)
    alice.inside(client.lock(NAME), lambda _: None)
    alice.do(client.close)
    assert notices.texts == []
    eventually(lambda: _connections(server) <= before)


def test_a_client_closes_itself_in_a_with_block(
    flavour: Flavour, alice: Any, server: Server
) -> None:
    """`with holdfast.Client(…) as client:` gives the client and closes it."""
    client = flavour.client(server.url)

    def body(entered: Any) -> Any:
        assert entered is client
        yield entered.ping()

    alice.inside(client, body)
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        alice.do(client.ping)


def test_one_closed_client_leaves_others_alone(
    alice: Any, make_client: MakeClient, server: Server
) -> None:
    """Clients of one process share an engine, not their lives."""
    one, other = make_client(server.url), make_client(server.url)
    alice.do(other.lock(NAME).acquire)
    alice.do(one.ping)
    alice.do(one.close)
    assert alice.do(other.lock(NAME).hold_count) == 1
    alice.do(other.lock(NAME).release)


def test_the_address_of_a_client_without_a_url(
    flavour: Flavour, alice: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HOLDFAST_URL is where a client without a URL goes."""
    monkeypatch.setenv("HOLDFAST_URL", server.url)
    module = flavour.client(server.url).__class__
    client = module()
    assert alice.do(client.lock(NAME).acquire)
    assert holds(server)
    alice.do(client.lock(NAME).release)
    alice.do(client.close)


def test_a_password_is_in_no_repr(flavour: Flavour) -> None:
    """Neither of the client nor of its locks."""
    for url in ("redis://user:hunter2@127.0.0.1:1/0", "redis://127.0.0.1:1?password=hunter2"):
        client = flavour.client(url)
        shown = [repr(client), repr(client.lock(NAME)), repr(getattr(client, "__dict__", {}))]
        assert "hunter2" not in " ".join(shown)
        assert "127.0.0.1:1" in repr(client)


CLOSED_WHILE_IT_HELD = """
import contextlib
import warnings
warnings.simplefilter("ignore", ResourceWarning)

def threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may have ended
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
    native = {name.rpartition("-")[0] for name in names if name.startswith("holdfast-dog")}
    python = {each.name for each in threading.enumerate() if each.name.startswith("holdfast")}
    return native | python

with holdfast.Client(URL) as client:
    client.ping()
until(lambda: not threads())
before = descriptors()
with holdfast.Client(URL, lease=LEASE) as client:
    if HOLDS:
        lock = client.lock(NAME)
        lock.acquire()
if HOLDS:
    until(lambda: len(threads()) == 3)  # a thread names itself once it runs
say("closed", *sorted(threads()))
until(lambda: not threads())
until(lambda: descriptors() == before)
say("gone", HOLDS and lock.lost)
"""


@pytest.mark.realtime
@pytest.mark.parametrize("holds", [True, False], ids=["held", "nothing held"])
def test_threads_stay_until_the_last_loss_is_reported(
    start_child: StartChild, server: Server, holds: bool
) -> None:
    """forgotten-client: those of the reports, one of the watchdog.

    Without a hold they end with the client.
    """
    child = start_child(CLOSED_WHILE_IT_HELD, URL=server.url, NAME=NAME, LEASE=SHORT, HOLDS=holds)
    stay = ["holdfast-dog", "holdfast-events", "holdfast-log"] if holds else []
    assert child.expect("closed") == stay
    assert child.expect("gone") == [str(holds)]
    assert child.wait() == 0
    if holds:
        assert f"{NAME}' (thread 'MainThread')" in child.errors
