"""``bench`` measures, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest

import holdfast
from holdfast_tools.bench import bench
from tests.support.clusters import Cluster
from tests.support.fixtures import StartServer
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


def test_an_error_of_the_second_process_is_named(server: Server) -> None:
    elsewhere = "redis://127.0.0.1:1?retries=0&command_timeout=0.5"
    words = r"the second process, which waits for the lock, failed: .*127\.0\.0\.1:1"
    with (
        holdfast.Client(server.url) as client,
        pytest.raises(holdfast.ConnectionError, match=words),
    ):
        list(bench(client, elsewhere, 1))


def test_a_second_process_that_is_refused_is_69(run: Run, start_server: StartServer) -> None:
    """It needs more connections than are left."""
    server = start_server()
    with holdfast.Client(server.url) as client:
        client.ping()
        found: set[int] = set()
        for most in range(2, 16):
            server.inspect.config_set("maxclients", most)
            done = run("--url", f"{server.url}?retries=0", "bench", "--seconds", "1", "--json")
            assert "could not convert" not in done.stderr
            assert done.stderr.count("\n") == (done.returncode != 0)
            found.add(done.returncode)
            if "the second process" in done.stderr:
                break
    assert found == {69}
    assert "the second process" in done.stderr
