"""What the environment says of a torture run; where it says nothing, the run is short."""

from __future__ import annotations

import os

import pytest

from tests.torture.torture import Size


def _told(word: str, default: float) -> float:
    return float(os.environ.get(f"HOLDFAST_TORTURE_{word}", default))


@pytest.fixture
def seed() -> int:
    """HOLDFAST_TORTURE_SEED: the faults, and what owners choose, follow from it."""
    return int(_told("SEED", 1))


@pytest.fixture
def size() -> Size:
    """HOLDFAST_TORTURE_SECONDS: how long things are broken; HOLDFAST_TORTURE_PROCESSES: at work."""
    return Size(seconds=_told("SECONDS", 4), processes=int(_told("PROCESSES", 4)))
