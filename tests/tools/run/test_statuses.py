"""The statuses of ``holdfast run`` are the same in its help, on its page and in the code."""

from __future__ import annotations

import re

import pytest

from tools.lint.tree import ROOT

pytest.importorskip("click")

from holdfast_tools.cli._errors import Status
from holdfast_tools.cli._run import run
from holdfast_tools.run.job import BUSY, LOST
from holdfast_tools.run.running import NOT_EXECUTABLE, NOT_FOUND

#: Beside the command's own, and 128 plus a signal.
OWN = {Status.USAGE, Status.NO_SERVER, Status.INTERNAL, BUSY, LOST, NOT_EXECUTABLE, NOT_FOUND}
SIGNAL = 128


def of_the_page() -> set[int]:
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    _, _, section = page.partition("\n## Statuses\n")
    rows = re.findall(r"^\| (\d+)[^|]*\|", section.partition("\n## ")[0], re.MULTILINE)
    return {int(status) for status in rows}


def of_the_help() -> set[int]:
    paragraphs = re.split(r"\n\s*\n", run.help or "")
    [statuses] = [each for each in paragraphs if each.strip().startswith("The status is")]
    return {int(number) for number in re.findall(r"\b\d+\b", statuses)}


def test_the_page_has_the_statuses_of_the_code() -> None:
    assert of_the_page() == OWN | {SIGNAL}


def test_the_help_has_the_statuses_of_the_page() -> None:
    assert of_the_help() == of_the_page()
