"""Owners of many processes under faults: what was promised, over all kinds at once."""

from __future__ import annotations

import faulthandler
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.torture.subjects import subjects
from tests.torture.topologies import TOPOLOGIES
from tests.torture.torture import WAYS, Size, Torture

pytestmark = [pytest.mark.slow, pytest.mark.servers("real")]


def _param(topology: str) -> Any:
    """Valkey's wheel is built without TLS."""
    marks = [pytest.mark.servers("redis")] if topology == "tls" else []
    return pytest.param(topology, marks=marks, id=topology)


@pytest.mark.timeout(0)  # the run takes HOLDFAST_TORTURE_SECONDS; every step has a bound
@pytest.mark.parametrize("topology", [*map(_param, sorted(TOPOLOGIES))])
def test_faults_break_no_guarantee(
    topology: str, server_kind: str, seed: int, size: Size, tmp_path: Path
) -> None:
    faulthandler.cancel_dump_traceback_later()  # a long run is not stuck
    _torture(topology, server_kind, seed, size, tmp_path)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "program"])
def test_workers_of_other_programs_break_no_guarantee(
    way: str, server_kind: str, seed: int, size: Size, tmp_path: Path
) -> None:
    """By multiprocessing, with clients that a parent has used where it forks; greenlets."""
    faulthandler.cancel_dump_traceback_later()
    if way == "gevent":
        pytest.importorskip("gevent")
        size = replace(size, threads=size.threads + size.tasks, tasks=0)
    _torture("standalone", server_kind, seed, replace(size, way=way), tmp_path)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("topology", ["sentinel", "cluster"])
def test_guards_find_the_servers_of_killed_workers(
    topology: str, server_kind: str, seed: int, size: Size, tmp_path: Path
) -> None:
    faulthandler.cancel_dump_traceback_later()
    _torture(topology, server_kind, seed, replace(size, way="guarded"), tmp_path)


def _torture(topology: str, kind: str, seed: int, size: Size, folder: Path) -> None:
    with TOPOLOGIES[topology](kind, seed) as servers:
        report = Torture(servers, folder, seed, size).run()
        kinds = {subject.kind for subject in subjects(len(servers.urls(-1)), servers.replicas)}
    print(report)
    again = f"HOLDFAST_TORTURE_SEED={seed} HOLDFAST_TORTURE_SECONDS={size.seconds:g}"
    assert not report.violations, f"again by: {again} pytest -m slow {__file__}\n{report}"
    assert set(report.grants) == kinds, f"not everything was tried: {report}"
