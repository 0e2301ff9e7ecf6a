"""The breaks of docs/faults.md about deferred releases: a part of tests.faults.breaks."""

from __future__ import annotations

from tests.support.breaking import Break

FAULTS = "tests/faults/test_deferred_releases.py"
CONTRACT = "tests/contract/test_deferred_release.py"

DEFERRED_BREAKS = (
    Break(
        ("deferred-loss",),
        "a loss that a deferred release finds is not reported",
        "cpp/locks/lease/releases.cpp",
        (("  book_.events.post(*hold, Event::Kind::kLostAfterRelease);\n", ""),),
        f"{CONTRACT}::test_a_loss_that_is_learnt_later_leaves_the_next_hold_alone",
    ),
    Break(
        ("deferred-loss",),
        "a loss that is learnt later cancels its task",
        "python/holdfast/_locks/task_lock.py",
        ((" and not self.lost_late:", ":"),),
        f"{CONTRACT}::test_a_loss_that_is_learnt_later_cancels_no_task",
    ),
    Break(
        ("unanswered-release",),
        "a deferred release waits for its reply",
        "cpp/locks/sync/operation/hold_release.cpp",
        (
            (
                "  if (deferred && written && !finished()) defer();\n",
                "  if (deferred && written && !finished() && cancelled_) defer();\n",
            ),
        ),
        f"{FAULTS}::test_it_ends_although_no_reply_comes",
    ),
    Break(
        ("unanswered-release",),
        "the failure of a deferred release is not logged",
        "cpp/locks/sync/operation/hold_release.cpp",
        (
            (
                "    context().keeper->releases().report_trouble("
                "name(), owner_, plan_, why.message());\n",
                "",
            ),
        ),
        f"{FAULTS}::test_a_release_without_an_answer_is_logged_and_goes_on",
    ),
    Break(
        ("greedy-client",),
        "newcomers do not wait for the answer that is owed",
        "cpp/locks/wait/wait_registry.cpp",
        (("  ++releases_in_flight_[channel];\n", ""),),
        f"{FAULTS}::test_other_clients_have_their_turn",
    ),
    Break(
        ("deferred-at-close",),
        "a deferred release is done before its answer",
        "cpp/locks/lease/releases.cpp",
        (
            (
                "  open(entry, plan, start, surely_over(*hold, now));\n",
                "  open(entry, plan, start, surely_over(*hold, now));\n"
                "  if (start.caller == Caller::kMayLeave) (void)book_.holds.settle(entry);\n",
            ),
        ),
        f"{FAULTS}::test_close_and_exit_wait_for_what_is_owed",
    ),
    Break(
        ("unanswered-release",),
        "a deferred release that is to be sent again comes behind its owner's next attempt",
        "cpp/redis/client/direct_exchange.cpp",
        (("line.put_behind(unread_, std::move(", "line.put_behind(0, std::move("),),
        f"{FAULTS}::test_a_lost_reply_is_no_loss_and_frees_no_newer_hold",
    ),
)
