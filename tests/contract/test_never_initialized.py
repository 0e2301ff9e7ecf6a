"""A failed acquire of a semaphore without permits: the log says that none were set."""

from __future__ import annotations

from typing import Any

import pytest

NAME = "mySemaphore"

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"]),
]


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """About permits: an earlier test's thread that ends while it holds is logged late."""
    logged = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    return [each for each in logged if "permits" in each]


def test_a_time_out_without_permits_is_logged_once(
    alice: Any, client: Any, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    it = getattr(client, kind)(NAME)
    assert not alice.do(it.acquire, blocking=False)
    assert _warnings(caplog) == []
    for _ in range(2):
        assert not alice.do_briefly(it.acquire, timeout=0.02)
    (said,) = _warnings(caplog)
    assert NAME in said
    assert "or call try_set_permits()" in said


def test_a_time_out_beside_taken_permits_is_not_logged(
    alice: Any, client: Any, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    it = getattr(client, kind)(NAME)
    alice.do(it.try_set_permits, 1)
    assert alice.do_briefly(it.acquire, timeout=0.02)
    assert not alice.do_briefly(it.acquire, timeout=0.02)
    assert _warnings(caplog) == []
