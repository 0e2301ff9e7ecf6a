"""Any name is a name: byte for byte the key, and its channel is Redisson's."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.contract.kinds import Name, as_bytes
from tests.support.waiting import BOUND, eventually, stays

NAMES: dict[str, Name] = {
    "plain": "myLock",
    "spaces": "  a lock with spaces ",
    "newlines": "a\r\nb\nc",
    "nul": "a\x00b",
    "braces": "a{tag}b",
    "open brace": "x{y",
    "closed brace": "x}y",
    "empty braces": "{}x",
    "umlauts": "Schlüssel-鍵-🔒",
    "quotes": 'it\'s "quoted" \\ %s {0}',
    "long": "n" * 10_000,
    "bytes": b"\x00\xff\xfe\r\n",
    "script": "redis.call('del', KEYS[1])",
}


@pytest.mark.values("name", NAMES.values(), ids=NAMES.keys())
def test_the_name_is_the_key(alice: Any, bob: Any, stage: Stage, name: Name) -> None:
    lock = stage.lock(name=name)
    assert alice.do(lock.acquire)
    assert as_bytes(name) in stage.all_keys()
    assert list(stage.holds(name).values()) == [1]
    assert not bob.do(stage.rival(name=name).acquire, blocking=False)
    assert stage.lock(name=name).name == stage.kind.title(name)
    alice.do(lock.release)
    assert stage.all_keys() == set()


@pytest.mark.values("name", NAMES.values(), ids=NAMES.keys())
def test_a_waiter_is_woken_under_any_name(alice: Any, bob: Any, stage: Stage, name: Name) -> None:
    lock, theirs = stage.lock(name=name), stage.rival(stage.client(), name)
    alice.do(lock.acquire)
    waiting = stage.wait(bob, theirs)
    assert stage.subscribers(name) == stage.kind.subscriptions(1, 1)
    with stage.messages(name) as messages:
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        received = messages.received()
        # A waiter for several locks may get some of them first, and gives these back.
        if len(stage.kind.suffixes) > 1:
            received = [*dict.fromkeys(received)]
        assert received == [stage.kind.payload]


def test_text_and_its_bytes_are_one_name(alice: Any, bob: Any, stage: Stage) -> None:
    alice.do(stage.lock(name="Schlüssel").acquire)
    same = stage.lock(name="Schlüssel".encode())
    assert alice.do(same.owned)
    assert not bob.do(stage.rival(name="Schlüssel").acquire, blocking=False)


def test_a_prefix_is_put_before_the_name(alice: Any, stage: Stage) -> None:
    client = stage.client(name_prefix="app:")
    lock = stage.lock(client, "jobs")
    alice.do(lock.acquire)
    assert list(stage.holds("app:jobs").values()) == [1]
    assert not alice.do(stage.rival(name="app:jobs").acquire, blocking=False)
    waiting = stage.actor().begin(stage.rival(name="app:jobs").acquire)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True


def test_a_prefix_with_braces_makes_one_slot(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock(stage.client(name_prefix="{app}:"), "jobs")
    alice.do(lock.acquire)
    waiting = stage.wait(bob, stage.rival(name="{app}:jobs"))
    assert all(b"{app}:jobs" in key for key in stage.all_keys())
    with stage.messages("{app}:jobs") as messages:
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        assert messages.received() == [stage.kind.payload]


class Neighbours:
    """Two names with one channel: alice holds one, bob the other, and carol waits for bob's."""

    def __init__(self, stage: Stage, names: tuple[str, str]) -> None:
        self.stage = stage
        self.names = names
        self.alice, self.bob, self.carol = (stage.actor() for _ in range(3))
        self.mine, self.theirs = (stage.lock(name=name) for name in names)
        self.alice.do(self.mine.acquire)
        self.bob.do(self.theirs.acquire)
        self.waiting = stage.wait(self.carol, stage.rival(name=names[1]))

    def pass_on(self) -> None:
        """Carol gets it from bob, and nothing is left."""
        before = self.stage.holds(self.names[1])
        assert not self.waiting.done()
        self.bob.do(self.theirs.release)
        assert self.waiting.result(BOUND) is True
        assert self.stage.holds(self.names[1]).keys().isdisjoint(before)
        self.carol.do(self.stage.rival(name=self.names[1]).release)
        eventually(lambda: self.stage.all_keys() == set())
        eventually(lambda: self.stage.subscribers(self.names[1]) == 0)


@pytest.fixture(params=[("a", "{a}"), ("{a}", "a")], ids=" ".join)
def neighbours(request: pytest.FixtureRequest, stage: Stage) -> Neighbours:
    return Neighbours(stage, request.param)


@pytest.mark.realtime
def test_a_release_wakes_no_waiter_of_another_name(neighbours: Neighbours) -> None:
    neighbours.alice.do(neighbours.mine.release)
    assert neighbours.stage.holds(neighbours.names[0]) == {}
    stays(lambda: not neighbours.waiting.done(), during=0.2)
    assert len(neighbours.stage.holds(neighbours.names[1])) == 1
    neighbours.pass_on()


def test_a_free_lock_is_granted_at_once_beside_another_name(neighbours: Neighbours) -> None:
    free = neighbours.stage.rival(name=neighbours.names[0])
    neighbours.alice.do(neighbours.mine.release)
    assert neighbours.alice.do(free.acquire, timeout=1) is True
    neighbours.alice.do(free.release)
    for how in ({"blocking": False}, {"timeout": 1}, {}):
        dave = neighbours.stage.actor()
        assert dave.do(free.acquire, **how) is True
        dave.do(free.release)
    neighbours.pass_on()


def test_who_waits_for_either_name_gets_it(neighbours: Neighbours) -> None:
    stage, dave = neighbours.stage, neighbours.stage.actor()
    rival = stage.rival(name=neighbours.names[0])
    waiting = stage.wait(dave, rival)
    assert not waiting.done()
    neighbours.alice.do(neighbours.mine.release)
    assert waiting.result(BOUND) is True
    dave.do(rival.release)
    neighbours.pass_on()


def test_a_key_of_another_type_stays_as_it_was(alice: Any, stage: Stage) -> None:
    """lasting-refusal."""
    for key in stage.keys_of("a string"):
        stage.server.inspect.set(key, "untouched")
    lock = stage.lock(name="a string")
    with pytest.raises(holdfast.ServerError, match="a string") as refused:
        alice.do(lock.acquire)
    assert "WRONGTYPE" in str(refused.value)
    if stage.server.real:
        assert refused.value.code == "WRONGTYPE"
    assert stage.server.inspect.get("a string") == b"untouched"
    assert stage.server.inspect.pttl("a string") == -1
    with pytest.raises(holdfast.NotOwnedError):
        alice.do(lock.release)


def test_the_next_command_after_an_error_works(alice: Any, lock: Any, stage: Stage) -> None:
    for key in stage.keys_of("a string"):
        stage.server.inspect.set(key, "untouched")
    with pytest.raises(holdfast.ServerError):
        alice.do(stage.lock(name="a string").acquire)
    assert alice.do(lock.acquire)
    alice.do(lock.release)
