"""The URLs of a client: their meaning, how bad ones are refused, and that no password is quoted."""

from __future__ import annotations

import random
import re
import sys
import traceback

import pytest

from holdfast._clients.urls import Url, read_url

BAD = {
    "": "no scheme",
    "localhost:6379": "no scheme",
    "http://h": "unknown scheme 'http'",
    "redis+ring://h": "redis\\+ring",
    "redis+://h": "unknown scheme 'redis\\+'",
    "re dis://h": "unknown scheme",
    "redis://": "host is empty",
    "redis:///0": "host is empty",
    "redis://u:p@": "host is empty",
    "redis://:6379": "host is empty",
    "redis://h:": "port",
    "redis://h:0": "port",
    "redis://h:65536": "port",
    "redis://h:6379x": "port",
    "redis://h:-1": "port",
    "redis://h:+1": "port",
    "redis://h:\u0661": "port",
    "redis://::1": r"redis://\[::1\]:6379",
    "redis://2001:db8::1": "brackets",
    "redis://::1:6379": r"redis://\[::1\]:6379",
    "redis+cluster://h,::1:7000": "brackets",
    "redis-cluster://h": r"write redis\+cluster://",
    "rediss-sentinel://h/s": r"write rediss\+sentinel://",
    "redis-ring://h": "known are redis, rediss, valkey, valkeys, unix, redis.sentinel",
    "redis://[::1": "'\\]'",
    "redis://[::1]6379": "port",
    "redis://[::1]]": "port",
    "redis://[h]": "IPv6",
    "redis://[::1%25%00]": "IPv6",
    "redis://[::1%00]": "IPv6",
    "redis://a%20b": "host name",
    "redis://a%00b": "host name",
    "redis://a b": "host name",
    "redis://a[b]": "host name",
    "redis://h/x": "database",
    "redis://h/-1": "database",
    "redis://h/1/2": "database",
    "redis://h/99999999999": "database",
    "redis://h/2147483648": "database",
    "redis://h/" + "9" * 5000: "database",
    "redis://h#frag": "fragment",
    "redis://h/0#": "fragment",
    "redis://h1,h2": "several hosts",
    "redis://u%4:p@h": "user",
    "redis://u:%zz@h": "password",
    "redis://u:%ff@h": "UTF-8",
    "redis://h%2": "host",
    "redis://h?lease": "name=value",
    "redis://h?=5": "name=value",
    "redis://h?a=%4": "value of an option",
    "unix://": "three slashes",
    "unix:///": "three slashes",
    "unix://tmp/x": "three slashes",
    "unix:///x?db=a": "database",
    "unix:///x?db=1&db=1": "occurs twice",
    "unix:///x%00y": "NUL",
    "unix:///" + "a" * 107: "10[37] bytes",
    "unix:///" + "\u00e9" * 53 + "a": "10[37] bytes",
    "redis+sentinel://h": "service",
    "redis+sentinel://h/": "service",
    "redis+sentinel://h//0": "service",
    "redis+sentinel://h/s/x": "database",
    "redis+sentinel://h1,,h2/s": "host is empty",
    "redis+cluster://h,": "host is empty",
    "redis+cluster://h/x": "database",
}


def test_one_server() -> None:
    assert read_url("redis://127.0.0.1:6380/3") == Url(
        "standalone", False, [("127.0.0.1", 6380, "")], "", 3, "", "", []
    )


@pytest.mark.parametrize(
    "url",
    [
        "redis://example.org",
        "redis://example.org/",
        "valkey://example.org/0",
        "REDIS://example.org:6379",
    ],
)
def test_port_and_database_may_be_left_out(url: str) -> None:
    read = read_url(url)
    assert read.addresses == [("example.org", 6379, "")]
    assert (read.database, read.username, read.password) == (0, "", "")


def test_tls_is_named_by_the_scheme() -> None:
    for url in ("rediss://h", "valkeys://h", "rediss+cluster://h", "valkeys+sentinel://h/s"):
        assert read_url(url).tls
    for url in ("redis://h", "valkey://h", "valkey+cluster://h", "redis+sentinel://h/s"):
        assert not read_url(url).tls


