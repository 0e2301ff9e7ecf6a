"""The rules of the checkout are a step of the lint, `project`, and no part of a plain `pytest`."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves this folder out of a run that does not name it, or what lies in it."""
    named = (Path(argument.partition("::")[0]).parts for argument in config.args)
    return None if any("project" in parts for parts in named) else True
