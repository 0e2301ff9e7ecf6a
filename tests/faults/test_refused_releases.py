"""Releases that a server refuses for a reason that passes: none is given up before its lease is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
from tests.contract.kinds import Kind
from tests.faults.conftest import IMPATIENT, NAME, left
from tests.support.fixtures import StartServer
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually, stays

pytestmark = [pytest.mark.realtime, pytest.mark.servers("real")]

SECRET = "hunter2"
LEASE = 3600.0
"""A lease that no test lives to see the end of."""
GOES_ON = "the release goes on in the background"


@contextmanager
def another_password(server: Server) -> Iterator[None]:
    """Inside, the server has another password, and no connection of before."""
    server.inspect.ping()  # its connection stays
    before = server.inspect.config_get("requirepass")["requirepass"]
    server.inspect.config_set("requirepass", "another " + SECRET)
    server.kill_connections()
    yield
    server.inspect.config_set("requirepass", before)


def refusals(server: Server, *codes: str) -> int:
    """How many commands it has refused with one of these so far."""
    counts = server.inspect.info("errorstats")
    return sum(int(counts.get(f"errorstat_{code}", {"count": 0})["count"]) for code in codes)


@pytest.fixture
def guarded(start_server: StartServer) -> Server:
    """A server with a password."""
    return start_server(password=SECRET)


def url_of(server: Server) -> str:
    """Its URL, with its password."""
    login = f":{server.password}@" if server.password else ""
    return server.url.replace("redis://", f"redis://{login}")


@pytest.mark.awaited
def test_a_release_outlives_a_change_of_the_password(
    alice: Any, kind: Kind, make_client: MakeClient, guarded: Server
) -> None:
    """passing-refusal, lasting-refusal: of each kind: an error that says so.

    The lock is free once the password is back.
    """
    lock = kind.make(make_client(url_of(guarded), command_timeout=IMPATIENT), NAME)
    alice.do(lock.acquire, lease=LEASE)
    with another_password(guarded):
        watch = Stopwatch()
        with pytest.raises(holdfast.ServerError, match=GOES_ON) as refused:
            alice.do(lock.release)
        assert watch.seconds >= IMPATIENT
        assert refused.value.code == "WRONGPASS"
        assert SECRET not in str(refused.value)
        assert left(kind, guarded)
    eventually(lambda: left(kind, guarded) == set())


@pytest.mark.awaited
def test_a_release_waits_for_the_password_of_its_client(
    alice: Any, make_client: MakeClient, private_server: Server
) -> None:
    """passing-refusal, lasting-refusal.

    Its caller sees nothing of a change that is over before `command_timeout` is.
    """
    lock = make_client(private_server.url, command_timeout=BOUND).lock(NAME)
    alice.do(lock.acquire, lease=LEASE)
    with another_password(private_server):
        released = alice.begin(lock.release)
        eventually(lambda: refusals(private_server, "NOAUTH") > 0)
    released.result(BOUND)
    assert private_server.keys() == set()


@pytest.mark.awaited
def test_a_login_is_tried_once_a_second_for_all_releases(
    make_actor: MakeActor, make_client: MakeClient, guarded: Server
) -> None:
    """passing-refusal, lasting-refusal.

    No storm of refused logins, however many owners of a client release.
    """
    semaphore = make_client(url_of(guarded), command_timeout=IMPATIENT).semaphore(NAME)
    owners = [make_actor() for _ in range(6)]
    owners[0].do(semaphore.release)
    with another_password(guarded):
        for releasing in [owner.begin(semaphore.release) for owner in owners]:
            assert GOES_ON in str(releasing.exception(BOUND))
        tried, watch = refusals(guarded, "WRONGPASS"), Stopwatch()
        eventually(lambda: refusals(guarded, "WRONGPASS") >= tried + 4)
        assert watch.seconds > 2.9
    eventually(lambda: guarded.inspect.get(NAME) == b"7")


@pytest.mark.awaited
def test_a_grant_is_given_back_after_a_change_of_the_password(
    alice: Any, make_client: MakeClient, guarded: Server
) -> None:
    """interrupted-acquire, lasting-refusal.

    Of an attempt whose caller got an error instead of the answer.
    """
    lock = make_client(url_of(guarded), command_timeout=IMPATIENT).lock(NAME, lease=LEASE)
    alice.do(lock.acquire)
    alice.do(lock.release)
    guarded.pause()
    waiting = alice.begin(lock.acquire)
    with pytest.raises(holdfast.ConnectionError):
        waiting.result(BOUND)
    with another_password_of_a_paused(guarded):  # on a busy machine the release comes before it
        eventually(lambda: refusals(guarded, "WRONGPASS") > 0 or guarded.keys() == set())
    eventually(lambda: guarded.keys() == set())


@contextmanager
def another_password_of_a_paused(server: Server) -> Iterator[None]:
    server.resume()
    with another_password(server):
        yield


Give = Callable[[Any, Any], Any]
"""What begins with a counter of 5, and returns the release that is to be refused."""


def _semaphore(client: Any, owner: Any) -> Any:
    semaphore = client.semaphore(NAME)
    owner.do(semaphore.acquire)
    return semaphore.release


def _latch(client: Any, owner: Any) -> Any:
    return client.count_down_latch(NAME).count_down


def _permit(client: Any, owner: Any) -> Any:
    semaphore = client.permit_semaphore(NAME)
    permit = owner.do(semaphore.acquire, lease=LEASE)
    return lambda: semaphore.release(permit)


def _permit_of_another(client: Any, owner: Any) -> Any:
    """Of another client: only its id is known."""
    permit = str(owner.do(client.permit_semaphore(NAME).acquire, lease=LEASE))
    return lambda: client.permit_semaphore(NAME).release(permit)


def _permits(client: Any, owner: Any) -> Any:
    semaphore = client.permit_semaphore(NAME)
    permits = owner.do(semaphore.acquire_many, 2, lease=LEASE)
    return lambda: semaphore.release_many(permits)


COUNTERS: dict[str, tuple[Give, bytes]] = {
    "semaphore": (_semaphore, b"5"),
    "count_down_latch": (_latch, b"4"),
    "permit": (_permit, b"5"),
    "permit by its id": (_permit_of_another, b"5"),
    "permits together": (_permits, b"5"),
}


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_permit_and_a_count_outlive_a_change_of_the_password(
    alice: Any, make_client: MakeClient, guarded: Server, counter: str
) -> None:
    """passing-refusal, lasting-refusal: each is given back once, when the password is back."""
    begin, after = COUNTERS[counter]
    client = make_client(url_of(guarded), command_timeout=IMPATIENT)
    guarded.inspect.set(NAME, 5)
    give = begin(client, alice)
    assert guarded.inspect.get(NAME) != after
    with another_password(guarded), pytest.raises(holdfast.ServerError, match=GOES_ON):
        alice.do(give)
    eventually(lambda: guarded.inspect.get(NAME) == after)
    stays(lambda: guarded.inspect.get(NAME) == after, during=0.3)


@pytest.mark.awaited
def test_a_release_without_the_right_is_an_error_at_once(
    alice: Any, make_client: MakeClient, guarded: Server
) -> None:
    """lasting-refusal: rights do not come back by themselves; the next release tries again."""
    user = {
        "enabled": True,
        "passwords": [f"+{SECRET}"],
        "channels": ["*"],
        "categories": ["+@all"],
    }
    guarded.inspect.acl_setuser("holder", keys=["*"], **user)
    url = guarded.url.replace("redis://", f"redis://holder:{SECRET}@")
    lock = make_client(url, command_timeout=600).lock(NAME)
    alice.do(lock.acquire, lease=LEASE)
    guarded.inspect.acl_setuser("holder", keys=["other*"], reset_keys=True, **user)
    with pytest.raises(holdfast.ServerError, match=NAME) as refused:
        alice.do(lock.release)
    assert refused.value.code == "NOPERM"
    assert GOES_ON not in str(refused.value)
    guarded.inspect.acl_setuser("holder", keys=["*"], **user)
    stays(lambda: guarded.keys() == {NAME.encode()}, during=0.3)
    alice.do(lock.release)
    assert guarded.keys() == set()
