"""Fixture: hypothesis compares a model with what the server does.

def test_the_steps_do_what_the_model_says(server, compare):
compare(partial(LockAgainstModel, server), examples=150)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.matrix import is_full
from tests.support.servers import Server

Compare = Callable[..., None]


@pytest.fixture
def compare(request: pytest.FixtureRequest, server: Server) -> Compare:
    """Run a state machine of hypothesis: `compare(make, examples=…, steps=…)`.

    A quick run tries a quarter of the examples. On fakeredis, which takes five times as long, it
    tries a twentieth, and a full run a tenth.
    """
    whole = is_full(request.config)
    share = 1 if whole else 4
    if not server.real:
        share = 10 if whole else 20

    def compare(make: Callable[[], Any], *, examples: int, steps: int = 40) -> None:
        run_state_machine_as_test(
            make,  # type: ignore[arg-type]
            settings=settings(
                max_examples=max(examples // share, 5),
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=[*HealthCheck],
            ),
        )

    return compare
