"""The steps of the permit semaphore, each by what it promises; a step sent twice means the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.wire.lua.permit_steps import (
    CHANNEL,
    MINUTE,
    NAME,
    NEVER,
    ONE,
    QUESTIONS,
    REQUESTS,
    THREE,
    TIMEOUTS,
    TWO,
    PermitSemaphore,
    about,
    dump,
    told,
)
from tests.wire.lua.steps import ROOT, Listener, Message


@pytest.fixture
def semaphore(server: Server) -> PermitSemaphore:
    """A semaphore that does not exist yet."""
    return PermitSemaphore(server.inspect)


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    """Someone subscribed to the semaphore's channel."""
    with Listener(server, CHANNEL) as listener:
        yield listener


# ---- acquire


def test_a_permit_is_taken_with_its_lease(semaphore: PermitSemaphore, listener: Listener) -> None:
    semaphore.try_set_permits(2)
    listener.messages()
    assert semaphore.acquire(ONE, MINUTE) == [1, about(MINUTE)]
    assert semaphore.free == 1
    assert semaphore.out == {ONE: about(MINUTE)}
    assert listener.messages() == []


def test_a_score_is_a_whole_number(semaphore: PermitSemaphore, server: Server) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, 2**53)
    score = server.inspect.eval("return redis.call('zscore', KEYS[1], ARGV[1])", 1, TIMEOUTS, ONE)
    assert re.fullmatch(rb"\d+", score)


