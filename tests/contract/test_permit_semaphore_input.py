"""The permit semaphore: its names on the server, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import holdfast
from tests.contract.permits import CHANNEL, NAME, UNKNOWN, Permits
from tests.support.owners import MakeClient

# ---- names and objects


@pytest.mark.parametrize(
    ("name", "keys", "channel"),
    [
        ("mySemaphore", {b"mySemaphore", b"{mySemaphore}:timeout"}, CHANNEL),
        ("a{tag}b", {b"a{tag}b", b"a{tag}b:timeout"}, "redisson_sc:a{tag}b"),
        (b"\xff", {b"\xff", b"{\xff}:timeout"}, b"redisson_sc:{\xff}"),
    ],
)
def test_the_keys_are_redissons(
    permits: Permits, client: Any, name: Any, keys: set[bytes], channel: Any
) -> None:
    semaphore = client.permit_semaphore(name)
    with permits.server.listening(channel) as messages:
        permits.do(semaphore.try_set_permits, 2)
        permits.take(semaphore)
        assert messages.received() == [b"2"]
    assert permits.server.keys() == keys


def test_the_prefix_of_the_client_is_part_of_the_name(
    permits: Permits, make_client: MakeClient
) -> None:
    semaphore = make_client(name_prefix="app:").permit_semaphore("s")
    permits.do(semaphore.try_set_permits, 1)
    permits.take(semaphore)
    assert permits.server.keys() == {b"app:s", b"{app:s}:timeout"}


def test_a_key_that_is_no_semaphore_is_an_error(permits: Permits) -> None:
    semaphore = permits.semaphore()
    permits.server.inspect.hset(NAME, "a", "b")
    calls: list[tuple[Any, ...]] = [
        (semaphore.acquire,),
        (semaphore.try_set_permits, 1),
        (semaphore.available_permits,),
        (semaphore.release, UNKNOWN),
        (semaphore.delete,),
    ]
    for call in calls:
        with pytest.raises(holdfast.ServerError, match=NAME) as caught:
            permits.do(*call)
        assert caught.value.code == "WRONGTYPE"


def test_a_semaphore_says_its_name_and_is_not_copied(client: Any) -> None:
    semaphore = client.permit_semaphore(NAME)
    assert repr(semaphore) == f"<PermitSemaphore {NAME!r}>"
    for make in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="PermitSemaphore"):
            make(semaphore)


# ---- bad input


BadCall = tuple[str, tuple[Any, ...], dict[str, Any], type[Exception]]

BAD_CALLS: list[BadCall] = [
    *(
        ("try_set_permits", (permits,), {}, error)
        for permits, error in [
            (-1, ValueError),
            (2**31, ValueError),
            (True, TypeError),
            (1.0, TypeError),
            ("1", TypeError),
        ]
    ),
    *(
        (method, (permit, *more), {}, error)
        for method, more in [("release", ()), ("try_release", ()), ("extend", (10,))]
        for permit, error in [
            ("", ValueError),
            (UNKNOWN[:-1], ValueError),
            (UNKNOWN + "0", ValueError),
            (UNKNOWN[:-1] + "g", ValueError),
            (UNKNOWN[:-1] + " ", ValueError),
            (UNKNOWN + "\n", ValueError),
            (UNKNOWN.encode(), TypeError),
            (bytes.fromhex(UNKNOWN), TypeError),
            (7, TypeError),
            (None, TypeError),
        ]
    ),
    ("extend", (UNKNOWN, 0), {}, ValueError),
    ("extend", (UNKNOWN, None), {}, TypeError),
    ("acquire", (), {"lease": 0}, ValueError),
    ("acquire", (), {"lease": "1"}, TypeError),
    ("acquire", (False, 1), {}, ValueError),
    ("acquire", (), {"timeout": -2}, ValueError),
    ("acquire", (), {"timeout": 1e300}, OverflowError),
]


@pytest.mark.values("call", BAD_CALLS, ids=repr)
def test_bad_input_is_refused_before_anything_is_sent(deaf: Any, alice: Any, call: BadCall) -> None:
    method, args, named, error = call
    with pytest.raises(error):
        alice.do(getattr(deaf.permit_semaphore(NAME), method), *args, **named)


@pytest.mark.values(
    ("name", "options", "error"),
    [
        ("", {}, ValueError),
        (7, {}, TypeError),
        (NAME, {"lease": 0}, ValueError),
        (NAME, {"lease": "1"}, TypeError),
        (NAME, {"wait": -1}, ValueError),
        (NAME, {"lost": 1}, TypeError),
    ],
)
def test_a_bad_semaphore_is_not_made(
    client: Any, name: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.permit_semaphore(name, **options)
