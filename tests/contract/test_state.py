"""The state of a lock: queried from the server, or known without a command."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract.conftest import NAME, Stage


def test_locked_is_about_anyone(alice: Any, bob: Any, lock: Any) -> None:
    assert alice.do(lock.locked) is False
    alice.do(lock.acquire)
    assert alice.do(lock.locked) is True
    assert bob.do(lock.locked) is True
    alice.do(lock.release)
    assert bob.do(lock.locked) is False


def test_owned_is_about_the_caller(alice: Any, bob: Any, lock: Any) -> None:
    assert alice.do(lock.owned) is False
    alice.do(lock.acquire)
    assert alice.do(lock.owned) is True
    assert bob.do(lock.owned) is False


def test_owned_is_about_the_calling_client(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    other = stage.lock(stage.client())
    assert alice.do(other.owned) is False
    assert alice.do(other.hold_count) == 0
    assert alice.do(other.locked) is True


def test_owned_and_the_count_are_asked_of_the_server(alice: Any, lock: Any, stage: Stage) -> None:
    alice.do(lock.acquire)
    stage.take_away()
    assert alice.do(lock.owned) is False
    assert alice.do(lock.hold_count) == 0
    assert alice.do(lock.locked) is False
    assert alice.do(lock.ttl) is None


def test_ttl_is_seconds_or_none(alice: Any, bob: Any, lock: Any) -> None:
    assert alice.do(lock.ttl) is None
    alice.do(lock.acquire, lease=3600)
    left = bob.do(lock.ttl)
    assert isinstance(left, float)
    assert 3500 < left <= 3600


def test_a_foreign_hold_is_seen(alice: Any, lock: Any, stage: Stage) -> None:
    foreign = stage.kind.foreign("5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1", 2)
    for key in stage.keys_of():
        stage.server.inspect.hset(key, mapping=foreign)
        stage.server.inspect.pexpire(key, 60_000)
    assert alice.do(lock.locked) is True
    assert alice.do(lock.owned) is False
    assert alice.do(lock.hold_count) == 0
    assert 55 < alice.do(lock.ttl) <= 60


def test_the_name_is_the_name(stage: Stage) -> None:
    for name in ("some name", b"\x00\xff"):
        assert stage.lock(name=name).name == stage.kind.title(name)


def test_repr_of_a_lock_that_is_not_held(alice: Any, bob: Any, lock: Any, stage: Stage) -> None:
    me = "task" if stage.flavour.asyncio else "thread"
    title = stage.kind.title(NAME)
    expected = f"<{stage.kind.class_name} '{title}' not held by this {me}>"
    assert alice.do(repr, lock) == expected
    alice.do(lock.acquire)
    assert bob.do(repr, lock) == expected


def test_repr_of_a_lock_that_is_held(alice: Any, lock: Any, stage: Stage) -> None:
    me, title = "task" if stage.flavour.asyncio else "thread", stage.kind.title(NAME)
    alice.do(lock.acquire, lease=50)
    alice.do(lock.acquire, lease=50)
    shown = re.fullmatch(
        rf"<{stage.kind.class_name} '{title}' held by this {me} \(2\), (\d+\.\d) s left>",
        alice.do(repr, lock),
    )
    assert shown, alice.do(repr, lock)
    assert 45 < float(shown[1]) <= 50


@pytest.mark.servers("real")
def test_attributes_send_no_command(alice: Any, quiet_lock: Any, stage: Stage) -> None:
    alice.do(quiet_lock.acquire)
    with stage.server.recording() as recording:
        alice.do(lambda: (repr(quiet_lock), quiet_lock.lost, quiet_lock.name))
        assert recording.commands == []


@pytest.mark.servers("real")
def test_each_question_is_one_command_of_each_key(
    alice: Any, quiet_lock: Any, stage: Stage
) -> None:
    alice.do(quiet_lock.acquire)
    for question in (quiet_lock.locked, quiet_lock.owned, quiet_lock.hold_count, quiet_lock.ttl):
        alice.do(question)
        with stage.server.recording() as recording:
            alice.do(question)
            assert len(recording.commands) == len(stage.keys_of())


@pytest.mark.servers("real")
def test_an_uncontended_pair_is_two_commands_of_each_key(
    alice: Any, quiet_lock: Any, stage: Stage
) -> None:
    alice.do(quiet_lock.acquire)
    alice.do(quiet_lock.release)
    with stage.server.recording() as recording:
        alice.do(quiet_lock.acquire)
        assert len(recording.commands) == len(stage.keys_of())
        alice.do(quiet_lock.release)
        assert len(recording.commands) == 2 * len(stage.keys_of())


def test_ping(alice: Any, stage: Stage) -> None:
    alice.do(stage.default_client.ping)
