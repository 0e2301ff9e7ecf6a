"""The table of kinds is right about the tests that it names."""

from __future__ import annotations

import re
from pathlib import Path

from tests.contract.kinds import KINDS


def test_what_differs_is_the_name_of_a_test() -> None:
    sources = Path(__file__).parent.glob("test_*.py")
    tests = {
        name for path in sources for name in re.findall(r"(?m)^def (test_\w+)", path.read_text())
    }
    assert {name for kind in KINDS for name in kind.differs} - tests == set()
