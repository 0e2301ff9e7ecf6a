"""The options of the torture run; without them it is short and always the same."""

from __future__ import annotations

import os

import pytest

from tests.torture.torture import Size


def _number(request: pytest.FixtureRequest, word: str, default: float) -> float:
    return float(os.environ.get(f"HOLDFAST_TORTURE_{word}", default))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """HOLDFAST_TORTURE_SEED: the faults, and what the owners choose, follow from it."""
    return int(_number(request, "SEED", 1))


@pytest.fixture
def size(request: pytest.FixtureRequest) -> Size:
    """HOLDFAST_TORTURE_SECONDS: how long things are broken; HOLDFAST_TORTURE_PROCESSES."""
    return Size(
        seconds=_number(request, "SECONDS", 8),
        processes=int(_number(request, "PROCESSES", 4)),
    )
