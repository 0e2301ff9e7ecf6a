"""The man page says what the commands say."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from holdfast_tools.cli import COMMANDS
from tools import man


def test_the_page_is_up_to_date() -> None:
    """If not: ``python -m tools.man``."""
    assert man.PAGE.read_text(encoding="utf-8") == man.page()


def test_every_command_is_in_it() -> None:
    page = man.page()
    assert [name for name in COMMANDS if f".SS holdfast {name}" not in page] == []


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_it_can_be_read() -> None:
    command = ["man", "--warnings", "-l", str(man.PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    assert "holdfast show" in done.stdout