def test_a_grant_tells_when_the_next_permit_expires(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(3)
    semaphore.acquire(ONE, MINUTE // 2)
    assert semaphore.acquire(TWO, MINUTE) == [1, about(MINUTE // 2)]


def test_a_refusal_tells_when_the_next_permit_expires(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE, 2 * MINUTE)
    semaphore.acquire(TWO, MINUTE)
    assert semaphore.acquire(THREE) == about(MINUTE)
    assert set(semaphore.out) == {ONE, TWO}


def test_a_permit_that_never_expires_is_not_waited_for(
    semaphore: PermitSemaphore, server: Server
) -> None:
    semaphore.try_set_permits(0)
    server.inspect.zadd(TIMEOUTS, {ONE: NEVER})
    assert semaphore.acquire(TWO) == -1


def test_nothing_is_free_where_nothing_was_set(semaphore: PermitSemaphore, server: Server) -> None:
    assert semaphore.acquire(ONE) == -1
    assert server.keys() == set()


def test_no_permit_is_free_below_zero(semaphore: PermitSemaphore, server: Server) -> None:
    server.inspect.set(NAME, -2)
    assert semaphore.acquire(ONE) == -1
    assert semaphore.free == -2


def test_a_repeated_acquire_takes_no_second_permit(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(2)
    for _ in range(3):
        assert semaphore.acquire(ONE)[0] == 1
    assert semaphore.free == 1


def test_a_repeated_acquire_starts_the_lease_anew_and_never_cuts_it(
    semaphore: PermitSemaphore,
) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, MINUTE)
    semaphore.acquire(ONE, 2 * MINUTE)
    assert semaphore.out == {ONE: about(2 * MINUTE)}
    semaphore.acquire(ONE, MINUTE)
    assert semaphore.out == {ONE: about(2 * MINUTE)}


def test_a_repeated_acquire_is_granted_though_all_are_out(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE)
    assert semaphore.acquire(ONE) == [0, about(MINUTE)]


def test_an_acquire_counts_all_expired_permits_back_and_tells(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    semaphore.acquire(TWO)
    semaphore.let_expire(ONE)
    semaphore.let_expire(TWO)
    listener.messages()
    assert semaphore.acquire(THREE) == [1, about(MINUTE)]
    assert semaphore.out == {THREE: about(MINUTE)}
    assert listener.messages() == told(2)


def test_the_set_lives_as_long_as_the_counter(semaphore: PermitSemaphore, server: Server) -> None:
    semaphore.try_set_permits(2)
    server.inspect.pexpire(NAME, MINUTE)
    semaphore.acquire(ONE)
    assert server.inspect.pttl(TIMEOUTS) == about(MINUTE)


# ---- release


def test_a_release_gives_the_permit_back_and_tells(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE)
    listener.messages()
    assert semaphore.release(ONE) >= 2
    assert (semaphore.free, semaphore.out) == (1, {})
    assert listener.messages() == told(1)


def test_a_permit_that_was_not_the_only_free_one_wakes_no_waiter(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    listener.messages()
    assert semaphore.release(ONE) == 1
    assert listener.messages() == told(2)


def test_a_repeated_release_gives_nothing_back(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    semaphore.release(ONE)
    listener.messages()
    assert semaphore.release(ONE) is None
    assert semaphore.free == 2
    assert listener.messages() == []


def test_a_release_of_an_expired_permit_counts_it_back_once(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE)
    semaphore.let_expire(ONE)
    listener.messages()
    assert semaphore.release(ONE) is None
    assert semaphore.release(ONE) is None
    assert (semaphore.free, semaphore.out) == (1, {})
    assert listener.messages() == told(1)


def test_no_number_is_published_that_redisson_fails_at(
    semaphore: PermitSemaphore, server: Server, listener: Listener
) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE)
    server.inspect.set(NAME, -5)
    listener.messages()
    assert semaphore.release(ONE) == 1
    assert semaphore.free == -4
    assert listener.messages() == []


# ---- renew, extend


def test_a_renewal_sets_the_lease_anew(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, MINUTE // 6)
    assert semaphore.renew(ONE, MINUTE) == 1
    assert semaphore.out == {ONE: about(MINUTE)}


@pytest.mark.parametrize("lease", [0, MINUTE])
def test_a_renewal_never_cuts_a_lease(semaphore: PermitSemaphore, lease: int) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, 2 * MINUTE)
    assert semaphore.renew(ONE, lease) == 1
    assert semaphore.out == {ONE: about(2 * MINUTE)}


def test_an_extension_sets_the_lease_shorter_too(semaphore: PermitSemaphore) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, 2 * MINUTE)
    for lease in (MINUTE, 3 * MINUTE):
        assert semaphore.extend(ONE, lease) == 1
        assert semaphore.out == {ONE: about(lease)}


def test_an_extension_tells_of_an_earlier_end(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire(ONE, MINUTE)
    listener.messages()
    assert semaphore.extend(ONE, 2 * MINUTE) == 1
    assert listener.messages() == []
    assert semaphore.extend(ONE, MINUTE) == 1
    assert listener.messages() == told(0)


@pytest.mark.parametrize("step", [PermitSemaphore.renew, PermitSemaphore.extend])
def test_only_a_permit_that_is_out_gets_another_lease(
    semaphore: PermitSemaphore, step: Callable[[PermitSemaphore, bytes], Any]
) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    semaphore.let_expire(ONE)
    assert step(semaphore, ONE) == 0
    assert step(semaphore, TWO) == 0
    assert semaphore.available_permits() == 2
    assert step(semaphore, ONE) == 0
    assert semaphore.out == {}


# ---- try_set_permits, available_permits, delete


def test_permits_are_set_once_and_published(semaphore: PermitSemaphore, listener: Listener) -> None:
    assert semaphore.try_set_permits(3) == 1
    assert semaphore.try_set_permits(5) == 0
    assert semaphore.free == 3
    assert listener.messages() == told(3)


def test_zero_can_be_set(semaphore: PermitSemaphore) -> None:
    assert semaphore.try_set_permits(0) == 1
    assert semaphore.try_set_permits(3) == 0
    assert semaphore.free == 0


def test_permits_of_a_counter_that_is_gone_are_not_given_back(
    semaphore: PermitSemaphore, server: Server
) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    server.inspect.delete(NAME)
    semaphore.try_set_permits(2)
    assert semaphore.release(ONE) is None
    assert semaphore.free == 2


def test_to_ask_counts_all_expired_permits_back_and_tells(
    semaphore: PermitSemaphore, listener: Listener
) -> None:
    semaphore.try_set_permits(3)
    for permit in (ONE, TWO, THREE):
        semaphore.acquire(permit)
    semaphore.let_expire(ONE)
    semaphore.let_expire(THREE)
    listener.messages()
    assert semaphore.available_permits() == 2
    assert semaphore.available_permits() == 2
    assert semaphore.out == {TWO: about(MINUTE)}
    assert listener.messages() == told(2)


def test_to_ask_for_nothing_makes_nothing(semaphore: PermitSemaphore, server: Server) -> None:
    assert semaphore.available_permits() is None
    assert server.keys() == set()


def test_delete_leaves_nothing(semaphore: PermitSemaphore, server: Server) -> None:
    semaphore.try_set_permits(2)
    semaphore.acquire(ONE)
    assert semaphore.delete() == 1
    assert semaphore.delete() == 0
    assert server.keys() == set()
    assert semaphore.release(ONE) is None
    assert server.keys() == set()


# ---- all steps


STEPS: dict[str, Callable[[PermitSemaphore], Any]] = {
    "acquire": lambda semaphore: semaphore.acquire(ONE),
    "release": lambda semaphore: semaphore.release(ONE),
    "renew": lambda semaphore: semaphore.renew(ONE),
    "check": lambda semaphore: semaphore.check(ONE),
    "extend": lambda semaphore: semaphore.extend(ONE),
    "try_set_permits": lambda semaphore: semaphore.try_set_permits(3),
    "available_permits": lambda semaphore: semaphore.available_permits(),
    "delete": lambda semaphore: semaphore.delete(),
}
CHECKED = [
    (step, key)
    for step in STEPS
    for key in (NAME, TIMEOUTS)
    if key != {"renew": NAME, "check": NAME, "extend": NAME, "try_set_permits": TIMEOUTS}.get(step)
]
"""The steps, each with the keys of which it needs the type."""
FOLDER = ROOT / "lua" / "permit_semaphore"


@pytest.mark.parametrize(("step", "key"), CHECKED)
def test_a_key_of_another_type_is_an_error_and_stays(
    semaphore: PermitSemaphore, server: Server, step: str, key: bytes
) -> None:
    if key == TIMEOUTS:
        server.inspect.set(NAME, 1)
    else:
        server.inspect.zadd(TIMEOUTS, {ONE: 1, TWO: NEVER})
    server.inspect.hset(key, "a", "b")
    before = dump(server)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        STEPS[step](semaphore)
    assert dump(server) == before


@pytest.mark.servers("real")
def test_a_counter_that_is_no_number_is_an_error_and_nothing_is_written(
    semaphore: PermitSemaphore, server: Server
) -> None:
    server.inspect.set(NAME, "no number")
    server.inspect.zadd(TIMEOUTS, {ONE: 1})
    for step in ("acquire", "available_permits"):
        with pytest.raises(redis.ResponseError):
            STEPS[step](semaphore)
    assert server.inspect.zcard(TIMEOUTS) == 1


@pytest.mark.servers("real")
@pytest.mark.parametrize("step", ["acquire", "release", "try_set_permits", "available_permits"])
def test_what_is_published_goes_the_way_that_is_asked_for(
    semaphore: PermitSemaphore, server: Server, listener: Listener, step: str
) -> None:
    if step != "try_set_permits":
        semaphore.try_set_permits(1)
        semaphore.acquire(ONE)
    if step in {"acquire", "available_permits"}:
        semaphore.let_expire(ONE)
    listener.messages()
    arguments: dict[str, list[Any]] = {
        "acquire": [TWO, MINUTE],
        "release": [ONE],
        "try_set_permits": [1],
    }
    getattr(semaphore, step)(*arguments.get(step, []), publish="spublish")
    assert eventually(listener.messages) == [Message("smessage", CHANNEL, b"1")]


def test_every_step_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.lua")} == {*STEPS, *REQUESTS, *QUESTIONS}