@pytest.mark.parametrize(
    ("url", "username", "password"),
    [
        ("redis://alice:s%40c%2Fr%3Ae%25t@h", "alice", "s@c/r:e%t"),
        ("redis://:secret@h", "", "secret"),
        ("redis://alice@h", "alice", ""),
        ("redis://a:b:c@h", "a", "b:c"),  # a colon needs no encoding
        ("redis://a:b@c@h", "a", "b@c"),  # the last '@' counts
        ("redis://%C3%a9:p+q%20r\u00e9@h", "\u00e9", "p+q r\u00e9"),
        ("unix://u:p@/s", "u", "p"),
    ],
)
def test_user_and_password_are_decoded(url: str, username: str, password: str) -> None:
    read = read_url(url)
    assert (read.username, read.password) == (username, password)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("redis://user:pw@[2001:db8::7]:7000/1", "2001:db8::7", 7000),
        ("redis://[::1]", "::1", 6379),
        ("redis://[::1]/2", "::1", 6379),
        ("redis://[fe80::1%25eth0]", "fe80::1%eth0", 6379),
    ],
)
def test_an_ipv6_address_stands_in_brackets(url: str, host: str, port: int) -> None:
    assert read_url(url).addresses == [(host, port, "")]


def test_a_unix_socket_has_its_database_in_the_query() -> None:
    read = read_url("unix:///run/my%20redis.sock?lease=5&db=2")
    assert read.addresses == [("", 6379, "/run/my redis.sock")]
    assert (read.deployment, read.database, read.options) == ("standalone", 2, [("lease", "5")])


@pytest.mark.skipif(sys.platform != "linux", reason="the longest path of Linux")
def test_the_longest_path_of_a_unix_socket() -> None:
    assert read_url("unix:///" + "a" * 106).addresses == [("", 6379, "/" + "a" * 106)]


def test_sentinels_name_a_service() -> None:
    read = read_url("redis+sentinel://u:p@h1:26380,h2,[::1]:5/my%20primary/4")
    assert read.deployment == "sentinel"
    assert read.addresses == [("h1", 26380, ""), ("h2", 26379, ""), ("::1", 5, "")]
    assert (read.service, read.database) == ("my primary", 4)
    assert read_url("redis+sentinel://h/s/").database == 0


def test_a_cluster_has_several_hosts_and_may_have_databases() -> None:
    read = read_url("redis+cluster://h1:7000,h2")
    assert (read.deployment, read.database) == ("cluster", 0)
    assert read.addresses == [("h1", 7000, ""), ("h2", 6379, "")]
    assert read_url("redis+cluster://h,g/2").database == 2
    assert read_url("redis+cluster://h/0").database == 0


def test_options_are_left_to_the_caller() -> None:
    read = read_url("redis://h?lease=5&client_name=a%26b+c&&lease=6")
    assert read.options == [("lease", "5"), ("client_name", "a&b+c"), ("lease", "6")]


def test_a_bad_url_is_refused_by_its_fault() -> None:
    refusals = {url: _refusal(url) or "none" for url in BAD}
    assert {url: why for url, why in refusals.items() if not re.search(BAD[url], why)} == {}


def test_a_refusal_quotes_nothing_of_a_password() -> None:
    """However the pieces of a password fall apart at marks that should have been encoded."""
    seeded = random.Random(7)
    schemes = ["redis", "unix", "redis+sentinel", "redis+cluster", "nonsense"]
    refused = 0
    for _ in range(20000):
        password = "".join("qzx" + seeded.choice("/?#@:%[],&=+ ") for _ in range(4))
        url = f"{seeded.choice(schemes)}://user:{password}@host:1/0"
        said = _refusal(url)
        refused += said is not None
        assert "qzx" not in (said or ""), url
    assert refused > 10000


def _refusal(url: str) -> str | None:
    """Return the message of a refusal with what a traceback shows of its cause."""
    try:
        read_url(url)
    except ValueError as fault:
        return "".join(traceback.format_exception_only(fault)) + str(fault.__cause__ or "")
    return None
