"""``bench`` measures, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest

from tests.support.clusters import Cluster
from tests.support.servers import Server
from tests.tools.cli.conftest import Run

pytestmark = pytest.mark.servers("redis")

NAMES = ["round_trip", "pair", "wake_up", "renewals"]


def check(printed: str) -> None:
    results = json.loads(printed)
    assert list(results) == NAMES
    for name, result in results.items():
        assert list(result) == ["value", "unit", "floor", "ratio"]
        assert result["unit"] == ("1/s" if name == "renewals" else "ms")
        assert min(result["value"], result["floor"], result["ratio"]) > 0
        assert result["ratio"] == pytest.approx(result["value"] / result["floor"], rel=0.02)


def test_every_value_stands_beside_its_floor(run: Run, server: Server) -> None:
    done = run("bench", "--seconds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    check(done.stdout)
    assert server.keys() == set()
    rows = [line.split("\t") for line in run("bench", "--seconds", "1").stdout.splitlines()]
    assert [row[0] for row in rows][:2] == ["round trip", "pair"]
    assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "0", "0.5", "-1"])
def test_a_time_that_measures_nothing_is_refused(run: Run, seconds: str) -> None:
    done = run("bench", "--seconds", seconds)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_cluster_is_measured(run: Run) -> None:
    with Cluster("redis", replicas=False) as cluster:
        done = run("--url", cluster.url, "bench", "--seconds", "1", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        check(done.stdout)
