"""``bench`` measures, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from tests.support.clusters import Cluster
from tests.support.servers import Server

pytestmark = pytest.mark.servers("redis")

NAMES = ["round_trip", "pair", "wake_up", "renewals"]


def check(printed: str) -> None:
    results = json.loads(printed)
    assert list(results) == NAMES
    for name, result in results.items():
        assert list(result) == ["value", "unit", "floor", "ratio"]
        assert result["unit"] == ("1/s" if name == "renewals" else "ms")
        assert min(result["value"], result["floor"], result["ratio"]) > 0


def test_every_value_stands_beside_its_floor(run: Run, server: Server) -> None:
    done = run("bench", "--seconds", "0.5", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    check(done.stdout)
    assert server.keys() == set()
    rows = [line.split("\t") for line in run("bench", "--seconds", "0.5").stdout.splitlines()]
    assert [row[0] for row in rows][:2] == ["round trip", "acquire and release"]
    assert {len(row) for row in rows} == {4}


def test_a_cluster_is_measured(run: Run) -> None:
    with Cluster("redis", replicas=False) as cluster:
        done = run("--url", cluster.url, "bench", "--seconds", "0.5", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        check(done.stdout)
