"""The test that leaves a lock held fails, although this is known only after it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol  # noqa: PLC2701 - pytest offers it nowhere else

if TYPE_CHECKING:
    from _pytest.reports import TestReport

__all__ = ["is_ours_to_run", "leave", "run"]

#: Plugins that run a test several times, which only one plugin of a run can do.
REPEATING = ("rerunfailures", "flaky")

#: What the test has left behind, a text for each client; set while ``run`` runs the test.
_left = pytest.StashKey[list[str]]()


def is_ours_to_run(item: pytest.Item) -> bool:
    """Whether ``run`` may run this test."""
    manager = item.config.pluginmanager
    return not any(map(manager.has_plugin, REPEATING))


def leave(node: pytest.Item, text: str) -> None:
    """Say what a test has left behind, at the end of a fixture of it: the test fails.

    Where another plugin runs the test, it is an error of the fixture's teardown.
    """
    left = node.stash.get(_left, None)
    if left is None:
        pytest.fail(text, pytrace=False)
    left.append(text)


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test as pytest does, but report the test after the teardown of its fixtures.

    A fixture may release what the test has acquired, so the test is judged after that.
    """
    hook = item.ihook
    item.stash[_left] = []
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    _judge(reports, item.stash[_left])
    del item.stash[_left]
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _judge(reports: list[TestReport], left: list[str]) -> None:
    """A test that has passed fails; one that has failed says what it left, too."""
    if not left:
        return
    text = "\n".join(left)
    *_, report = (report for report in reports if report.when != "teardown")
    if report.when == "call" and report.passed:
        report.outcome = "failed"
        report.longrepr = text
    else:
        report.sections.append(("holdfast", text))
