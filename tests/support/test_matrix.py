"""A plain `pytest` stays one that a newcomer runs: one server for each test, lists on one kind."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys

import pytest

from tests.contract.test_timeouts import ACCEPTED
from tests.support.kinds import kind_of_file
from tests.support.matrix import choose, is_full, server_kinds
from tools.lint.tree import ROOT

ITEMS_AT_MOST = 9600


def test_the_quick_run_is_small(request: pytest.FixtureRequest) -> None:
    if not is_full(request.config):
        assert len(request.session.items) <= ITEMS_AT_MOST


def test_every_item_has_an_installed_server(request: pytest.FixtureRequest) -> None:
    users = (item for item in request.session.items if item.get_closest_marker("servers"))
    assert [item.nodeid for item in users if not server_kinds(item)] == []


def test_a_choice_stays_when_another_kind_is_installed() -> None:
    """It is the same each time, every kind has its share, and a new kind takes only its own."""
    keys = [f"tests/test_it.py::test_it[{number}]" for number in range(300)]
    before = {key: choose(["fakeredis", "redis"], key) for key in keys}
    after = {key: choose(["fakeredis", "redis", "valkey"], key) for key in keys}
    assert {key for key in keys if after[key] not in {before[key], "valkey"}} == set()
    shares = [len([*group]) for _, group in itertools.groupby(sorted(after.values()))]
    assert len(shares) == 3
    assert min(shares) > 60


def collect(*arguments: str, **environment: str) -> str:
    """What a run with these arguments would consist of, with its header."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", *arguments]
    variables = {**os.environ, **environment}
    run = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("matrix", "others"), [("quick", 1), ("full", len(ACCEPTED))])
def test_a_list_of_values_is_tried_on_the_first_kind_of_lock(matrix: str, others: int) -> None:
    file = "tests/contract/test_timeouts.py"
    listed = collect("--servers", "fakeredis", "--matrix", matrix, "-k", "accepts and sync", file)
    assert len(re.findall(r"\[lock-.*-sync(?:-fakeredis)?\]", listed)) == len(ACCEPTED)
    assert len(re.findall(r"\[fair_lock-.*-sync(?:-fakeredis)?\]", listed)) == others


@pytest.mark.slow
def test_a_kind_that_is_not_installed_is_named_and_not_collected() -> None:
    needs_redis, needs_none = (
        "tests/deployments/security/test_tls.py",
        "tests/support/test_matrix.py",
    )
    listed = collect(needs_redis, needs_none, PATH="")
    assert re.search(r"(?m)^servers: .*; not installed, .*redis \(install .*redis-server\)", listed)
    assert "test_matrix.py" in listed
    assert "test_tls.py" not in listed


@pytest.mark.parametrize(
    ("stem", "word"),
    [
        ("test_slots", "slots"),
        ("test_permit_semaphore_many", "permit_semaphore"),
        ("test_cluster_slots", ""),
        ("test_locks", ""),
    ],
)
def test_a_file_is_about_the_kind_that_its_name_begins_with(stem: str, word: str) -> None:
    assert kind_of_file(stem) == word


@pytest.mark.slow
def test_one_kind_is_chosen_by_rows_of_tables_and_by_files() -> None:
    of_locks, of_slots = "tests/contract/test_timeouts.py", "tests/contract/test_slots.py"
    chosen = collect("-q", "--kind", "fair_lock", of_locks, of_slots)
    assert "[fair_lock-" in chosen
    assert "[lock-" not in chosen
    assert of_slots not in chosen
    assert of_slots in collect("-q", "--kind", "slots", of_locks, of_slots)
