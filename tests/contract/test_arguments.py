"""Every argument is checked before anything is sent, and the message names it.

The client's server is a socket that listens and never answers: a connection is seen.
"""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest

from tests.contract.kinds import Kind
from tests.support.actors import Flavour
from tests.support.owners import MakeClient

BAD_LEASES: list[tuple[Any, type[Exception]]] = [
    (0, ValueError),
    (0.0, ValueError),
    (-1, ValueError),
    (-0.001, ValueError),
    (math.nan, ValueError),
    (math.inf, ValueError),
    (-math.inf, ValueError),
    (10**309, ValueError),  # too large for a float
    (1e10, ValueError),
    ("30", TypeError),
    (b"30", TypeError),
    ([30], TypeError),
    (1j, TypeError),
]
BAD_SECONDS: list[tuple[Any, type[Exception]]] = [
    *((value, error) for value, error in BAD_LEASES if not isinstance(value, (int, float))),
    (-1, ValueError),
    (-(10**309), ValueError),
    (math.nan, ValueError),
]
BAD_OPTIONS: list[tuple[str, Any, type[Exception]]] = [
    *(("lease", value, error) for value, error in BAD_LEASES),
    *(("connect_timeout", value, error) for value, error in BAD_SECONDS),
    *(("command_timeout", value, error) for value, error in BAD_SECONDS),
    ("connect_timeout", 0, ValueError),
    ("connect_timeout", 10**10, ValueError),
    ("command_timeout", 0, ValueError),
    ("command_timeout", 1e10, ValueError),
    ("id", "not a uuid", ValueError),
    ("id", "", ValueError),
    ("id", 7, TypeError),
    ("name_prefix", 7, TypeError),
    ("username", 7, TypeError),
    ("password", 7, TypeError),
    ("client_name", 7, TypeError),
    ("retries", -1, ValueError),
    ("retries", "many", TypeError),
    ("replicas_to_wait", -1, ValueError),
    ("replicas_to_wait", "all", TypeError),
    ("protocol", 4, ValueError),
    ("protocol", "three", TypeError),
    ("tls_ca", 7, TypeError),
    ("tls_cert", 7, TypeError),
    ("tls_key", 7, TypeError),
    ("tls_verify", "perhaps", TypeError),
]
BAD_URLS = (
    "",
    "127.0.0.1",
    "127.0.0.1:6379",
    "http://127.0.0.1:6379",
    "redis:127.0.0.1",
    "redis://",
    "redis://:6379x",
    "redis://127.0.0.1:port",
    "redis://127.0.0.1:0",
    "redis://127.0.0.1:65536",
    "redis://127.0.0.1:-1",
    "redis://127.0.0.1:6379/one",
    "redis://127.0.0.1:6379/-1",
    "redis://127.0.0.1:6379/0/1",
    "redis://127.0.0.1:6379/0?lease=abc",
    "redis://127.0.0.1:6379/0?lease=0",
    "redis://127.0.0.1:6379/0?lease=nan",
    "redis://127.0.0.1:6379/0?unknown=1",
    "redis://127.0.0.1:6379/0?command_timeout=-1",
    "redis://[::1:6379",
    "unix://",
    "unix:///path?db=one",
    "redis+unknown://127.0.0.1:6379",
)
SECRET = "hunter2"
NO_TEXT = SECRET + "\udce9"
"""What Python makes of bytes of the environment that are not UTF-8."""
NO_TEXT_URLS = {
    "password": f"redis://me:{NO_TEXT}@127.0.0.1:1",
    "user": f"redis://{NO_TEXT}:pass@127.0.0.1:1",
    "percent password": f"redis://me:{SECRET}%e9@127.0.0.1:1/0",
    "percent user": f"redis://{SECRET}%e9:pass@127.0.0.1:1/0",
    "percent option": f"redis://127.0.0.1:1?password={SECRET}%e9",
    "percent prefix": "redis://127.0.0.1:1?name_prefix=%ff",
    "percent path": "unix:///path/%ff.sock",
}


