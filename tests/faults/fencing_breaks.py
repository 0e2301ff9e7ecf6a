"""Breaks of a resource that refuses late owners."""

from __future__ import annotations

from tests.support.breaking import Break

_FENCING = "python/holdfast/contrib/fencing.py"
_TESTS = "tests/frameworks/contrib/test_fencing.py::"

FENCING_BREAKS = (
    Break(
        ("stopped-process",),
        "a fence refuses the newest token",
        _FENCING,
        (("if seen > token:", "if seen >= token:"),),
        f"{_TESTS}test_a_token_passes_again_until_a_greater_one_was_seen",
    ),
    Break(
        ("stopped-process",),
        "a fence refuses no token",
        _FENCING,
        (("if seen > token:", "if seen < 0:"),),
        f"{_TESTS}test_no_late_write_passes_the_fence_when_threads_are_paused_at_random_points",
    ),
    Break(
        ("stopped-process",),
        "a check is committed alone, and locks nothing afterwards",
        "python/holdfast/contrib/_sql.py",
        (
            (
                "            self.refuse_autocommit(\n                self.connection",
                "            (\n                self.connection",
            ),
            ('            self.run("BEGIN IMMEDIATE")  # a deferred', "            # a deferred"),
        ),
        f"{_TESTS}test_a_check_without_a_transaction_is_refused",
    ),
)
