"""Breaks of the batches in which holds are renewed.

`python -m tests.faults.renewal_breaks` makes those of the engine, which the tests of its keeper
find.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main_of_cpp

_STEPS = "tests/wire/lua/test_renewals.py::"
_LABELS = "tests/faults/test_labels.py::"

RENEWAL_BREAKS = (
    Break(
        ("no-new-connection",),
        "renewals wait for the connection for renewals",
        "cpp/locks/lease/watchdog.cpp",
        (("  if (!usual->down()) return usual;\n", "  return usual;\n"),),
        "tests/faults/test_renewal_connections.py"
        "::test_a_hold_is_renewed_by_the_connection_that_is_there",
    ),
    Break(
        ("no-new-connection",),
        "a silent connection for renewals is waited for as for calls",
        "cpp/redis/topology/server_links.cpp",
        (
            (
                "std::min(made.link.command_timeout, setup.renewal_timeout)",
                "made.link.command_timeout",
            ),
        ),
        "tests/faults/test_renewal_connections.py"
        "::test_a_hold_survives_the_silence_of_its_connection",
    ),
    Break(
        ("crossing-renewal",),
        "a renewal whose connection has failed cannot arrive any more",
        "cpp/locks/lease/watchdog.cpp",
        (
            (
                "  hold.extras().renewal_comes_until = after(book_->clock.now(), "
                "command_timeout_);\n",
                "",
            ),
        ),
        "tests/faults/test_late_renewals.py"
        "::test_a_renewal_whose_connection_failed_may_still_arrive",
    ),
    Break(
        ("crossing-renewal",),
        "a renewal that was not written holds up the owner's next fixed lease",
        "cpp/locks/lease/hold.h",
        ((" && (sending.written() || !sending.stopped());", ";"),),
        "tests/faults/test_late_renewals.py"
        "::test_a_renewal_that_waits_for_its_connection_holds_up_nothing",
    ),
    Break(
        ("changed-key",),
        "a batch has one owner for all its holds",
        "lua/lock/renew.lua",
        (("local owner = ARGV[i + 1]", "local owner = ARGV[2]"),),
        f"{_STEPS}test_all_locks_of_a_batch_are_renewed",
    ),
    Break(
        ("changed-key",),
        "a batch says of another hold that it is gone",
        "lua/lock/renew.lua",
        (("lost[#lost + 1] = i", "lost[#lost + 1] = 1"),),
        f"{_STEPS}test_the_numbers_of_locks_that_are_not_held_are_the_answer",
    ),
    Break(
        ("changed-key",),
        "a batch of readers renews the first one only",
        "lua/read_write_lock/read_renew.lua",
        (("renew(KEYS[3 * i - 2], KEYS[3 * i - 1],", "renew(KEYS[1], KEYS[2],"),),
        f"{_STEPS}test_each_reader_of_a_batch_learns_what_it_had_left",
    ),
    Break(
        ("changed-key",),
        "a batch of permits takes one that has expired for renewed",
        "lua/permit_semaphore/renew.lua",
        (("lost[#lost + 1] = i", "lost[#lost] = nil"),),
        f"{_STEPS}test_each_permit_of_a_batch_is_renewed_or_gone",
    ),
    Break(
        ("restart-without-data",),
        "a client's label is lost as a hold is",
        "cpp/locks/lease/watchdog.cpp",
        (("  if (hold.internal && now >= hold.trusted()) ", "  if (false) "),),
        f"{_LABELS}test_a_label_is_there_again_after_a_restart_of_the_server",
    ),
    Break(
        ("lasting-refusal",),
        "a label that the server refuses is logged again and again",
        "cpp/locks/lease/hold_events.cpp",
        (
            (
                "if (!std::exchange(unlabelled_, true)) {",
                "if (!std::exchange(unlabelled_, false)) {",
            ),
        ),
        f"{_LABELS}test_a_user_without_the_right_has_locks_and_one_warning",
    ),
    Break(
        ("forked-process",),
        "a child of fork() says nothing of itself",
        "cpp/locks/engine/client.cpp",
        (
            (
                "    if (options_.label) (void)mine",
                "    if (options_.label && fork_epoch() == 0) (void)mine",
            ),
        ),
        f"{_LABELS}test_a_child_of_fork_has_another_key",
    ),
    Break(
        ("restart-without-data",),
        "what is said of a hold stays after its loss",
        "cpp/locks/lease/hold_book.cpp",
        (("  end_note(hold);\n  hold.extras().reason", "  hold.extras().reason"),),
        f"{_LABELS}test_a_lost_hold_is_noted_no_more",
    ),
    Break(
        ("expired-wait",),
        "a time-out asks who holds the lock for as long as any command may take",
        "cpp/locks/sync/operation/command_operation.h",
        (
            (
                "std::min(after(now(), context().command_timeout), time_.latest())",
                "after(now(), context().command_timeout)",
            ),
        ),
        f"{_LABELS}test_a_time_out_does_not_wait_for_a_server_that_hangs",
    ),
)


def batched(what: str, file: str, old: str, new: str = "") -> Break:
    """A break of how the keeper makes batches, or reads their replies."""
    return Break((), what, f"cpp/locks/lease/{file}", ((old, new),), "*Renewal*:*TrackedBatch*")


BATCHES = (
    batched(
        "nothing is renewed in batches",
        "watchdog.cpp",
        "requests.push_back(std::move(batch));",
        "(void)batch;",
    ),
    batched(
        "a refused batch is not repeated alone",
        "watchdog.cpp",
        "hold.alone = refused || (",
        "hold.alone = (!refused || true) && (",
    ),
    batched(
        "what a batch does not find is lost at once",
        "watchdog.cpp",
        " || (found.size() > 1 && found[i] == 0);",
        ";",
    ),
    batched(
        "the answer to a batch is one to a hold that was released meanwhile",
        "watchdog.cpp",
        "    if (hold.serial == 0 || !hold.held()) continue;\n",
    ),
    batched(
        "a hold that was released stays in its batch",
        "renewal_batch.cpp",
        "if (holds_[i]->sending.write()) sent_",
        "(void)holds_[i]->sending.write();\n    sent_",
    ),
    batched(
        "the numbers of a reply are those of holds that were left out",
        "renewal_batch.cpp",
        "all[sent_[i]] = each[i];",
        "all[i] = each[i];",
    ),
    batched(
        "a batch has holds with several leases",
        "renewal_batch.cpp",
        "hold->renewal, hold->sent_lease, slot};",
        "hold->renewal, Millis(3000), slot};",
    ),
    batched(
        "a batch has keys of several slots",
        "renewal_batch.cpp",
        "hold->sent_lease, slot};",
        "hold->sent_lease, std::nullopt};\n  (void)slot;",
    ),
    batched(
        "a batch has no bound",
        "renewal_batch.cpp",
        "if (!batch || batch->full()) batch",
        "if (!batch) batch",
    ),
    batched(
        "a server that tracks declared keys gets large batches",
        "watchdog.cpp",
        "declared ? RenewalBatch::kMostDeclaredKeys : RenewalBatch::kMostKeys;",
        "RenewalBatch::kMostKeys;\n  (void)declared;",
    ),
    batched(
        "a proxy that refuses batches for their slots is tried each time",
        "watchdog.cpp",
        "kAloneFor{60'000}",
        "kAloneFor{0}",
    ),
    batched(
        "a closed connection ends the round of renewals",
        "watchdog.cpp",
        "if (!closed.ok()) request->complete(closed, {});",
        "if (!closed.ok()) break;",
    ),
    batched(
        "another step puts off the count of an overdue renewal",
        "watchdog.cpp",
        "  if (!submitted_.empty()) next.until = std::min(next.until, "
        "submitted_.begin()->first);\n",
    ),
    batched(
        "a renewal for a short lease is overdue as late as one for a long lease",
        "watchdog.cpp",
        "std::min(kOverdue, batch->lease() / 3);",
        "kOverdue;",
    ),
    batched(
        "a renewal whose connection has failed is answered",
        "watchdog.cpp",
        "const bool answered = reply.ok() && !sent.repeated;",
        "const bool answered = reply.ok() || sent.times > 0;",
    ),
    Break(
        (),
        "a closed client forgets its holds",
        "cpp/locks/lease/lease_keeper.cpp",
        (("    book_->arm(*hold, now);\n    held", "    hold->disarm();\n    held"),),
        "*WhatIsHeldWhenItIsClosed*",
    ),
    Break(
        (),
        "a batch of a script that the server has forgotten is not sent with its text",
        "cpp/redis/client/request_queue.cpp",
        (("encode(out, entry.what.by_text)", "encode(out, false)"),),
        "*AServerThatForgotTheScriptGetsItsText*",
    ),
)

if __name__ == "__main__":
    sys.exit(main_of_cpp({"test_lease": BATCHES}, __doc__))