@pytest.mark.values(("lease", "error"), BAD_LEASES, ids=repr)
def test_bad_leases(alice: Any, deaf: Any, kind: Kind, lease: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="lease"):
        kind.make(deaf, "myLock", lease=lease)
    lock = kind.make(deaf, "myLock")
    with pytest.raises(error, match="lease"):
        alice.do(lock.acquire, lease=lease)
    with pytest.raises(error, match="lease"):
        alice.do(lock.extend, lease)


def test_extend_needs_a_lease(alice: Any, deaf: Any, kind: Kind) -> None:
    lock = kind.make(deaf, "myLock")
    with pytest.raises(TypeError, match="lease"):
        alice.do(lock.extend)
    with pytest.raises(TypeError, match="lease"):
        alice.do(lock.extend, None)


@pytest.mark.values(("wait", "error"), BAD_SECONDS, ids=repr)
def test_bad_waits(deaf: Any, kind: Kind, wait: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="wait"):
        kind.make(deaf, "myLock", wait=wait)


@pytest.mark.values("on_lost", [1, "print", object()], ids=["int", "str", "object"])
def test_bad_callables(deaf: Any, kind: Kind, on_lost: Any) -> None:
    with pytest.raises(TypeError, match="on_lost"):
        kind.make(deaf, "myLock", on_lost=on_lost)


@pytest.mark.values("name", [None, 7, 1.5, ["a"], bytearray(b"a")], ids=repr)
def test_names_of_a_wrong_type(deaf: Any, kind: Kind, name: Any) -> None:
    with pytest.raises(TypeError, match="name"):
        kind.make(deaf, name)


@pytest.mark.values("name", ["", b"", "\ud800"], ids=["empty", "no bytes", "surrogate"])
def test_names_that_cannot_be(deaf: Any, kind: Kind, name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        kind.make(deaf, name)


def test_unknown_keywords_of_a_lock(alice: Any, deaf: Any, kind: Kind) -> None:
    with pytest.raises(TypeError, match="leese"):
        kind.make(deaf, "myLock", leese=3)
    with pytest.raises(TypeError, match="leese"):
        alice.do(kind.make(deaf, "myLock").acquire, leese=3)
    with pytest.raises(TypeError):
        alice.do(kind.make(deaf, "myLock").acquire, True, -1, 30)


@pytest.mark.values("arguments", [(True, "1"), (True, -2), (False, 1), (True, math.nan)], ids=str)
def test_bad_timeouts(alice: Any, deaf: Any, kind: Kind, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError), match="timeout"):
        alice.do(kind.make(deaf, "myLock").acquire, *arguments)


@pytest.mark.values("url", BAD_URLS, ids=repr)
def test_bad_urls(flavour: Flavour, url: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)url|lease|unknown|command_timeout"):
        flavour.client(url)


@pytest.mark.values("url", [7, b"redis://127.0.0.1", ["redis://127.0.0.1"]], ids=repr)
def test_urls_of_a_wrong_type(flavour: Flavour, url: Any) -> None:
    with pytest.raises(TypeError, match="url"):
        flavour.client(url)


@pytest.mark.values(("option", "value", "error"), BAD_OPTIONS, ids=repr)
def test_bad_options(flavour: Flavour, option: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=option):
        flavour.client("redis://127.0.0.1:1", **{option: value})


def test_unknown_options(flavour: Flavour) -> None:
    with pytest.raises(TypeError, match="leese"):
        flavour.client("redis://127.0.0.1:1", leese=3)
    with pytest.raises(ValueError, match="leese"):
        flavour.client("redis://127.0.0.1:1?leese=3")


