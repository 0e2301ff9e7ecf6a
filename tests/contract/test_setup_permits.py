"""`permits=` of a semaphore: an acquire that finds no number on the server sets this one up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "throttle"
CHANNEL = "redisson_sc:{throttle}"

Make = Callable[..., Any]


@pytest.fixture(params=["semaphore", "permit_semaphore"])
def word(request: pytest.FixtureRequest) -> str:
    word: str = request.param
    return word


@pytest.fixture
def make(client: Any, word: str) -> Make:
    """Makes an object of the kind."""

    def made(permits: int | None = None, of: Any = None, name: str = NAME) -> Any:
        return getattr(of or client, word)(name, permits=permits)

    return made


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """About permits: an earlier test's thread that ends while it holds is logged late."""
    logged = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    return [each for each in logged if "permits" in each]


def _take(actor: Any, semaphore: Any) -> Any:
    return actor.do(semaphore.acquire, blocking=False)


def test_the_first_acquire_sets_the_number_up(
    alice: Any, server: Server, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    semaphore = make(3)
    assert server.keys() == set()
    assert [bool(_take(alice, semaphore)) for _ in range(4)] == [True, True, True, False]
    assert server.inspect.get(NAME) == b"0"
    assert server.inspect.pttl(NAME) == -1
    assert _warnings(caplog) == []


@pytest.mark.servers("real")
def test_it_is_one_command(alice: Any, server: Server, make: Make) -> None:
    _take(alice, make(3, name="other"))  # the script is known
    with server.recording() as recording:
        assert _take(alice, make(3))
        assert sum(recording.count().values()) == 1


def test_what_is_left_is_published(alice: Any, server: Server, make: Make) -> None:
    with server.listening(CHANNEL) as messages:
        assert _take(alice, make(3))
        assert messages.received() == [b"2"]


def test_it_wakes_a_waiter_that_sets_none_up(
    alice: Any, bob: Any, server: Server, make: Make, make_client: MakeClient
) -> None:
    waiting = bob.begin(make(None, make_client(server.url)).acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    assert _take(alice, make(2))
    assert waiting.result(BOUND)


def test_a_server_that_lost_its_data_has_the_number_again(
    alice: Any, server: Server, make: Make, word: str
) -> None:
    """restart-without-data."""
    semaphore = make(2)
    assert _take(alice, semaphore)
    server.inspect.delete(NAME, f"{{{NAME}}}:timeout")
    if word == "semaphore":
        alice.do(semaphore.release)  # nothing is there to give it back to
        assert server.inspect.exists(NAME) == 0
    assert [bool(_take(alice, semaphore)) for _ in range(3)] == [True, True, False]


@pytest.mark.realtime
def test_a_waiter_sets_it_up_when_the_data_are_lost(
    alice: Any, server: Server, client: Any
) -> None:
    semaphore = client.semaphore(NAME, permits=1)
    assert _take(alice, semaphore)
    waiting = alice.begin(semaphore.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    server.inspect.delete(NAME)
    assert waiting.result(BOUND) is True


def test_another_number_stands_and_is_named_once(
    alice: Any, server: Server, make: Make, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    alice.do(make().try_set_permits, 7)
    for _ in range(3):
        assert _take(alice, make(5))
    eventually(lambda: _warnings(caplog))
    assert [text for text in _warnings(caplog) if "not 5" in text] == _warnings(caplog)[:1]
    assert _warnings(caplog)[0].startswith(f"'{NAME}' has 7 permits on the server, not 5")
    assert server.inspect.get(NAME) == b"4"


def test_a_smaller_number_of_a_permit_semaphore_is_named_by_a_refusal(
    alice: Any, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    semaphore = client.permit_semaphore(NAME, permits=5)
    alice.do(client.permit_semaphore(NAME).try_set_permits, 1)
    alice.do(client.permit_semaphore(NAME).acquire)
    assert _take(alice, semaphore) is None
    assert alice.do(semaphore.acquire_many, 2, blocking=False) is None
    eventually(lambda: _warnings(caplog))
    assert "has 1 permits on the server, not 5" in _warnings(caplog)[0]
    assert len(_warnings(caplog)) == 1


def test_set_permits_changes_it_without_a_warning(
    alice: Any, bob: Any, client: Any, caplog: pytest.LogCaptureFixture, server: Server
) -> None:
    semaphore = client.permit_semaphore(NAME, permits=1)
    assert _take(alice, semaphore)
    waiting = bob.begin(semaphore.acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    alice.do(semaphore.set_permits, 3)
    assert waiting.result(BOUND)
    alice.do(semaphore.add_permits, 1)
    assert [bool(_take(alice, semaphore)) for _ in range(3)] == [True, True, False]
    alice.do(semaphore.delete)
    assert alice.do(semaphore.acquire_many, 4, blocking=False)
    assert [text for text in _warnings(caplog) if "permits on the server" in text] == []


def test_a_change_that_is_refused_leaves_the_number(
    alice: Any, server: Server, make: Make, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    semaphore = make(2)
    server.inspect.hset(NAME, "of", "another kind")
    for change in ("add_permits", "set_permits")[: 1 if word == "semaphore" else 2]:
        for count in (5, -5)[: 1 if change == "set_permits" else 2]:
            with pytest.raises(holdfast.HoldfastError):
                alice.do(getattr(semaphore, change), count)
    server.inspect.delete(NAME)
    assert [bool(_take(alice, semaphore)) for _ in range(3)] == [True, True, False]


def test_with_needs_no_other_call(alice: Any, make: Make, server: Server) -> None:
    semaphore = make(1)
    assert alice.inside(semaphore, lambda _: server.inspect.get(NAME)) == b"0"
    assert server.inspect.get(NAME) == b"1"


@pytest.mark.parametrize("permits", [0, -1, True, "5", 2.0, 2**31], ids=repr)
def test_permits_that_cannot_be(deaf: Any, word: str, permits: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="permits"):
        getattr(deaf, word)(NAME, permits=permits)


def test_what_is_taken_by_several_clients_is_no_more_than_the_number(
    make_actor: MakeActor, make_client: MakeClient, server: Server, make: Make
) -> None:
    actors = [make_actor() for _ in range(4)]
    objects = [make(3, make_client(server.url)) for _ in actors]
    started = [
        actor.begin(one.acquire, blocking=False) for actor, one in zip(actors, objects, strict=True)
    ]
    assert sum(bool(each.result(BOUND)) for each in started) == 3
