"""Owners of many processes under faults: what was promised, over all kinds at once."""

from __future__ import annotations

import faulthandler
from pathlib import Path

import pytest

from tests.torture.subjects import subjects
from tests.torture.topologies import TOPOLOGIES
from tests.torture.torture import Size, Torture

pytestmark = [pytest.mark.slow, pytest.mark.servers("real")]


@pytest.mark.timeout(0)  # the run takes HOLDFAST_TORTURE_SECONDS; every step has a bound
@pytest.mark.parametrize("topology", sorted(TOPOLOGIES))
def test_faults_break_no_guarantee(
    topology: str, server_kind: str, seed: int, size: Size, tmp_path: Path
) -> None:
    faulthandler.cancel_dump_traceback_later()  # a long run is not stuck
    with TOPOLOGIES[topology](server_kind, seed) as servers:
        report = Torture(servers, tmp_path, seed, size).run()
        kinds = {subject.kind for subject in subjects(len(servers.urls(-1)), servers.replicas)}
    print(report)
    again = f"HOLDFAST_TORTURE_SEED={seed} HOLDFAST_TORTURE_SECONDS={size.seconds:g}"
    assert not report.violations, f"again by: {again} pytest -m slow {__file__}\n{report}"
    assert set(report.grants) == kinds, f"not everything was tried: {report}"