@pytest.mark.values(
    "url",
    [
        f"redis://user:{SECRET}@127.0.0.1:port",
        f"redis://:{SECRET}@127.0.0.1:1/one",
        f"http://user:{SECRET}@127.0.0.1",
        f"redis://127.0.0.1:1?password={SECRET}&unknown=1",
        f"redis://user:{SECRET}@",
    ],
    ids=["port", "db", "scheme", "option", "no host"],
)
def test_no_message_tells_a_password(flavour: Flavour, url: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)url|unknown") as refused:
        flavour.client(url)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None or SECRET not in str(refused.value.__cause__)


@pytest.mark.values("option", ["username", "password", "client_name", "id", "name_prefix"])
def test_an_option_that_is_no_text(flavour: Flavour, option: str) -> None:
    with pytest.raises(ValueError, match=rf"^{option} must be") as refused:
        flavour.client("redis://127.0.0.1:1", **{option: NO_TEXT})
    assert SECRET not in _told(refused.value)


@pytest.mark.values("option", ["tls_ca", "tls_cert", "tls_key"])
def test_a_file_name_that_is_no_text(flavour: Flavour, option: str) -> None:
    files = {"tls_cert": "file", "tls_key": "file"}
    with pytest.raises(ValueError, match=rf"^{option} must be"):
        flavour.client("rediss://127.0.0.1:1", **{**files, option: NO_TEXT})


@pytest.mark.values("option", ["sentinel_username", "sentinel_password"])
def test_a_sentinels_option_that_is_no_text(flavour: Flavour, option: str) -> None:
    texts = {"sentinel_username": "me", "sentinel_password": "pass"}
    with pytest.raises(ValueError, match=rf"^{option} must be") as refused:
        flavour.client("redis+sentinel://127.0.0.1:1/service", **{**texts, option: NO_TEXT})
    assert SECRET not in _told(refused.value)


@pytest.mark.values("url", NO_TEXT_URLS.values(), ids=NO_TEXT_URLS)
def test_a_url_that_is_no_text(flavour: Flavour, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", url)
    given: Any
    for given in (url, None):
        with pytest.raises(ValueError, match="url") as refused:
            flavour.client(given)
        assert SECRET not in _told(refused.value)


def _told(error: Exception) -> str:
    return f"{error!s} {error!r} {error.__cause__!r}"


def test_what_is_right_is_accepted(flavour: Flavour, make_client: MakeClient) -> None:
    identity = str(uuid.uuid4())
    client = make_client(
        "redis://user:pass@127.0.0.1:1/3?lease=20&client_name=me",
        id=identity,
        name_prefix="app:",
        connect_timeout=1,
        command_timeout=2.5,
        retries=2,
    )
    assert client.id == identity
    for url in ("valkey://127.0.0.1", "redis://[::1]:6379/0", "unix:///path/to.sock?db=2"):
        make_client(url)


@pytest.mark.servers("real")
def test_a_keyword_with_the_default_value_wins_over_the_url(
    alice: Any, make_client: MakeClient, server: Any
) -> None:
    client = make_client(f"{server.url}?lease=9", lease=30.0)
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    assert alice.do(lock.ttl) > 9
    alice.do(lock.release)


@pytest.mark.servers("real")
def test_times_without_end_are_accepted(alice: Any, client: Any, make_client: MakeClient) -> None:
    lock = client.lock("myLock", lease=9e9)
    alice.do(lock.acquire)
    assert 8.9e9 < alice.do(lock.ttl) <= 9e9
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    for option in ("lease", "connect_timeout", "command_timeout"):
        alice.do(make_client(**{option: 9e9}).ping)


def test_a_lock_sends_nothing_until_it_is_used(deaf: Any, kind: Kind) -> None:
    lock = kind.make(deaf, "myLock", lease=5, wait=1, on_lost=print)
    assert lock.name == kind.title("myLock")
    assert lock.lost is False
    assert "not held" in repr(lock)


@pytest.mark.values(("queue_timeout", "error"), BAD_LEASES, ids=str)
def test_a_bad_queue_timeout_is_refused(
    deaf: Any, queue_timeout: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="queue_timeout"):
        deaf.fair_lock("myLock", queue_timeout=queue_timeout)
