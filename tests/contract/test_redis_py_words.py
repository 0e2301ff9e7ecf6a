"""What people type who come from redis-py, or from threading, and what the errors answer."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

import holdfast
import holdfast.asyncio
from tests.support.waiting import timed_out

URL = "redis://127.0.0.1:1"
CLIENTS = [holdfast.Client, holdfast.asyncio.Client]


@pytest.mark.parametrize("make", CLIENTS, ids=["sync", "asyncio"])
@pytest.mark.parametrize(
    ("keyword", "instead"),
    [
        ("host", "redis://host:port/db"),
        ("db", "redis://host:port/db"),
        ("ssl", "rediss://"),
        ("ssl_cert_reqs", "tls_verify="),
        ("socket_timeout", "command_timeout="),
        ("socket_connect_timeout", "connect_timeout="),
    ],
)
def test_a_clients_keyword_names_ours(make: Any, keyword: str, instead: str) -> None:
    with pytest.raises(TypeError, match=f"{keyword}.*{instead}"):
        make(**{keyword: "1"})


@pytest.mark.parametrize("make", CLIENTS, ids=["sync", "asyncio"])
@pytest.mark.parametrize("kind", ["lock", "fair_lock", "semaphore", "read_write_lock"])
@pytest.mark.parametrize(
    ("keyword", "instead"),
    [
        ("timeout", "lease="),
        ("ttl", "lease="),
        ("expire", "lease="),
        ("blocking_timeout", "wait="),
        ("sleep", "out"),
    ],
)
def test_a_locks_keyword_names_ours(make: Any, kind: str, keyword: str, instead: str) -> None:
    client = make(URL)
    with pytest.raises(TypeError, match=f"^{kind}.*{keyword}.*{instead}"):
        getattr(client, kind)("x", **{keyword: 5})


NAMED = [
    "lock",
    "fair_lock",
    "fenced_lock",
    "spin_lock",
    "read_write_lock",
    "semaphore",
    "permit_semaphore",
    "count_down_latch",
]


@pytest.mark.parametrize("make", CLIENTS, ids=["sync", "asyncio"])
@pytest.mark.parametrize("kind", NAMED)
def test_a_constructor_takes_only_its_name_by_position(make: Any, kind: str) -> None:
    client = make(URL)
    made = type(getattr(client, kind)("x"))
    with pytest.raises(TypeError, match=f"{kind}.*positional"):
        getattr(client, kind)("x", 5)
    with pytest.raises(TypeError, match="positional"):
        made(client, "x", 5)


def test_a_red_locks_keyword_names_ours() -> None:
    client = holdfast.Client(URL)
    with pytest.raises(TypeError, match=r"RedLock.*timeout.*lease="):
        holdfast.RedLock(client.lock("x"), timeout=5)  # type: ignore[call-arg]


def test_acquire_names_our_keyword(client: Any, alice: Any) -> None:
    for it in (client.lock("x"), client.semaphore("x"), client.permit_semaphore("x")):
        with pytest.raises(TypeError, match=r"acquire\(\).*blocking_timeout.*timeout="):
            alice.do(it.acquire, blocking_timeout=5)
        with pytest.raises(TypeError, match=r"acquire\(\).*'wait'.*timeout="):
            alice.do(it.acquire, wait=5)
        for keyword in ("ttl", "expire"):
            with pytest.raises(TypeError, match=rf"acquire\(\).*{keyword}.*lease="):
                alice.do(it.acquire, **{keyword: 5})
        with pytest.raises(TypeError, match=r"acquire\(\) got an unexpected keyword argument 'x'"):
            alice.do(it.acquire, x=5)


def test_a_timedelta_names_its_seconds(client: Any, alice: Any) -> None:
    delta = datetime.timedelta(minutes=1)
    lock = client.lock("x")
    for word, call in {
        "lease": lambda: client.lock("x", lease=delta),
        "wait": lambda: client.lock("x", wait=delta),
        "backoff": lambda: client.spin_lock("x", backoff=delta),
        "timeout": lambda: alice.do(lock.acquire, timeout=delta),
        "command_timeout": lambda: type(client)(URL, command_timeout=delta),
    }.items():
        with pytest.raises(TypeError, match=rf"{word} must.*timedelta.*\.total_seconds\(\)"):
            call()
    with pytest.raises(TypeError, match=r"lease must.*timedelta.*\.total_seconds\(\)"):
        alice.do(lock.extend, delta)


@pytest.mark.parametrize("make", CLIENTS, ids=["sync", "asyncio"])
def test_a_client_of_redis_py_in_the_place_of_a_url_names_from_redis(make: Any) -> None:
    for source in (redis.Redis(), redis.asyncio.Redis(), redis.ConnectionPool()):
        with pytest.raises(TypeError, match=r"url must be str.*from_redis\(\)"):
            make(source)
    with pytest.raises(TypeError, match=r"url must be str, not int$"):
        make(6379)


@pytest.mark.values("number", [5, 0.5, 2.0, -1, float("nan")])
def test_a_number_is_no_answer_to_blocking(client: Any, alice: Any, number: float) -> None:
    for it in (client.lock("x"), client.semaphore("x"), client.permit_semaphore("x")):
        with pytest.raises(TypeError, match=r"blocking.*timeout="):
            alice.do(it.acquire, number)


def test_one_and_zero_are_truth_values(client: Any, alice: Any) -> None:
    lock = client.lock("x")
    assert alice.do(lock.acquire, 1) is True
    assert alice.do(lock.acquire, 0) is True


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_a_semaphore_that_was_never_initialized_says_so(client: Any, alice: Any, kind: str) -> None:
    semaphore = getattr(client, kind)("x", wait=0.05)
    timed_out(
        lambda: alice.inside(semaphore, lambda _: None), r"never initialized.*try_set_permits"
    )
    alice.do(semaphore.try_set_permits, 0)
    late = timed_out(lambda: alice.inside(semaphore, lambda _: None))
    assert "initialized" not in str(late)


@pytest.mark.parametrize("make", CLIENTS, ids=["sync", "asyncio"])
def test_wait_beyond_what_threading_takes(make: Any) -> None:
    client = make(URL)
    for kind in ("lock", "semaphore", "permit_semaphore"):
        with pytest.raises(OverflowError, match="wait"):
            getattr(client, kind)("x", wait=float("inf"))
        with pytest.raises(ValueError, match="wait"):
            getattr(client, kind)("x", wait=-1)


def test_files_may_be_paths() -> None:
    client = holdfast.Client("rediss://127.0.0.1:1", tls_ca=Path("/tmp/ca.pem"))
    assert "rediss" in repr(client) or client.id


def test_ping_says_true(client: Any, alice: Any) -> None:
    assert alice.do(client.ping) is True


def test_import_star_hides_no_built_in() -> None:
    import builtins

    assert not set(holdfast.__all__) & set(dir(builtins))
    assert not set(holdfast.asyncio.__all__) & set(dir(builtins))
