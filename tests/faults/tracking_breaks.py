"""Breaks of what a client makes of the messages about its holds."""

from __future__ import annotations

from tests.support.breaking import Break

_TESTS = "tests/faults/test_tracking.py::"

TRACKING_BREAKS = (
    Break(
        ("changed-key",),
        "a message that data were removed is ignored",
        "cpp/redis/client/tracking.cpp",
        (("if (!keys.is_array()) changes_.all = true;", ""),),
        f"{_TESTS}test_a_removed_hold_is_lost_at_once",
    ),
    Break(
        ("changed-key",),
        "a message is taken for the loss",
        "cpp/locks/lease/watchdog.cpp",
        (("look_again(*hold, now);\n      due(", 'book_->lose(*hold, "");\n      due('),),
        f"{_TESTS}test_other_changes_are_no_loss",
    ),
    Break(
        ("changed-key",),
        "a renewal does not read what it has written",
        "lua/_lock/lengthen.lua",
        (("    redis.call('pttl', key)\n  end", "  end"),),
        f"{_TESTS}test_a_renewed_hold_is_still_tracked",
    ),
    Break(
        ("changed-key",),
        "a lease that was cut is not renewed at once",
        "cpp/locks/lease/watchdog.cpp",
        (("now, hold.lease);\n  hold.next_renewal = now;", "now, hold.lease);"),),
        f"{_TESTS}test_a_shorter_expiry_is_renewed_at_once",
    ),
    Break(
        ("changed-key",),
        "each change causes a look",
        "cpp/locks/lease/watchdog.cpp",
        (("kItsLooks{Millis(250), 5}", "kItsLooks{Millis(0), 5}"),),
        f"{_TESTS}test_other_readers_are_no_loss",
    ),
    Break(
        ("changed-key",),
        "what a replica lacks is taken for lost",
        "lua/_lock/gone.lua",
        (("  redis.call('hdel', name, field)\n", ""),),
        f"{_TESTS}test_a_server_that_has_become_a_replica_has_lost_nothing",
    ),
    Break(
        ("missing-commands",),
        "a server without the messages is used where they are required",
        "cpp/redis/client/greeting.cpp",
        ((" && !tracking.required();", ";"),),
        f"{_TESTS}test_where_it_is_required_a_server_without_it_is_refused",
    ),
)
