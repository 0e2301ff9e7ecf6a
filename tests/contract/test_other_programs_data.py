"""A key that another program wrote: it stays as it is, and the error or the log names it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from holdfast._engine.errors import foreign_data
from tests.contract.conftest import Stage
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "user:42"
FOREIGN = r"user:42.*: its key never expires, so another program wrote this key"


@pytest.fixture
def record(stage: Stage) -> None:
    """A record of another program, under the name of a lock of this kind."""
    for key in stage.keys_of(NAME):
        stage.server.inspect.hset(key, "name", "Ada")


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize("wait", [0, 0.2])
def test_the_time_out_says_that_no_lock_holds_the_key(
    alice: Any, stage: Stage, wait: float
) -> None:
    """lasting-refusal."""
    lock = stage.lock(name=NAME, wait=wait)
    with pytest.raises(holdfast.LockTimeout, match=FOREIGN):
        alice.inside(lock, lambda _: None)
    with pytest.raises(holdfast.LockTimeout, match=FOREIGN):
        alice.do(lock.hold)


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize("how", [{"blocking": False}, {"timeout": 0.2}], ids=["try", "wait"])
def test_the_log_says_so_once(
    alice: Any, stage: Stage, caplog: pytest.LogCaptureFixture, how: dict[str, Any]
) -> None:
    lock = stage.lock(name=NAME)
    for _ in range(3):
        assert alice.do(lock.acquire, **how) is False
    eventually(lambda: _warnings(caplog))
    named = [text.partition(": its key never expires, so another")[0] for text in _warnings(caplog)]
    assert named[0].endswith(" cannot have 'user:42'")
    assert len(set(named)) == len(named)  # a lock made of several may name each member


@pytest.mark.usefixtures("record")
def test_a_time_out_after_that_names_an_owner_again(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(name=NAME, wait=0.5)
    assert alice.do_briefly(lock.acquire, timeout=0.05) is False
    for key in stage.keys_of(NAME):
        stage.server.inspect.delete(key)
    theirs = stage.rival(name=NAME)
    assert bob.do(theirs.acquire, lease=60)
    with pytest.raises(holdfast.LockTimeout, match="it is held by owner "):
        alice.inside(lock, lambda _: None)
    bob.do(theirs.release)


COUNTERS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "semaphore": (
        lambda it: it.acquire(blocking=False),
        lambda it: it.acquire(timeout=0.05),
        lambda it: it.try_set_permits(1),
        lambda it: it.release(),
        lambda it: it.release_if_exists(),
        lambda it: it.available_permits(),
        lambda it: it.drain_permits(),
        lambda it: it.add_permits(1),
        lambda it: it.delete(),
    ),
    "permit_semaphore": (
        lambda it: it.acquire(blocking=False),
        lambda it: it.acquire(timeout=0.05),
        lambda it: it.try_set_permits(1),
        lambda it: it.set_permits(1),
        lambda it: it.add_permits(1),
        lambda it: it.release("0" * 32),
        lambda it: it.release_many(["0" * 32]),
        lambda it: it.available_permits(),
        lambda it: it.permits(),
        lambda it: it.delete(),
    ),
    "count_down_latch": (
        lambda it: it.wait(timeout=0.05),
        lambda it: it.try_set_count(1),
        lambda it: it.count_down(),
        lambda it: it.count(),
        lambda it: it.delete(),
    ),
}


@pytest.mark.parametrize("word", COUNTERS)
@pytest.mark.parametrize("text", ["Ada", "", "12 apples", "0x10"])
def test_a_text_is_no_counter(
    alice: Any, client: Any, server: Server, word: str, text: str
) -> None:
    """lasting-refusal."""
    server.inspect.set(NAME, text)
    it = getattr(client, word)(NAME)
    for call in COUNTERS[word]:
        with pytest.raises(holdfast.ServerError, match=r"user:42.*WRONGTYPE") as refused:
            alice.do(call, it)
        assert refused.value.code == "WRONGTYPE"
    assert server.inspect.get(NAME) == text.encode()


def test_the_error_of_a_field_that_another_program_wrote_names_the_key() -> None:
    """lasting-refusal."""
    error = foreign_data(b"holdfast_state:{a\xff}", "its token is no number")
    assert isinstance(error, holdfast.LockError)
    assert str(error) == (
        r"'holdfast_state:{a\xff}' cannot be read: its token is no number, "
        "so another program wrote this key: use another name, or delete the key"
    )
