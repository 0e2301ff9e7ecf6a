"""How further servers for the tests are found among Debian's sources, and where they are listed."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tools import servers
from tools.lint.tree import ROOT

SOURCES = """
Types: deb
URIs: file:/security
Suites: bookworm-security
Components: main
Signed-By: /keys/of-security.gpg

Types: deb
# a comment
URIs: file:/debian
Suites: bookworm bookworm-updates
Components: main non-free
Signed-By: /keys/of-debian.gpg
"""

LISTED = "deb [arch=amd64 signed-by=/keys/of-debian.gpg] file:/debian bookworm main"


@pytest.mark.parametrize("configuration", [SOURCES, LISTED], ids=["stanzas", "lines"])
def test_the_sources_come_from_where_the_packages_come_from(configuration: str) -> None:
    entry = servers.source_entry(configuration, "bookworm")
    assert dict(line.split(": ") for line in entry.splitlines()) == {
        "Types": "deb-src",
        "URIs": "file:/debian",
        "Suites": " ".join(servers.SUITES),
        "Components": "main",
        "Signed-By": "/keys/of-debian.gpg",
    }


@pytest.mark.parametrize("configuration", ["", SOURCES, LISTED])
def test_a_machine_of_another_release_is_an_error(configuration: str) -> None:
    with pytest.raises(servers.ServersError, match="no entry for the release trixie"):
        servers.source_entry(configuration, "trixie")


@pytest.mark.parametrize(
    ("package", "version"),
    [
        ("5:8.6.3-1", "8.6.3"),
        ("5:8.0.2-3+deb13u3", "8.0.2"),
        ("9.1.2-1", "9.1.2"),
        ("8.1.1+dfsg1-3+deb13u3", "8.1.1"),
        ("7.3.6+ds-3", "7.3.6"),
        ("5:8.0.0~rc1-1", "8.0.0"),
    ],
)
def test_the_version_of_a_package_is_the_servers(package: str, version: str) -> None:
    assert servers.upstream(package) == version


def test_a_kind_is_of_its_series_alone() -> None:
    [redis] = servers.wanted(["redis8.0"])
    assert redis.matches("5:8.0.6-3")
    assert not redis.matches("5:8.6.3-1")
    assert not redis.matches("5:8.01.1-1")


def test_an_unknown_kind_is_an_error_that_names_the_others() -> None:
    with pytest.raises(servers.ServersError, match=r"'redis1'.*redis8\.6, redis8\.0, valkey9"):
        servers.wanted(["redis1"])


def test_newer_versions_come_first() -> None:
    versions = ["5:8.0.2-3+deb13u3", "5:8.10.0-1", "5:8.6.3-1"]
    ordered = sorted(versions, key=servers.cmp_to_key(servers._newer_first))
    assert ordered == ["5:8.10.0-1", "5:8.6.3-1", "5:8.0.2-3+deb13u3"]


PAGE = (ROOT / "docs" / "tested.md").read_text(encoding="utf-8")
#: Kind, product and version of each row.
ROWS = re.findall(r"(?m)^\| `([\w.]+)` \| (\w+) ([\d.]+) \|", PAGE)


def test_the_page_lists_the_servers_that_the_tests_know() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    [matrix] = re.findall(r"(?m)^ +server: \[(.+)\]$", workflow)
    known = {"redis", "valkey", *matrix.split(", "), *(each.kind for each in servers.SERVERS)}
    assert {kind for kind, _, _ in ROWS} == known


@pytest.mark.parametrize("server", servers.SERVERS, ids=lambda each: each.kind)
def test_the_page_has_a_version_that_the_script_builds(server: servers.Server) -> None:
    [version] = [version for kind, _, version in ROWS if kind == server.kind]
    assert server.matches(version)


def test_the_readme_has_the_versions_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| (\w+) \| (\d+\.\d+(?:, \d+\.\d+)*) \|$", readme)
    versions = defaultdict(set)
    for _, product, version in ROWS:
        versions[product].add(version.rpartition(".")[0])
    assert {product: {*numbers.split(", ")} for product, numbers in listed} == versions
