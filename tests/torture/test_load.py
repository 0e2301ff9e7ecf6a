"""Many owners on a busy machine, and what their run would say of each fault."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import Server
from tests.torture.load import Facts, Load, Size, judge
from tests.torture.load_owners import CONTENDED, NAMES, PERMITS, SHARED, Numbers, TwoOwnersError

RIGHT = Facts(
    errors=[],
    held={CONTENDED: 3},
    counted=dict.fromkeys(NAMES, 0) | {CONTENDED: 3},
    sent=7,
    received=7,
    keys=[],
    lasting=0,
    permits=PERMITS,
)


@pytest.mark.slow
@pytest.mark.servers("real")
def test_a_load_on_a_busy_machine_breaks_no_promise(private_server: Server, tmp_path: Path) -> None:
    report = Load(private_server, tmp_path, Size(seconds=600, acquisitions=100)).run()
    assert not report.faults, report


def test_a_run_without_a_fault_is_right() -> None:
    assert judge(RIGHT) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"errors": ["waiter 1: ConnectionError"]}, "waiter 1: ConnectionError"),
        ({"held": {CONTENDED: 4}}, "lost updates: 'contended' was held 4 times, counted 3"),
        ({"sent": 8}, "the clients sent 8 commands, the server counts 7"),
        ({"received": 8}, "the clients sent 7 commands, the server counts 8"),
        ({"keys": ["shared-1"]}, "keys are left: shared-1"),
        ({"lasting": 1}, "the server has 1 keys after"),
        ({"permits": 2}, "2 of 3 permits are free"),
    ],
    ids=["error", "lost update", "not sent", "sent twice", "key", "lasting key", "permit"],
)
def test_each_fault_is_named(wrong: dict[str, Any], said: str) -> None:
    [fault] = judge(replace(RIGHT, **wrong))
    assert fault.startswith(said)


def test_two_owners_of_a_name_meet(tmp_path: Path) -> None:
    Numbers.create(tmp_path / "numbers")
    first, second = (Numbers(tmp_path / "numbers") for _ in range(2))
    with pytest.raises(TwoOwnersError, match=CONTENDED):
        first.count([CONTENDED], 1, lambda: second.count([CONTENDED], 2, _nothing))


def test_owners_of_different_names_count(tmp_path: Path) -> None:
    Numbers.create(tmp_path / "numbers")
    first, second = (Numbers(tmp_path / "numbers") for _ in range(2))
    first.count([CONTENDED], 1, lambda: second.count(SHARED, 2, _nothing))
    assert Counter(first.totals()) == Counter([CONTENDED, *SHARED])


def _nothing() -> None:
    """Work that lasts no time."""
