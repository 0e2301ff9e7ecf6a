"""A spin lock's waiters rest and ask again: how often, and what ends a rest; they never listen."""

from __future__ import annotations

import math
from typing import Any

import pytest

import holdfast
from holdfast import Backoff
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLock"
CHANNEL = "redisson_lock__channel:{myLock}"
HOUR = 3600

BAD_BACKOFFS: list[tuple[Any, type[Exception]]] = [
    (0, ValueError),
    (-0.001, ValueError),
    (math.nan, ValueError),
    (math.inf, ValueError),
    (None, TypeError),
    (True, TypeError),
    ("0.001", TypeError),
    ((0.001, 0.128, 2), TypeError),
]
BAD_PARTS: list[tuple[str, Any, type[Exception]]] = [
    *(
        (part, value, error)
        for part in ("initial", "maximum")
        for value, error in BAD_BACKOFFS
        if not isinstance(value, tuple)
    ),
    ("multiplier", 0.5, ValueError),
    ("multiplier", 0, ValueError),
    ("multiplier", math.nan, ValueError),
    ("multiplier", math.inf, ValueError),
    ("multiplier", 10**400, ValueError),
    ("multiplier", "2", TypeError),
    ("multiplier", True, TypeError),
    ("multiplier", None, TypeError),
]


def hold_elsewhere(server: Server, lease: float = HOUR) -> None:
    """Make a lock that no owner here holds."""
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, int(lease * 1000))


def begin_resting(server: Server, actor: Any, lock: Any, **how: Any) -> Any:
    """Let an owner wait; returns when it has been refused, or is about to be."""
    before = server.scripts_run()
    waiting = actor.begin(lock.acquire, **how)
    eventually(lambda: waiting.done() or before is None or server.scripts_run() != before)
    return waiting


def attempts_in_vain(server: Server, actor: Any, lock: Any, timeout: float) -> int:
    """The number of scripts that run during a wait of `timeout` seconds without a grant."""
    actor.do(lock.acquire, blocking=False)  # the server knows the script
    before = server.scripts_run()
    assert actor.do(lock.acquire, timeout=timeout) is False
    after = server.scripts_run()
    assert before is not None
    assert after is not None
    return after - before


# ---- how often it asks


@pytest.mark.servers("real")
@pytest.mark.parametrize(("interval", "most"), [(0.05, 1 + 8), (0.2, 1 + 2)])
def test_a_constant_back_off_bounds_the_attempts(
    alice: Any, client: Any, server: Server, interval: float, most: int
) -> None:
    hold_elsewhere(server)
    lock = client.spin_lock(NAME, backoff=interval)
    assert 2 <= attempts_in_vain(server, alice, lock, 0.4) <= most


@pytest.mark.servers("real")
def test_the_default_back_off_bounds_the_attempts(alice: Any, client: Any, server: Server) -> None:
    """Rests of at least 0.5, 1, 2 … 64 ms, then of at least 64 ms again and again."""
    hold_elsewhere(server)
    most = 1 + 8 + 6  # 127.5 ms for the first eight rests, and 64 ms or more for each further one
    assert 8 <= attempts_in_vain(server, alice, client.spin_lock(NAME), 0.5) <= most


@pytest.mark.servers("real")
def test_each_acquisition_begins_with_short_rests(alice: Any, client: Any, server: Server) -> None:
    """Rests of at most 1 ms, then of 1 ms to 1 s, then of 1 s or more."""
    hold_elsewhere(server)
    lock = client.spin_lock(NAME, backoff=Backoff(0.001, HOUR, 1000))
    for _ in range(2):
        assert 2 <= attempts_in_vain(server, alice, lock, 0.1) <= 3


@pytest.mark.servers("real")
def test_it_never_subscribes(alice: Any, bob: Any, make_client: MakeClient, server: Server) -> None:
    lock = make_client().spin_lock(NAME)
    with server.recording() as recording:
        alice.do(lock.acquire)
        waiting = begin_resting(server, bob, lock)
        eventually(lambda: recording.count()["EVALSHA"] > 10)
        alice.do(lock.release)
        assert waiting.result(BOUND) is True
        bob.do(lock.release)
        assert recording.count()["SUBSCRIBE"] == 0
    assert server.subscribers(CHANNEL) == 0


# ---- what ends a rest


def test_a_rest_ends_with_the_callers_time(alice: Any, client: Any, server: Server) -> None:
    hold_elsewhere(server)
    for seconds in (0.05, 0):
        spin = client.spin_lock(NAME, backoff=HOUR)
        assert alice.do_briefly(spin.acquire, timeout=seconds) is False


def test_a_rest_ends_with_the_holders_lease(alice: Any, client: Any, server: Server) -> None:
    hold_elsewhere(server, lease=0.2)
    assert alice.do(client.spin_lock(NAME, backoff=HOUR).acquire) is True


def test_a_key_without_expiry_is_asked_for_again(alice: Any, client: Any, server: Server) -> None:
    server.inspect.hset(NAME, "somebody-else:1", 1)
    waiting = begin_resting(server, alice, client.spin_lock(NAME))
    assert not waiting.done()
    server.inspect.delete(NAME)
    assert waiting.result(BOUND) is True


def test_closing_the_client_ends_a_rest(
    alice: Any, bob: Any, carol: Any, client: Any, server: Server
) -> None:
    hold_elsewhere(server)
    lock = client.spin_lock(NAME, backoff=HOUR)
    waiting = [begin_resting(server, actor, lock) for actor in (alice, bob)]
    carol.do(client.close)
    for each in waiting:
        assert isinstance(each.exception(BOUND), holdfast.ConnectionError)


