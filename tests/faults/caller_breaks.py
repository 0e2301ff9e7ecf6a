"""The breaks of docs/faults.md about callers that leave or have little time.

A part of tests.faults.breaks.
"""

from __future__ import annotations

from tests.support.breaking import Break

PENDING = "tests/faults/test_pending_releases.py"
REFUSED = "tests/faults/test_refused_connections.py"
HIDDEN = "tests/contract/test_hidden_loss.py"
NESTED = "tests/faults/test_nested_calls.py"

CALLER_BREAKS = (
    Break(
        ("interrupted-acquire", "process-limits"),
        "an interrupted start of a thread is taken for a refused one",
        "python/holdfast/_engine/workers.py",
        (
            (
                "if first is error and type(error) is RuntimeError and _raised_in(error) is code:",
                "if isinstance(error, RuntimeError):",
            ),
        ),
        "tests/faults/test_interrupted_starts.py"
        "::test_an_interrupted_start_of_a_thread_is_no_refused_one",
    ),
    Break(
        ("acquire-after-loss",),
        "an attempt does not look for a loss",
        "cpp/locks/lease/attempts.cpp",
        (("  return hidden_loss(name, owner).has_value();\n", "  return false;\n"),),
        f"{HIDDEN}::test_a_block_that_lost_its_grant_refuses_and_raises_at_its_end",
    ),
    Break(
        ("acquire-after-loss",),
        "the end of a lost block gives back what its owner has again",
        "cpp/locks/sync/operation/hold_release.cpp",
        (("      if (!plan_.held_again) {\n", "      {\n"),),
        f"{HIDDEN}::test_the_owners_own_force_release_refuses_nothing",
    ),
    Break(
        ("interrupted-release",),
        "a release at rest is forgotten with its caller",
        "cpp/locks/sync/operation/release.cpp",
        (
            (
                "  if (!backing_off_) return;  //",
                "  if (backing_off_ || finished() || !backing_off_) return;  //",
            ),
        ),
        f"{PENDING}::test_ctrl_c_during_the_back_off_of_a_release_loses_nothing",
    ),
    Break(
        ("pending-release",),
        "an old release may go behind a new attempt",
        "cpp/locks/lease/holds.cpp",
        (
            ("  entry.command->revoke();\n", ""),
            ("  if (entry.command->persistent) entry.command->abandon();\n", ""),
        ),
        f"{PENDING}::test_a_release_that_was_left_never_frees_the_next_hold",
    ),
    Break(
        ("pending-release",),
        "an attempt forgets the release that it takes over",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (("in_doubt_ || leaves_place || takes_over_;", "in_doubt_ || leaves_place;"),),
        f"{PENDING}::test_a_release_goes_on_when_the_attempt_that_took_it_over_is_refused",
    ),
    Break(
        ("pending-at-close",),
        "close waits for nothing",
        "cpp/locks/engine/closing.cpp",
        (("  if (context().keeper->idle()) return end();\n", "  end();\n"),),
        f"{PENDING}::test_close_finishes_what_cancelled_tasks_have_left",
    ),
    Break(
        ("grant-at-close",),
        "what is granted while the client is closed is taken",
        "cpp/locks/lease/attempts.cpp",
        (("  if (book_.closing) return false;", "  if (book_.closed) return false;"),),
        f"{PENDING}::test_a_grant_that_arrives_during_close_is_given_back",
    ),
    Break(
        ("nothing-listens",),
        "a refused connection is tried again for all callers alike",
        "cpp/locks/sync/operation/callers_time.h",
        ((": after(begun, kRestartBriefly);", ": kNever;"),),
        f"{REFUSED}::test_a_refused_connection_comes_out_by_the_deadline",
    ),
    Break(
        ("expired-wait",),
        "a command has its time-out, whatever time its caller has",
        "cpp/locks/sync/operation/callers_time.h",
        (("      latest_ = after(deadline_, kLateAnswer);\n", ""),),
        "tests/faults/test_callers_time.py::test_a_server_that_stopped_before_the_wait",
    ),
    Break(
        ("tls-mismatch",),
        "silence in a handshake is waited out",
        "cpp/redis/client/reconnecting_stream.cpp",
        (("constexpr Millis kSilence{400};", "constexpr Millis kSilence{400000};"),),
        f"{REFUSED}::test_tls_to_a_port_of_plain_text",
    ),
    Break(
        ("handler-during-acquire",),
        "an owner may acquire a lock that it is acquiring",
        "cpp/locks/lease/attempts.cpp",
        (("exclusive() && entry->attempts > 0;", "exclusive() && entry->attempts < 0;"),),
        f"{NESTED}::test_an_acquire_inside_an_acquire_is_refused",
    ),
    Break(
        ("shortened-lease",),
        "what a renewal finds is not looked at",
        "cpp/locks/sync/recipes/locks.cpp",
        (
            (
                "override { return Millis(reply); }",
                "override { return Millis(reply + 10'000'000); }",
            ),
        ),
        "tests/faults/test_shortened_leases.py"
        "::test_a_renewed_reader_outlives_one_of_a_shorter_lease",
    ),
    Break(
        ("handler-during-release",),
        "a release that comes back goes behind a newer hold",
        "cpp/locks/lease/holds.cpp",
        (("  entry.command->revoke();\n", ""),),
        f"{NESTED}::test_a_refused_release_does_not_free_what_its_handler_has_acquired",
    ),
    Break(
        ("process-limits", "blocked-handler"),
        "the thread of a client's handlers starts with the first loss",
        "python/holdfast/_engine/events.py",
        (("        handlers_of(client).keep()\n", "        handlers_of(client)\n"),),
        "tests/faults/test_limits.py"
        "::test_a_handler_that_blocks_at_the_limit_of_threads_delays_no_other_report",
    ),
    Break(
        ("process-limits",),
        "logging is imported with the first record",
        "python/holdfast/_clients/base.py",
        (("        _log.logger()  # imports what the first record needs\n", ""),),
        "tests/faults/test_limits.py::test_a_record_and_the_error_of_a_loss_need_no_descriptor",
    ),
)