@pytest.mark.servers("real")  # elsewhere its rests cannot be seen
@pytest.mark.flavours("asyncio", "trio")
def test_cancelling_ends_a_rest_and_leaves_nothing(
    alice: Any, bob: Any, client: Any, server: Server
) -> None:
    hold_elsewhere(server)
    lock = client.spin_lock(NAME, backoff=HOUR)
    waiting = begin_resting(server, alice, lock)
    alice.cancel()
    assert waiting.exception(BOUND) is not None
    server.inspect.delete(NAME)
    assert bob.do(lock.acquire, blocking=False)
    bob.do(lock.release)
    assert server.keys() == set()


# ---- with others


def test_the_release_wakes_who_listens(
    alice: Any, bob: Any, client: Any, make_client: MakeClient, server: Server
) -> None:
    """Redisson's does not: there the waiter sleeps until the lease is over."""
    alice.do(client.spin_lock(NAME).acquire, lease=HOUR)
    waiting = bob.begin(make_client().lock(NAME).acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    with server.listening(CHANNEL) as messages:
        alice.do(client.spin_lock(NAME).release)
        assert waiting.result(BOUND) is True
        assert messages.received() == [b"0"]


def test_the_release_hands_over_to_who_listens_in_the_same_client(
    alice: Any, bob: Any, client: Any, server: Server
) -> None:
    alice.do(client.spin_lock(NAME).acquire, lease=HOUR)
    waiting = bob.begin(client.lock(NAME).acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    alice.do(client.spin_lock(NAME).release)
    assert waiting.result(BOUND) is True


def test_a_forced_release_wakes_who_listens(
    alice: Any, bob: Any, client: Any, make_client: MakeClient, server: Server
) -> None:
    alice.do(client.spin_lock(NAME).acquire, lease=HOUR)
    waiting = bob.begin(make_client().lock(NAME).acquire)
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    assert alice.do(client.spin_lock(NAME).force_release) is True
    assert waiting.result(BOUND) is True


def test_the_release_of_a_plain_lock_is_found(
    alice: Any, bob: Any, client: Any, server: Server
) -> None:
    alice.do(client.lock(NAME).acquire, lease=HOUR)
    waiting = begin_resting(server, bob, client.spin_lock(NAME))
    assert not waiting.done()
    alice.do(client.lock(NAME).release)
    assert waiting.result(BOUND) is True


def test_a_plain_lock_of_the_name_shares_the_hold(alice: Any, client: Any, server: Server) -> None:
    plain, spin = client.lock(NAME), client.spin_lock(NAME)
    alice.do(plain.acquire)
    assert alice.do(spin.acquire, blocking=False)
    assert alice.do(plain.hold_count) == 2
    alice.do(plain.release)
    alice.do(spin.release)
    assert server.keys() == set()


def test_many_spinners_each_get_it_once(
    make_actor: MakeActor, make_client: MakeClient, server: Server
) -> None:
    inside: list[int] = []
    done: list[int] = []

    def once(number: int, lock: Any) -> Any:
        assert (yield lock.acquire(timeout=2 * BOUND))
        inside.append(number)
        assert inside == [number]
        inside.clear()
        done.append(number)
        yield lock.release()

    locks = [make_client().spin_lock(NAME) for _ in range(2)]
    running = [make_actor().begin(once, number, locks[number % 2]) for number in range(12)]
    for each in running:
        each.result(3 * BOUND)
    assert sorted(done) == list(range(12))
    assert server.keys() == set()


# ---- bad input, and the back-off as an object


@pytest.mark.values(("backoff", "error"), BAD_BACKOFFS, ids=repr)
def test_bad_back_offs(client: Any, backoff: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="backoff"):
        client.spin_lock(NAME, backoff=backoff)


@pytest.mark.values(("part", "value", "error"), BAD_PARTS, ids=lambda value: repr(value)[:20])
def test_bad_parts_of_a_back_off(part: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=part):
        Backoff(**{part: value})


def test_a_back_off_whose_end_is_before_its_beginning() -> None:
    with pytest.raises(ValueError, match="maximum"):
        Backoff(initial=0.2, maximum=0.1)


def test_a_back_off_is_what_it_was_made_of() -> None:
    backoff = Backoff(initial=0.002, maximum=0.5, multiplier=3)
    assert (backoff.initial, backoff.maximum, backoff.multiplier) == (0.002, 0.5, 3)
    assert repr(backoff) == "Backoff(initial=0.002, maximum=0.5, multiplier=3)"
    assert eval(repr(backoff)) == backoff
    assert hash(backoff) == hash(Backoff(0.002, 0.5, 3))
    assert backoff not in (Backoff(), (2, 500, 3))
    assert Backoff(1e-6, 1e-6).initial == 0.001


@pytest.mark.values("part", ["initial", "maximum", "multiplier", "other"])
def test_a_back_off_cannot_be_changed(part: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Backoff(), part, 1)


def test_a_lock_tells_its_back_off(client: Any) -> None:
    assert client.spin_lock(NAME).backoff == Backoff(0.001, 0.128, 2)
    assert client.spin_lock(NAME, backoff=2).backoff == Backoff(2, 2, 1)
    assert client.spin_lock(NAME, backoff=Backoff(maximum=1)).backoff == Backoff(maximum=1)
